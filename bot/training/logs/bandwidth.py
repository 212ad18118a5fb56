"""Parses the results that nccl-tests print, in the table layouts of their versions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

# mpirun puts it before each line with --tag-output.
_TAG = re.compile(r"^\[\d+,\d+\]<std(?:out|err)>:\s?")
# Numbers that a program may print by mistake are none: an infinite one could not be kept.
_AVERAGE = re.compile(
    r"#\s*Avg bus bandwidth\s*:\s*([0-9]{1,9}(?:\.[0-9]{0,12})?(?:[eE][-+]?[0-9]{1,2})?)(?!\S)"
)
_WRONG = re.compile(r"#\s*Out of bounds values\s*:\s*([0-9]{1,12})(?!\S)")
_SELECTED = re.compile(r"NET/OFI Selected provider is ([^\s,]+)", re.IGNORECASE)
_USING = re.compile(r"NET/(Socket|IB)\s*: Using", re.IGNORECASE)
_BUSBW = "busbw"
AVERAGE, MAXIMUM, NETWORK = "average bus bandwidth", "maximum bus bandwidth", "network"


@dataclass(frozen=True)
class Bandwidth:
    """Bus bandwidth in GB/s (10^9), over all sizes and over both ways of a size.

    None and an empty provider mean not reported. `wrong` counts values out of bounds.
    """

    average: float | None = None
    maximum: float | None = None
    rows: int = 0
    wrong: int | None = None
    provider: str = ""


def read_bandwidth(lines: Iterable[str]) -> Bandwidth:
    """The bandwidth reported in the lines of a test; any of them may be missing."""
    average, wrong, provider = None, None, ""
    columns: list[int] = []
    width, busy = 0, list[list[float]]()
    for line in lines:
        text = _TAG.sub("", line)
        header = text.removeprefix("#").split() if text.lstrip().startswith("#") else []
        if header[:1] == ["size"] and _BUSBW in header:
            columns = [place for place, word in enumerate(header) if word == _BUSBW]
            width = len(header) - 1
        elif columns and (row := _row(text, columns, width)):
            busy.append(row)
        average = _number(_AVERAGE, text, average)
        wrong = _number(_WRONG, text, wrong)
        provider = provider or _provider(text)
    return Bandwidth(
        average=average,
        maximum=max((max(row) for row in busy), default=None),
        rows=len(busy),
        wrong=None if wrong is None else int(wrong),
        provider=provider,
    )


def figures(measured: Bandwidth) -> dict[str, str]:
    """The results of a test, by the names that cards use."""
    found = {}
    if measured.average is not None:
        found[AVERAGE] = f"{measured.average:.2f} GB/s"
        if measured.maximum is not None:
            found[MAXIMUM] = f"{measured.maximum:.2f} GB/s"
    if measured.wrong:
        found["wrong values"] = str(measured.wrong)
    if measured.provider:
        found[NETWORK] = measured.provider
    return found


def _row(text: str, columns: list[int], width: int) -> list[float]:
    """The bus bandwidths of one size; empty if the line is not a row of the table."""
    words = text.split()
    if len(words) < width or not words or not words[0].isdigit():
        return []
    try:
        return [float(words[place]) for place in columns]
    except (IndexError, ValueError):
        return []


def _number(pattern: re.Pattern[str], text: str, known: float | None) -> float | None:
    found = pattern.search(text)
    return float(found[1]) if found else known


def _provider(text: str) -> str:
    found = _SELECTED.search(text) or _USING.search(text)
    return found[1].lower() if found else ""
