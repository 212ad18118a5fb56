"""Formats of sizes, throughput and prices, shared by cards, answers and replies."""

_BINARY_STEP = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
GIB = 1024**3
UNKNOWN = "unknown"


def capacity(count: int) -> str:
    """The size of a volume, in the units that Kubernetes and clouds sell it by: 300 GiB."""
    amount, unit = float(count), 0
    while amount >= _BINARY_STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _BINARY_STEP, unit + 1
    return f"{amount:,.1f}".removesuffix(".0") + f" {_UNITS[unit]}"


def throughput(mibps: float | None) -> str:
    """`65.5 MiB/s`, or unknown."""
    return UNKNOWN if mibps is None else f"{mibps:,.1f}".removesuffix(".0") + " MiB/s"


def used(count: int | None, whole: int) -> str:
    """`412 GiB (40 %)`, or unknown."""
    return UNKNOWN if count is None else f"{capacity(count)} ({100 * count // whole} %)"


def money(amount: float | None) -> str:
    """`1,188.00`, in the currency of the configuration's prices; unknown without a price."""
    return UNKNOWN if amount is None else f"{amount:,.2f}"


def volumes(count: int) -> str:
    """`1 volume`, `3 volumes`."""
    return f"{count} volume{'' if count == 1 else 's'}"
