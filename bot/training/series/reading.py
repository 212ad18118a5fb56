"""Reads the values of metrics from lines of a log: reported ones, and those programs print."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bot.config import ResultPattern
from bot.masking import is_secret
from bot.slack.card import Progress
from bot.training.logs.results import HINTS, USUAL, Bars, find_progress
from bot.training.series.points import Point

REPORT = "quartermaster:"
"""What a line begins with in which a program reports metrics, after the prefixes of launchers."""

STEP, EPOCH = "step", "epoch"
LONGEST_NAME = 60
MOST_REPORTED = 100
_LONGEST_REPORT = 16_000
_REPORTED = re.compile(rf"(?<![\w./-]){REPORT}\s{{0,9}}(?=\{{)")
# No comma, which separates names in commands, and nothing that Slack reads as formatting.
_NAME = re.compile(rf"[\w .:/@%()+=\[\]-]{{1,{LONGEST_NAME}}}")
_WORDS = {"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
# As torchrun and PyTorch (`[default1]:`, `[rank1]:`) and mpirun (`[1,1]<stdout>:`) name a process.
_RANK = re.compile(
    r"\s{0,3}\[(?:rank|default|worker|trainer|[^\]\s,]{0,200},)(?P<rank>[0-9]{1,9})\](?::|<std(?:out|err)>)"
)
_STEP = re.compile(
    r"(?<![\w/])(?:global[_ ]?)?(?:step|iter(?:ation)?)s?[\"']?\s{0,9}[=:#]?\s{0,3}[\"'\[]?\s{0,9}"
    r"([0-9]{1,12})(?![\w.,]{0,20}[0-9]|\s{0,9}\]?\s{0,3}(?:/|of\b))",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"(?<![\w/])epochs?[\"']?\s{0,9}[=:#]?\s{0,3}[\"'\[]?\s{0,3}"
    r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(?![\w.]{0,20}[0-9])",
    re.IGNORECASE,
)
# What makes of a loss that of a part of the data, which has a pattern of its own.
_OF_PART = re.compile(
    r"\b(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?)\s$", re.IGNORECASE
)
_DECODER = json.JSONDecoder()


class Place(NamedTuple):
    """Where in its training a program was, as far as it said."""

    step: float | None = None
    epoch: float | None = None


class Measured(NamedTuple):
    """A value of a metric; `is_reported` if the program reported it, else found in its output."""

    name: str
    point: Point
    is_reported: bool = False


class MetricReader:
    """Reads lines one after the other; a line may say where the values of the next ones belong."""

    def __init__(self, patterns: Sequence[ResultPattern], progress: Progress | None) -> None:
        self._asked = [(each.name, re.compile(each.pattern)) for each in patterns]
        self._bars = Bars()
        self._progress = progress

    def is_wanted(self, line: str) -> bool:
        """Whether the line may have a value, or say where values belong."""
        return _may_tell(line) or any(pattern.search(line) for _, pattern in self._asked)

    def read(self, line: str, at: float) -> list[Measured]:
        """The values in a line that was written at that time, in seconds since 1970."""
        if not _is_of_first_rank(line):
            return []
        report = _report(line)
        if report is not None:
            return list(_reported(report, at))
        return self._found(line, at)

    def _found(self, line: str, at: float) -> list[Measured]:
        may_tell, before = _may_tell(line), self._progress
        if may_tell:
            self._progress = self._bars.after(line, before)
        values = {}
        for name, pattern in (*USUAL, *self._asked) if may_tell else self._asked:
            match = pattern.search(line)
            if match and not _OF_PART.search(line, 0, match.start()):
                values[name] = _number(match[1 if pattern.groups else 0])
        known = [(name, value) for name, value in values.items() if value is not None]
        if not known:
            return []
        place = place_of(line, before)
        return [Measured(name[:LONGEST_NAME], Point(*place, at, value)) for name, value in known]


def place_of(line: str, before: Progress | None) -> Place:
    """Where the values of a line belong: by what it says, else by the lines before it."""
    step, epoch = _STEP.search(line), _EPOCH.search(line)
    found = find_progress(line)
    at_step = float(step[1]) if step else None
    if found is not None and found.unit == "epochs":
        return Place(at_step, float(found.done))
    at_epoch = float(epoch[1]) if epoch else None
    if found is not None and found.unit == "steps" and at_step is None:
        at_step = float(found.done)
    is_part = found is not None and found.unit == "batches" and found.total
    if is_part and found is not None and at_epoch is None:
        at_epoch = _within(before, found.done / (found.total or 1))
    if at_step is not None or at_epoch is not None:
        return Place(at_step, at_epoch)
    return _known_place(before)


def _within(known: Progress | None, part: float) -> float | None:
    """The part of an epoch that a line counts, after the epochs that were done before."""
    is_known = known is not None and known.unit == "epochs"
    return round(int(known.done) + part, 4) if is_known and known is not None else None


def _known_place(known: Progress | None) -> Place:
    if known is None:
        return Place()
    done = float(known.done)
    return Place(done if known.unit == "steps" else None, done if known.unit == "epochs" else None)


def _may_tell(line: str) -> bool:
    small = line.lower()
    return REPORT in line or any(hint in small for hint in HINTS)


def _is_of_first_rank(line: str) -> bool:
    """Whether no launcher marked the line as written by another process than the first."""
    found = _RANK.match(line)
    return found is None or int(found["rank"]) == 0


def _report(line: str) -> Mapping[str, Any] | None:
    """The object that a line reports, None if it reports none or was torn."""
    found = _REPORTED.search(line)
    if found is None:
        return None
    text = line[found.end() : found.end() + _LONGEST_REPORT]
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reported(report: Mapping[str, Any], at: float) -> Iterator[Measured]:
    step, epoch = (_finite(report.get(each)) for each in (STEP, EPOCH))
    for name, value in list(report.items())[:MOST_REPORTED]:
        number = _value(value)
        is_metric = name not in {STEP, EPOCH} and _NAME.fullmatch(name) and name == name.strip()
        if number is not None and is_metric and not is_secret(name, str(value)):
            yield Measured(name, Point(step, epoch, at, number), is_reported=True)


def _finite(value: object) -> float | None:
    number = _value(value)
    return number if number is not None and math.isfinite(number) else None


def _value(value: object) -> float | None:
    """The number of a value in a report; no truth value and no text but `nan` and `inf` is one."""
    if isinstance(value, str) and value.lower() in _WORDS:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _number(text: str) -> float | None:
    """The number that a pattern found: `1,204`, `91.5%` or `nan`."""
    try:
        return float(text.strip().removesuffix("%").replace(",", ""))
    except ValueError:
        return None
