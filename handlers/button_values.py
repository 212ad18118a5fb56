"""What the value of a button says that is about a row, and one thing more."""

from datetime import UTC, datetime

from bot.errors import UsageError

_SEPARATOR = " "


def moment_of(value: str) -> datetime:
    """The moment after the row's id; UsageError when there is none, as on buttons of old."""
    try:
        return datetime.fromtimestamp(int(_second(value)), UTC)
    except (ValueError, OverflowError, OSError):
        raise _out_of_date() from None


def count_of(value: str) -> int:
    """The number after the row's id; UsageError when there is none, as on buttons of old."""
    said = _second(value)
    if not (said.isascii() and said.isdecimal() and len(said) < len(str(2**31))):
        raise _out_of_date()
    return int(said)


def row_of(value: str) -> str:
    """The id of the row."""
    return value.partition(_SEPARATOR)[0]


def _second(value: str) -> str:
    return value.partition(_SEPARATOR)[2]


def _out_of_date() -> UsageError:
    return UsageError(
        "This button is out of date. Nothing was done.", "Type the command instead: `/qm help`."
    )
