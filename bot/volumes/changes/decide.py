"""Decides the next step for a change in progress. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.errors import StorageError
from bot.reconcile import frame
from bot.volumes.changes.acts import Astray, Busy, Reached, Ready, State
from bot.volumes.changes.tables import VolumeChange
from bot.volumes.operations import Progress

SOON = timedelta(seconds=2)
_FIRST, _LONGEST, _SLOW = timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=5)
# After this time the card says that it is late; operations in Azure are still followed.
LATE = timedelta(hours=1)
# After this time requests that Azure accepted, or was too busy to accept, count as failed.
_CONFIRMED_WITHIN, _BEGUN_WITHIN = timedelta(minutes=15), timedelta(hours=2)
_UNAUTHENTICATED, _CONFLICT, _THROTTLED, _BROKEN = 401, 409, 429, 500
_AFTER_CONFLICT = timedelta(seconds=30)
_RESENT_AFTER, _MOST_TRIES = timedelta(minutes=1), 3


@dataclass(frozen=True)
class Advance:
    """The act is done; `remains` is what it left undone, `mibps` the current throughput."""

    remains: str = ""
    mibps: float | None = None


@dataclass(frozen=True)
class Prepare:
    """Record the current sizes, so that the act can be undone; then send."""

    size_bytes: int | None
    size_now: int | None


@dataclass(frozen=True)
class Send:
    """Request the act from Azure; idempotent."""

    size_bytes: int | None


@dataclass(frozen=True)
class Confirm:
    """Azure reports success; check the resource."""


@dataclass(frozen=True)
class Forget:
    """Azure no longer knows the operation; check the resource instead."""


@dataclass(frozen=True)
class CheckAgain:
    """Check again at a time; `why` is shown if that is unusual."""

    until: datetime
    why: str = ""


@dataclass(frozen=True)
class Fail:
    """The act fails: the reason in Azure's words, and what to do."""

    why: str
    hint: str = ""


Decision = Advance | Prepare | Send | Confirm | Forget | CheckAgain | Fail


def follow(row: VolumeChange, told: Progress | None, now: datetime) -> Decision:
    """The decision from the progress of an operation; None if Azure does not know it."""
    if told is None:
        return Forget()
    if told.is_done:
        return Confirm()
    if told.is_lost:
        said = ": ".join(each for each in (told.code, told.message) if each)
        return Fail(
            f"Azure ended the operation as {told.status}{f': {said}' if said else '.'}",
            "Nothing else was changed. Request it again later.",
        )
    asked = timedelta(seconds=told.wait_seconds)
    return CheckAgain(now + max(asked, slower(row.since, now) - now))


def proceed(row: VolumeChange, state: State, now: datetime) -> Decision:
    """The decision from the state of the volume and its pools."""
    match state:
        case Reached(remains, mibps):
            return Advance(remains, mibps)
        case Busy(what):
            why = "" if row.is_begun else f"Azure is working on {what}."
            return CheckAgain(slower(row.since, now), why)
        case Astray(why, hint, is_gone):
            may_come = is_gone and row.is_begun and now - row.since < _CONFIRMED_WITHIN
            return CheckAgain(slower(row.since, now)) if may_come else Fail(why, hint)
        case Ready(size_bytes, size_now):
            return _send(row, size_bytes, size_now, now)


def unread(error: StorageError, now: datetime) -> Decision:
    """Waits if Azure throttles reads; raises any other error again."""
    if error.status != _THROTTLED:
        raise error
    return CheckAgain(
        now + max(timedelta(seconds=error.retry_after_seconds), _FIRST), error.message
    )


def refused(row: VolumeChange, error: StorageError, now: datetime) -> Decision:
    """The decision from Azure's refusal of a request; raises if the request may have worked."""
    status = error.status
    if status is None or status in {_UNAUTHENTICATED, _THROTTLED} or status >= _BROKEN:
        return unread(error, now)
    if status == _CONFLICT and now - row.since < _BEGUN_WITHIN:
        return CheckAgain(now + _AFTER_CONFLICT, error.message)
    return Fail(error.message, error.hint)


def slower(since: datetime, now: datetime) -> datetime:
    """When to check again; the longer it has taken, the later."""
    return frame.slower(since, now, _FIRST, _LONGEST if now - since < LATE else _SLOW)


def _send(
    row: VolumeChange, size_bytes: int | None, size_now: int | None, now: datetime
) -> Decision:
    if not row.is_begun:
        return Prepare(size_bytes, size_now)
    sent_at = row.begun_at
    if row.is_confirming and sent_at is not None and now - sent_at < _CONFIRMED_WITHIN:
        return CheckAgain(slower(sent_at, now))
    if row.is_confirming or row.tries >= _MOST_TRIES:
        return Fail(
            "Azure accepted the request, but nothing changed.",
            "Check the volume in Azure, then request it again.",
        )
    if sent_at is not None and now - sent_at < _RESENT_AFTER:
        return CheckAgain(sent_at + _RESENT_AFTER)
    return Send(size_bytes)
