"""A sweep stops its worst cell early, by the median rule, and shows the curves of all cells."""

from datetime import datetime, timedelta

from playground.cluster.control.training import Line, Training
from playground.story.story import Story

_ASKED = (
    "/train submit rates --image ghcr.io/acme/lane:3.1 --gpus 1 --sweep lr=1,2,3,9 --stop-early"
    " --warm-up 10"
)
_BEST, _COMMAND = "--metric loss --best min", "-- python train.py --lr {lr}"


def _reports(level: float, _training: Training, started: datetime, until: datetime) -> list[Line]:
    """A loss that halves over twenty steps, all of which the program reports at once."""
    at = started + timedelta(seconds=3)
    lines = [
        f'quartermaster: {{"step": {step}, "loss": {level * (1 - step / 40)}}}'
        for step in range(1, 21)
    ]
    return [(at, line) for line in lines] if at <= until else []


async def play(story: Story) -> None:
    """The worst of four cells would never end; the others succeed."""
    alice = story.person("Alice")
    for rate in (1, 2, 3):
        story.trains(
            f"--lr {rate}", epochs=1, seconds_per_epoch=180,
            log=lambda *given: _reports(1.0, *given),
        )  # fmt: skip
    story.trains("--lr 9", never_ends=True, log=lambda *given: _reports(8.0, *given))
    await alice.types("#team-a", f"{_ASKED} {_COMMAND}")
    await alice.is_told("--stop-early needs --metric and --best", "--metric loss --best min")
    await alice.types("#team-a", f"{_ASKED} {_BEST} {_COMMAND}")
    await alice.is_told("Submitted sweep rates for team-a.", "4 cells of 1 GPU each")
    card = await story.card("#team-a", "Sweep rates")
    await card.shows(
        "Ended", "4 cells: 3 succeeded, 1 stopped early.",
        "median rule, from step or epoch 10 on, compared with at least 3 other cells",
        "rates-4 | 9 | Stopped early at step 20: 4, median 0.7375",
    )  # fmt: skip
    await alice.is_mentioned("#team-a", "Sweep rates has ended.", "stopped early", thread=card)
    await alice.types("#team-a", "/train show rates --curves")
    await alice.is_told("loss of sweep rates", "rates-4", "8 at step")
    await alice.types("#team-a", "/train show rates-4")
    await alice.is_told(
        "Stopped early by the median rule of sweep rates: its best loss up to step 20 was 4, the"
        " median of 3 other cells 0.7375."
    )
