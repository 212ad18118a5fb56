"""Kubernetes quantities such as 64Gi, 500m and 1e3, as exact numbers."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Self

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_PATTERN = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))((?:[eE][+-]?[0-9]+)?)([KMGTPE]i|[numkMGTPE]?)"
)
_ZERO = Decimal(0)


class Quantity(Decimal):
    """A parsed quantity that still knows how the object wrote it.

    A JSON Patch that tests a value needs `raw`: 4 and "4" are the same quantity but not the
    same JSON.
    """

    raw: str | int | float

    @classmethod
    @lru_cache(maxsize=4096, typed=True)
    def of(cls, raw: str | float) -> Self:
        """The quantity that Kubernetes wrote as `raw`; ValueError when it is none."""
        quantity = cls(parse_quantity(str(raw)))
        quantity.raw = raw
        return quantity


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Decimal:
    """The exact number `text` stands for; ValueError with a sentence when it is none."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None or (match[2] and match[3]):
        raise ValueError(f'"{text}" is not a Kubernetes quantity; write it like 4, 500m or 64Gi.')
    return Decimal(match[1] + match[2]) * SUFFIXES[match[3]]


def format_quantity(value: Decimal, *, binary: bool = False) -> str:
    """The shortest exact way to write `value`; `binary` prefers Ki, Mi, Gi and so on."""
    if value != value.to_integral_value():
        return _scaled(value, ("m", "u", "n"))
    if binary:
        return _scaled(value, ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", ""))
    return str(int(value))


def _scaled(value: Decimal, suffixes: tuple[str, ...]) -> str:
    for suffix in suffixes:
        scaled = value / SUFFIXES[suffix]
        if scaled == scaled.to_integral_value() and (scaled != _ZERO or suffix == ""):
            return f"{int(scaled)}{suffix}"
    raise ValueError(f"{value} is too precise for a Kubernetes quantity.")
