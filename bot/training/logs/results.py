"""Reads results and progress from the log of a program."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bot.config import ResultPattern
from bot.slack.card import Progress
from bot.training.logs.bandwidth import figures, read_bandwidth

LONGEST_VALUE = 40
_NUMBER = (
    r"([-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|nan|inf)(?![\w.]*\w)%?)"
)
# As `loss=.3`, `loss: 0.3`, and in dicts `'loss': 0.3` and `'loss': '0.3'`.
_SAYS = r"[\"']?\s{0,3}[=:]?\s{0,3}[\"']?"
_CHECKED = r"(?:val(?:id(?:ation)?)?|test)[ _/-]"


def _usual(name: str, words: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(rf"{words}{_SAYS}{_NUMBER}", re.IGNORECASE)


USUAL = (
    _usual("total images/sec", r"\btotal images/sec"),
    _usual("images/sec", r"(?<!total )\bimages/sec"),
    _usual("samples/sec", r"\b(?:train_)?samples(?:/s(?:ec)?|_per_second)"),
    _usual("loss", r"(?<![\w/-])(?:total[ _])?loss"),
    _usual("train loss", r"\btrain(?:ing)?[ _/-]loss"),
    _usual("val loss", rf"\b{_CHECKED}loss"),
    _usual("eval loss", r"\beval(?:uation)?[ _/-]loss"),
    _usual("logloss", r"(?:\bvalid\w{0,9}'s |\b(?:eval|val\w{0,9}|test)-)(?:\w{1,9}_)?logloss"),
    _usual("accuracy", r"(?<![\w/-])acc(?:uracy)?"),
    _usual("val accuracy", rf"\b{_CHECKED}acc(?:uracy)?"),
    _usual("eval accuracy", r"\beval(?:uation)?[ _/-]acc(?:uracy)?"),
)
# What stands in any line that the patterns of this page find something in, in small letters.
HINTS = ("loss", "acc", "samples", "images", "epoch", "step", "iter", "batch", "%", "/")
_OF = r"(?:\s{0,9}[=:#]?\s{0,3}\[?\s{0,3})([0-9]{1,12})\s{0,3}(?:/|of)\s{0,9}([0-9]{1,12})"
_COUNTED = (
    ("epochs", re.compile(rf"\bepochs?{_OF}", re.IGNORECASE)),
    # Ultralytics has no word for it: 2/3, the memory, the losses.
    ("epochs", re.compile(r"^\s*([0-9]{1,6})/([0-9]{1,6})\s+[0-9.]{1,8}G\b")),
    ("steps", re.compile(rf"\b(?:global_)?(?:steps?|iter(?:ation)?s?){_OF}", re.IGNORECASE)),
    ("batches", re.compile(rf"\bbatch(?:es)?{_OF}", re.IGNORECASE)),
)
# A percentage alone may be an accuracy; these say what they mean.
_PERCENT = re.compile(
    r"(?:^\s*|\bprogress\W{0,3}|(?=[0-9.]{1,6}% (?:done|complete)))"
    r"([0-9]{1,3})(?:\.[0-9]+)?%(?!\|)",
    re.IGNORECASE,
)
# A bar of tqdm, or of Keras: 45%|####      | 9/20, and  9/20 ━━━━.
_BAR = re.compile(
    r"^(?P<of>[^|%]{0,120}?)\s*(?:[0-9]{1,3}%\|[^|]*\|\s*(?P<n>[0-9]{1,12})/(?P<all>[0-9]{1,12})"
    r"|(?<!\S)(?P<m>[0-9]{1,12})/(?P<each>[0-9]{1,12}) [━\[-])"
)
_OF_THE_RUN = re.compile(r"train|step|iter|progress|total|overall", re.IGNORECASE)
# Lightning says `Epoch 2: 45%|...`, from 0 on; MMEngine `Epoch(train) [3][9/20]`, from 1 on.
_EPOCH = re.compile(r"^\W{0,3}epoch[ :#]{1,3}([0-9]{1,9})\b(?!\s*(?:/|of))", re.IGNORECASE)
_MM_EPOCH = re.compile(
    r"\bEpoch(?:\(train\))?\s{1,3}\[([0-9]{1,9})\]\[\s*([0-9]{1,12})/([0-9]{1,12})\]"
)
# The examples of PyTorch and of torchvision, whose epochs begin at 0.
_TORCH_EPOCH = re.compile(r"\bEpoch: \[([0-9]{1,9})\]\s{0,2}\[\s*([0-9]{1,12})/([0-9]{1,12})\]")
_FITTED = re.compile(r"`Trainer\.fit` stopped: `max_epochs=([0-9]{1,9})` reached")
_SUMS_UP = re.compile(r"loss|acc|finished|done|complete", re.IGNORECASE)
_WHOLE = 100
_NEARLY = 0.99
_RANK = {"epochs": 3, "steps": 2, "batches": 1, "%": 0}


@dataclass(frozen=True)
class Reading:
    """What the log has shown so far: results by name, in the spelling of the program."""

    results: dict[str, str] = field(default_factory=dict)
    progress: Progress | None = None
    last_line: str = ""


def read_log(lines: Sequence[str], patterns: Sequence[ResultPattern], before: Reading) -> Reading:
    """The results after these lines; what they do not mention is unchanged."""
    results = dict(before.results)
    progress = before.progress
    last_line = before.last_line
    asked = [(each.name, re.compile(each.pattern)) for each in patterns]
    bars = Bars()
    for line in lines:
        may_tell = any(hint in line.lower() for hint in HINTS)
        for name, pattern in (*USUAL, *asked) if may_tell else asked:
            if match := pattern.search(line):
                results[name] = match[1 if pattern.groups else 0][:LONGEST_VALUE]
        progress = bars.after(line, progress) if may_tell else progress
        last_line = line.strip() or last_line
    results |= figures(read_bandwidth(lines))
    return Reading(results, progress, last_line)


@dataclass
class Bars:
    """Tells the progress bar of a run from bars of its parts, which are shorter or repeat."""

    longest: int = 0
    last: int = 0
    is_repeated: bool = False

    def after(self, line: str, known: Progress | None) -> Progress | None:
        """The progress of the program after a line."""
        found = find_progress(line)
        if found is not None:
            return _coarser(known, found)
        part = _bar(line)
        if part is None:
            return known
        if known is not None and known.unit == "epochs" and known.total is not None:
            return _within(known, *part)
        return self._alone(known, *part)

    def _alone(self, known: Progress | None, done: int, total: int) -> Progress | None:
        if total < self.longest:
            return known
        self.is_repeated = total == self.longest and (self.is_repeated or done < self.last)
        self.longest, self.last = total, done
        if not self.is_repeated:
            return _coarser(known, Progress(_WHOLE * done // total, _WHOLE, "%"))
        return None if known is not None and known.unit == "%" else known


def find_progress(line: str) -> Progress | None:
    """The progress in a line: epochs take precedence over steps, then a percentage."""
    if match := _FITTED.search(line):
        return Progress(int(match[1]), int(match[1]), "epochs")
    found: dict[str, tuple[int, int]] = {}
    for unit, pattern in _COUNTED:
        if unit not in found and (counted := _count(pattern, line)):
            found[unit] = counted
    part = next((found[unit] for unit in ("steps", "batches") if unit in found), None)
    if "epochs" in found:
        return _epochs(line, *found["epochs"], part or _fraction(_BAR.search(line)))
    if epoch := _endless_epoch(line):
        return epoch
    for unit, (done, total) in found.items():
        return Progress(done, total, unit)
    percent = _PERCENT.search(line)
    if percent and int(percent[1]) <= _WHOLE:
        return Progress(int(percent[1]), _WHOLE, "%")
    return None


def _endless_epoch(line: str) -> Progress | None:
    """The epoch of a program that does not report how many there are."""
    for pattern, first in ((_MM_EPOCH, 1), (_TORCH_EPOCH, 0)):
        if match := pattern.search(line):
            done, total = int(match[2]), int(match[3])
            return _endless(int(match[1]) - first, done, total) if 0 < total >= done else None
    epoch, part_of = _EPOCH.search(line), _fraction(_BAR.search(line))
    return _endless(int(epoch[1]), *part_of) if epoch and part_of else None


def _endless(epochs: int, done: int, total: int) -> Progress:
    return Progress(round(epochs + done / total, 2), None, "epochs")


def _bar(line: str) -> tuple[int, int] | None:
    """The progress of a bar of the run, or of an unnamed bar."""
    match = _BAR.search(line)
    if match is None or (match["of"].strip(" :\t") and not _OF_THE_RUN.search(match["of"])):
        return None
    return _fraction(match)


def _fraction(match: re.Match[str] | None) -> tuple[int, int] | None:
    if match is None:
        return None
    done, total = int(match["n"] or match["m"]), int(match["all"] or match["each"])
    return (done, total) if 0 <= done <= total and total else None


def _within(known: Progress, done: int, total: int) -> Progress:
    """The progress within the last announced epoch."""
    whole, most = int(known.done), known.total or 0
    is_end = done == total and whole + 1 >= most
    part = 1.0 if is_end else min(done / total, _NEARLY)
    return Progress(min(most, round(whole + part, 2)), known.total, known.unit)


def _count(pattern: re.Pattern[str], line: str) -> tuple[int, int] | None:
    match = pattern.search(line)
    if match is None or not 0 <= int(match[1]) <= int(match[2]) or not int(match[2]):
        return None
    return int(match[1]), int(match[2])


def _epochs(line: str, epoch: int, epochs: int, part: tuple[int, int] | None) -> Progress:
    """An epoch is done when the line sums it up; one that was only announced has begun."""
    if part is not None:
        return Progress(round(max(0, epoch - 1) + part[0] / part[1], 2), epochs, "epochs")
    is_done = _SUMS_UP.search(line) is not None
    return Progress(epoch if is_done else max(0, epoch - 1), epochs, "epochs")


def _coarser(known: Progress | None, found: Progress | None) -> Progress | None:
    """The newer of the two, but steps do not hide epochs: they start anew in each."""
    if known is None or found is None:
        return found or known
    if found.total is None and known.total is not None and known.unit == found.unit:
        return known
    return found if _RANK[found.unit] >= _RANK[known.unit] else known


def progress_row(progress: Progress | None) -> dict[str, Any] | None:
    """Progress as it is stored on a row."""
    return asdict(progress) if progress else None


def progress_of(row: dict[str, Any] | None) -> Progress | None:
    """The progress that is stored on a row."""
    return Progress(**row) if row else None
