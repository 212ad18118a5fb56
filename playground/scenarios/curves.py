"""Alice looks at the learning curves of two runs: of one that trains, then of both side by side."""

from datetime import datetime, timedelta

from playground.cluster.control.training import Line, Training
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

_WIDE = "--image ghcr.io/acme/wide:1 --gpus 1 -- python train.py --lr 0.1"
_OWN = "--image ghcr.io/acme/own:1 --gpus 1 -- python train.py --lr 0.01"


def _reports(_training: Training, started: datetime, until: datetime) -> list[Line]:
    """What a program of one's own reports: a loss that halves, and half a line at the end."""
    lines = [
        (started + timedelta(seconds=10 * step),
         f'[rank0]: quartermaster: {{"step": {step}, "loss": {2.0 ** -step}}}')
        for step in range(12)
    ]  # fmt: skip
    lines.append((started + timedelta(seconds=119), 'quartermaster: {"step": 12, "lo'))
    return [line for line in lines if line[0] <= until]


async def play(story: Story) -> None:
    """Curves of a live run, of one that reports, both in one picture, and what is refused."""
    alice, bob = story.person("Alice"), story.person("Bob")
    story.trains("ghcr.io/acme/wide", epochs=6, seconds_per_epoch=60)
    story.trains("ghcr.io/acme/own", epochs=2, seconds_per_epoch=60, log=_reports)
    await alice.types("#team-a", "/train show wide --over epoch")
    await alice.is_told("--over is about curves.", "Add --curves, for example")
    wide = await submits(story, alice, "#team-a", "wide", _WIDE)
    await is_admitted(story, wide)
    await wide.shows("Running for")
    own = await submits(story, alice, "#team-a", "own", _OWN)
    await is_admitted(story, own)
    await ends_well(alice, "#team-a", own, "own")
    await alice.types("#team-a", "/train show own --curves")
    await alice.is_told("loss of own", "loss", "12")
    await alice.types("#team-a", "/train show own --curves lss")
    await alice.is_told("own has no metric lss.", "It has: loss.")
    await ends_well(alice, "#team-a", wide, "wide")
    await alice.types("#team-a", "/train compare wide own --curves loss --over step")
    await alice.is_told("loss of wide has no steps.", "--over time works in any case.")
    await alice.types("#team-a", "/train compare wide own --curves loss --over time")
    await alice.is_told(
        "loss of wide and own", "0.182", "0.0004883 at step 11", "lr: 0.1 in wide, 0.01 in own"
    )
    await alice.types("#team-a", "/train compare wide own --curves loss --over time --file")
    await alice.is_told("I send you the picture wide-own.png", "in a direct message.")
    await alice.is_written_to("loss of wide and own")
    await bob.types("#team-b", "/train show own --curves --team team-a")
    await bob.is_told("You are not a member of team-a")
