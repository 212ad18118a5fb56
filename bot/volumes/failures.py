"""Turns errors of Azure's library into StorageError: Azure's code and message, and a hint."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.errors import StorageError

if TYPE_CHECKING:
    from azure.core.exceptions import HttpResponseError

_MOST = 600
_UNAUTHENTICATED, _FORBIDDEN, _CONFLICT, _THROTTLED, _BROKEN = 401, 403, 409, 429, 500
_WHO = "AZURE_CLIENT_ID, AZURE_TENANT_ID and related variables; see docs/anf.md."
_HINTS = {
    _UNAUTHENTICATED: f"A platform admin has to check the bot's Azure identity: {_WHO}",
    _FORBIDDEN: "A platform admin has to give the bot's Azure identity the role in docs/anf.md.",
    404: "`/anf volumes` and `/anf pools` show what exists.",
    _CONFLICT: "Another operation is in progress there. Try again when it is done.",
}


@contextmanager
def failing(doing: str) -> Iterator[None]:
    """Turns the library's errors into StorageError, whose message begins with `doing`."""
    from azure.core import exceptions  # noqa: PLC0415 - only who asks Azure pays for the import

    try:
        yield
    except exceptions.HttpResponseError as error:
        raise _refusal(doing, error) from error
    except exceptions.AzureError as error:
        raise StorageError(
            f"{doing}: Azure cannot be reached ({type(error).__name__}).",
            "Try again in a minute. The address is set in anf.endpoint.",
        ) from error


def _refusal(doing: str, error: "HttpResponseError") -> StorageError:
    """The StorageError of an HTTP error; without a status the bot has no working identity."""
    status, told = error.status_code, error.error
    code = str(told.code) if told is not None and told.code else ""
    words = str(told.message) if told is not None and told.message else ""
    if status is None:
        return StorageError(
            f"{doing}: the bot has no working Azure identity.",
            f"A platform admin has to set {_WHO}",
            status=_UNAUTHENTICATED,
        )
    said = f"{code}: {words}" if code else (words or f"HTTP {status}")
    wait = _seconds(error)
    return StorageError(
        f"{doing}: Azure returned {_cut(said)}",
        _hint(status, wait),
        status=status,
        code=code,
        retry_after_seconds=wait,
    )


def _hint(status: int, wait: float) -> str:
    if status == _THROTTLED:
        return f"Azure rate-limited the bot. Try again in {max(wait, 1):.0f} s."
    if status >= _BROKEN:
        return "Try again in a minute."
    return _HINTS.get(status, "Azure's message gives the reason.")


def _seconds(error: "HttpResponseError") -> float:
    headers = getattr(error.response, "headers", {})
    told = str(headers.get("Retry-After", ""))
    return float(told) if told.isdecimal() else 0.0


def _cut(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
