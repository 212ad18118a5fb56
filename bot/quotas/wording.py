"""Formats amounts and overrides, the same on cards, in answers and in messages."""

from decimal import Decimal

from bot.cluster.types.quantities import format_quantity
from bot.quotas.tables import Mode, Override

UNKNOWN = "unknown"


def amount(value: Decimal | None) -> str:
    """A figure, or "unknown"."""
    return UNKNOWN if value is None else format_quantity(value)


def gpus(value: Decimal) -> str:
    """`1 GPU`, `8 GPUs`."""
    return f"{format_quantity(value)} {'GPU' if abs(value) == 1 else 'GPUs'}"


def signed(value: Decimal) -> str:
    """`+8`, `-2`."""
    return f"{'-' if value < 0 else '+'}{format_quantity(abs(value))}"


def field_of(row: Override) -> str:
    """The field that an override changes, for people."""
    return "borrowing limit" if row.mode == Mode.BORROWING_LIMIT else "nominal quota"


def change(row: Override) -> str:
    """What an override changes, as `nominal quota 4 -> 12 GPUs of h100`."""
    after = row.amount if row.mode == Mode.BASE else row.shown_from + row.amount
    return f"{field_of(row)} {amount(row.shown_from)} → {gpus(after)} of {row.flavor}"


def title(row: Override) -> str:
    """The title of an override."""
    if row.mode == Mode.BASE:
        return f"Base quota of {row.team}: {gpus(row.amount)} of {row.flavor}"
    return f"Quota override for {row.team}: {signed(row.amount)} {row.flavor}"


def number(row: Override) -> str:
    """The short number by which people name an override."""
    return row.id[-6:]
