"""Figures and progress that a program's log tells."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bot.config import ResultPattern
from bot.slack.card import Progress
from bot.training.bandwidth import figures, read_bandwidth

LONGEST_VALUE = 40
_NUMBER = r"([-+]?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|nan|inf)\b%?)"
_SAYS = r"\s{0,3}[=:]?\s{0,3}"

USUAL = (
    ResultPattern(name="total images/sec", pattern=rf"(?i)\btotal images/sec{_SAYS}{_NUMBER}"),
    ResultPattern(name="images/sec", pattern=rf"(?i)(?<!total )\bimages/sec{_SAYS}{_NUMBER}"),
    ResultPattern(name="loss", pattern=rf"(?i)(?<![\w-])loss{_SAYS}{_NUMBER}"),
    ResultPattern(name="val loss", pattern=rf"(?i)\bval(?:idation)?[ _-]loss{_SAYS}{_NUMBER}"),
    ResultPattern(name="accuracy", pattern=rf"(?i)(?<![\w-])acc(?:uracy)?{_SAYS}{_NUMBER}"),
)
_OF = r"(?:\s{0,3}[=:#]?\s{0,3}\[?\s{0,3})([0-9]{1,12})\s{0,3}(?:/|of)\s{0,3}([0-9]{1,12})"
_COUNTED = (
    ("epochs", re.compile(rf"\bepochs?{_OF}", re.IGNORECASE)),
    ("steps", re.compile(rf"\b(?:global_)?(?:steps?|iter(?:ation)?s?){_OF}", re.IGNORECASE)),
    ("batches", re.compile(rf"\bbatch(?:es)?{_OF}", re.IGNORECASE)),
)
# A percentage alone may be an accuracy; these are bars, or say what they mean.
_PERCENT = re.compile(
    r"(?:^\s*|\bprogress\W{0,3}|(?=[0-9.]{1,6}%(?:\|| (?:done|complete))))"
    r"([0-9]{1,3})(?:\.[0-9]+)?%",
    re.IGNORECASE,
)
_SUMS_UP = re.compile(r"loss|acc|finished|done|complete", re.IGNORECASE)
_WHOLE = 100
_RANK = {"epochs": 3, "steps": 2, "batches": 1, "%": 0}


@dataclass(frozen=True)
class Reading:
    """What the log has told so far: figures by name, in the program's own spelling."""

    results: dict[str, str] = field(default_factory=dict)
    progress: Progress | None = None
    last_line: str = ""


def read_log(lines: Sequence[str], patterns: Sequence[ResultPattern], before: Reading) -> Reading:
    """What is known after these lines; what they do not mention stays as it was."""
    results = dict(before.results)
    progress = before.progress
    last_line = before.last_line
    compiled = [(each.name, re.compile(each.pattern)) for each in (*USUAL, *patterns)]
    for line in lines:
        for name, pattern in compiled:
            if match := pattern.search(line):
                results[name] = match[1 if pattern.groups else 0][:LONGEST_VALUE]
        progress = _coarser(progress, find_progress(line))
        last_line = line.strip() or last_line
    results |= figures(read_bandwidth(lines))
    return Reading(results, progress, last_line)


def find_progress(line: str) -> Progress | None:
    """How far the program says it is: epochs before steps before a percentage."""
    found = {unit: match for unit, pattern in _COUNTED if (match := _count(pattern, line))}
    if "epochs" in found:
        return _epochs(line, *found.pop("epochs"), next(iter(found.values()), None))
    for unit, (done, total) in found.items():
        return Progress(done, total, unit)
    percent = _PERCENT.search(line)
    if percent and int(percent[1]) <= _WHOLE:
        return Progress(int(percent[1]), _WHOLE, "%")
    return None


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
    return found if _RANK[found.unit] >= _RANK[known.unit] else known


def progress_row(progress: Progress | None) -> dict[str, Any] | None:
    """Progress as a row keeps it."""
    return asdict(progress) if progress else None


def progress_of(row: dict[str, Any] | None) -> Progress | None:
    """Progress from a row."""
    return Progress(**row) if row else None
