"""Training that pretends: how long it runs, how it ends, and what it would have said by now."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from playground.cluster.control.expansion import words_of
from playground.cluster.control.nccl import Test, pairs, table
from playground.cluster.control.speech import JUPYTER, MPI, NCCL, Saying, opening, saying_of
from playground.cluster.objects.indexes import INDEX
from playground.cluster.objects.kinds import Object

Line = tuple[datetime, str]
STEPS = 400
STEPS_A_LINE = 40
LOADING_SECONDS = 4.0
KEPT_EPOCHS = 200
OUT_OF_MEMORY = 137
_EPOCHS = re.compile(r"--epochs[= ](\d+)")
_SSHD = re.compile(r"""\bsshd"? -D""")
_RAY_NODE = re.compile(r"\bray start\b")
_SLEEP = re.compile(r"\bsleep (\d+|infinity)\b")


@dataclass(frozen=True)
class Training:
    """How containers of one image (or command) behave; times are virtual seconds.

    `epochs` None means what `--epochs` in the arguments says. `stop_seconds` is how long the
    program takes to end when told to, `last_words` what it leaves in its termination log.
    `provider`, `layout` and `bandwidth` (GB/s) are for tests of the network (see nccl), and
    `slow_pairs` names pairs of its nodes, such as 0-2, with their bandwidth. What it
    says follows from its command (`saying`); a `log` of one's own gets the training, when it
    started and until when to tell, and gives the lines with their times.
    """

    epochs: int | None = None
    seconds_per_epoch: float = 60.0
    exit_code: int = 0
    last_words: str = ""
    fails_after: float | None = None
    never_ends: bool = False
    out_of_memory: bool = False
    stop_seconds: float = 2.0
    images_per_second: float = 812.4
    silent: bool = False
    batch_size: int = 32
    provider: str = "efa"
    layout: str = "2.13"
    bandwidth: float | None = None
    slow_pairs: Mapping[str, float] = field(default_factory=dict)
    saying: Saying = field(default_factory=Saying)
    log: "Callable[[Training, datetime, datetime], list[Line]] | None" = None

    @property
    def seconds(self) -> float | None:
        """How long it runs, or None if it never ends by itself."""
        if self.fails_after is not None:
            return self.fails_after
        if self.never_ends:
            return None
        return LOADING_SECONDS + (self.epochs or 1) * self.seconds_per_epoch

    @property
    def ending(self) -> tuple[int, str]:
        """Exit code and reason of an end that nobody asked for."""
        if self.out_of_memory:
            return OUT_OF_MEMORY, "OOMKilled"
        code = self.exit_code or (1 if self.fails_after is not None else 0)
        return code, "Error" if code else "Completed"


def behaviour_of(pod: Object, container: Any, behaviours: dict[str, Training]) -> Training:
    """How a container behaves: as its host is said to, its image, its command, else by its words.

    Hosts are named as in a pod's name or host name (lane-0), images with or without tag and
    registry, commands by words with a blank among them.
    """
    image = container.get("image", "")
    untagged = image.partition("@")[0]
    if ":" in untagged.rpartition("/")[2]:
        untagged = untagged.rpartition(":")[0]
    words = " ".join(words_of(container))
    host, name = pod["spec"].get("hostname", ""), pod["metadata"]["name"]
    names = (name, host, image, untagged, untagged.rpartition("/")[2])
    chosen = next((behaviours[name] for name in names if name in behaviours), None)
    if name not in behaviours and host not in behaviours and _serves(pod, words):
        return Training(never_ends=True, silent=True)
    if chosen is None:
        chosen = next((b for key, b in behaviours.items() if " " in key and key in words), None)
    saying = saying_of(words, host or name, _rank(pod))
    training = _usual(saying, _program(words_of(container))) if chosen is None else chosen
    training = replace(training, saying=saying)
    return _from_words(training, words, container.get("env", ()))


def _usual(saying: Saying, words: str) -> Training:
    """How a program behaves that nobody has said anything about."""
    sleep = _SLEEP.search(words)
    if sleep and not saying.style:
        never = sleep.group(1) == "infinity"
        lasts = 0 if never else int(sleep.group(1)) - LOADING_SECONDS
        return Training(epochs=1, seconds_per_epoch=lasts, never_ends=never, silent=True)
    if saying.style == JUPYTER:
        return Training(never_ends=True)
    return Training()


def _program(words: list[str]) -> str:
    """What runs in the end: the words that a shell is given beside its text, where there are."""
    given = words[4:] if words[1:2] == ["-c"] else []
    return " ".join(given or words)


def _rank(pod: Object) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "0")
    return int(text) if text.isdigit() else 0


def _serves(pod: Object, words: str) -> bool:
    """Whether a container only waits for a launcher: by an SSH server, or as a node of Ray."""
    if _RAY_NODE.search(words):
        return True
    index = (pod["metadata"].get("annotations") or {}).get(INDEX)
    return bool(_SSHD.search(words)) and index != "0"


def _from_words(training: Training, words: str, env: Any) -> Training:
    batch = next((e["value"] for e in env if e["name"] == "BATCH_SIZE" and "value" in e), "")
    if batch.isdigit():
        training = replace(training, batch_size=int(batch))
    if training.epochs is not None:
        return training
    found = _EPOCHS.search(words)
    return replace(training, epochs=int(found.group(1)) if found else 1)


def lines(training: Training, started: datetime, until: datetime, *, ended: bool) -> list[Line]:
    """What the training has said from its start until a moment."""
    if training.log is not None:
        return training.log(training, started, until)
    if training.silent:
        return []
    before = [line for line in opening(training.saying, started) if line[0] <= until]
    if training.saying.style == JUPYTER:
        return before
    if training.saying.style == NCCL:
        return _tested(training, started, until)
    said = [line for line in _running(training, started, until) if line[0] <= until]
    if ended:
        said.extend(_last_words(training, until))
    stamped = [(at, f"{at:%Y-%m-%d %H:%M:%S} {text}") for at, text in said]
    return sorted([*before, *stamped], key=lambda line: line[0])


def _tested(training: Training, started: datetime, until: datetime) -> list[Line]:
    saying = training.saying
    stem = saying.host.removesuffix("-launcher")
    hosts = tuple(f"{stem}-worker-{number}" for number in range(max(1, saying.ranks // 8)))
    test = Test(
        ranks=max(2, saying.ranks),
        hosts=hosts,
        provider=training.provider,
        layout=training.layout,
        tagged=training.layout == "2.0",
        peak=training.bandwidth,
    )
    lasts = training.seconds or LOADING_SECONDS
    if not saying.rounds:
        return table(test, started, until, lasts)
    half = timedelta(seconds=lasts / 2)
    measured = pairs(test, saying.rounds, training.slow_pairs, started + half, half)
    return [
        *table(test, started, until, lasts / 2),
        *(each for each in measured if each[0] <= until),
    ]


def _running(training: Training, started: datetime, until: datetime) -> Iterator[Line]:
    yield started, "Loading dataset from /data"
    yield (
        started + timedelta(seconds=2),
        (f"Found 1281167 training images, batch size {training.batch_size}"),
    )
    begun = started + timedelta(seconds=LOADING_SECONDS)
    passed = max(0.0, (until - begun).total_seconds())
    now_in = int(passed // training.seconds_per_epoch) if training.seconds_per_epoch else 0
    last = now_in if training.never_ends else min(now_in, (training.epochs or 1) - 1)
    for epoch in range(max(0, last - KEPT_EPOCHS), last + 1):
        yield from _epoch(training, begun, epoch)


def _epoch(training: Training, begun: datetime, epoch: int) -> Iterator[Line]:
    total = training.epochs or 1
    shown = f"{epoch + 1}/{total}" if not training.never_ends else str(epoch + 1)
    for step in range(STEPS_A_LINE, STEPS + 1, STEPS_A_LINE):
        done = epoch + step / STEPS
        at = begun + timedelta(seconds=done * training.seconds_per_epoch)
        yield (
            at,
            (
                f"epoch {shown} step {step}/{STEPS} loss {loss_at(done):.3f} "
                f"images/sec: {speed_at(training, done):.1f}"
            ),
        )
    accuracy = 1 - loss_at(epoch + 1) / 3
    at = begun + timedelta(seconds=(epoch + 1) * training.seconds_per_epoch)
    yield at, f"epoch {shown} finished, accuracy {accuracy:.3f}, checkpoint saved"


def _last_words(training: Training, ended: datetime) -> list[Line]:
    code, _ = training.ending
    if training.out_of_memory:
        return []
    if code:
        return [
            (ended, "Traceback (most recent call last):"),
            (ended, '  File "train.py", line 214, in <module>'),
            (ended, f"RuntimeError: training stopped with exit code {code}"),
        ]
    if training.saying.style == MPI:
        total = training.images_per_second * training.saying.ranks
        return [(ended, "-" * 64), (ended, f"Total images/sec = {total:.5f}")]
    return [(ended, f"Total images/sec: {training.images_per_second:.1f}")]


def loss_at(epochs_done: float) -> float:
    """The loss after so many epochs: falling, with a little noise that is always the same."""
    return 2.3 * math.exp(-0.55 * epochs_done) + 0.08 + 0.02 * math.sin(epochs_done * 37)


def speed_at(training: Training, epochs_done: float) -> float:
    """Images a second at that point, near the average."""
    return training.images_per_second * (1 + 0.01 * math.sin(epochs_done * 11))
