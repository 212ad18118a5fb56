"""A run prints a progress bar of megabytes, then a traceback: the card shows its last lines."""

from datetime import datetime, timedelta

from playground.cluster.control.training import Line, Training
from playground.cluster.objects.kinds import POD, Kind, Object
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

_SECONDS, _DRAWN = 120, 600
_BAR = "{done:>3}%|{bar:<50}| {done}/100 [01:40<00:00, 1.02it/s, loss={loss:.3f}]\r"
_TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 88, in <module>',
    "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/checkpoints/last.pt'",
)


async def play(story: Story) -> None:
    """The newest state of the bar while it is drawn, and the end of the log, beside a sidecar."""
    alice = story.person("Alice")
    story.world.cluster.inside.operations.admissions.append(_add_sidecar)
    story.trains("istio/proxyv2", epochs=1, seconds_per_epoch=0)
    story.trains("ghcr.io/acme/bar", fails_after=_SECONDS, log=_log)
    command = "--image ghcr.io/acme/bar:2 --gpus 1 -- python train.py"
    card = await submits(story, alice, "#team-a", "bar", command)
    await is_admitted(story, card)
    await card.shows("Running for")
    await story.pass_time(timedelta(seconds=100))
    await card.shows("Running for", "of 100 %", "loss 1.", "%|██████")
    for attempt in (1, 2):
        words = f"Attempt {attempt} of 3 failed. Its program ended with exit code 1."
        await story.reply(card, words, *_TRACEBACK)
    await card.shows("Failed after", "loss 1.000", _TRACEBACK[-1])
    await alice.is_mentioned("#team-a", "bar failed", *_TRACEBACK, thread=card, broadcast=True)
    await alice.types("#team-a", "/train logs bar")
    await alice.is_told(*_TRACEBACK)


def _log(training: Training, started: datetime, until: datetime) -> list[Line]:
    """Six megabytes without an end of line, and then why it ended."""
    passed = (until - started) / timedelta(seconds=training.fails_after or _SECONDS)
    said = [
        (started + timedelta(seconds=done * _SECONDS / 100), _state(done) * _DRAWN)
        for done in range(min(100, int(100 * passed)) + 1)
    ]
    lines = ("", *_TRACEBACK) if passed >= 1 else ()
    return [*said, *((until, line) for line in lines)]


def _state(done: int) -> str:
    return _BAR.format(done=done, bar="█" * (done // 2), loss=2 - done / 100)


def _add_sidecar(kind: Kind, obj: Object, old: Object | None) -> None:
    """What Istio's webhook does to the pods of a namespace that has it."""
    if kind.qualified == POD.qualified and old is None:
        first = obj["spec"]["containers"][0]
        proxy = {"name": "istio-proxy", "image": "istio/proxyv2:1.27", "resources": {}}
        obj["spec"]["containers"].insert(0, {**first, **proxy})
