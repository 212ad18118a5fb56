"""Kubernetes quantities: "4", "500m", "64Gi"."""

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

_QUANTITY = re.compile(r"^([+-]?[0-9.]+)((?:[eE][+-]?[0-9]+)|[numkMGTPE]|[KMGTPE]i)?$")
_SCALES = {
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
} | {f"{unit}i": Decimal(1024) ** (i + 1) for i, unit in enumerate("KMGTPE")}


@lru_cache(maxsize=4096)
def parse_quantity(text: str | float) -> Decimal:
    """The number a quantity stands for; ValueError if it is none."""
    match = _QUANTITY.match(str(text).strip())
    if match is None:
        raise ValueError(f"not a quantity: {text!r}")
    number, suffix = match.group(1), match.group(2) or ""
    try:
        if suffix[:1] in {"e", "E"} and suffix[1:].lstrip("+-").isdigit():
            return Decimal(number + suffix)
        return Decimal(number) * _SCALES.get(suffix, Decimal(1))
    except InvalidOperation as error:
        raise ValueError(f"not a quantity: {text!r}") from error


def show_quantity(number: Decimal, resource: str = "") -> str:
    """A quantity as the API server would write it."""
    if resource in {"memory", "ephemeral-storage", "storage"} or resource.startswith("hugepages-"):
        return _binary(number)
    if number == number.to_integral_value():
        return str(int(number))
    return f"{int((number * 1000).to_integral_value())}m"


def _binary(number: Decimal) -> str:
    whole = int(number)
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        scale = int(_SCALES[unit])
        if whole and whole % scale == 0:
            return f"{whole // scale}{unit}"
    return str(whole)
