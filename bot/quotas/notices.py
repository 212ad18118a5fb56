"""Notifies the requester of an override, once per event, by a reply that mentions them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from bot.database.database import Session
from bot.quotas.engines.admission import Item
from bot.quotas.tables import Override, OverridePhase, subject_of
from bot.quotas.wording import UNKNOWN, change, field_of, gpus
from bot.slack.markup import Markup, code, join, person, plain, when
from bot.slack.messages import ThreadMessage, post_once

_MOST_NAMED = 5


def decided(session: Session, row: Override, deciders: Sequence[str], now: datetime) -> None:
    """Posts how the request was decided."""
    by = join(" by ", _listed([person(who) for who in deciders])) if deciders else Markup("")
    match row.phase:
        case OverridePhase.APPROVED:
            line = join("approved", by, ": ", plain(change(row)), _until(row), ".")
        case OverridePhase.DENIED:
            line = join("denied", by, ". Nothing was changed.")
        case OverridePhase.EXPIRED:
            line = Markup("this request expired without a decision. Nothing was changed.")
        case _:
            line = join("this cannot take effect: ", plain(row.note), " Nothing was changed.")
    _tell(session, row, "decision", line, now)


def is_set(session: Session, row: Override, now: datetime) -> None:
    """Posts that a base quota was changed."""
    _tell(session, row, "ended", join("done: ", plain(change(row)), ", permanently."), now)


def ends_soon(session: Session, row: Override, above: Sequence[Item], now: datetime) -> None:
    """Posts that the override ends soon, and what will be stopped then."""
    if row.ends_at is None:
        return
    ends = join("this override ends ", when(row.ends_at), ". ")
    if above:
        line = join(ends, "Workloads above quota then will be stopped: ", _names(above), ".")
    else:
        line = join(ends, "No workloads would be above quota then.")
    _tell(session, row, "notice", line, now)


def stopped(session: Session, row: Override, why: str, now: datetime, *, has_buttons: bool) -> None:
    """Posts why a quota is left alone, since an edited card notifies no one.

    With `has_buttons` the card asks what to do about it.
    """
    purpose = f"stopped-{hashlib.sha256(why.encode()).hexdigest()[:12]}"
    hint = " A platform admin decides on the card." if has_buttons else ""
    _tell(session, row, purpose, join(plain(why), hint), now)


@dataclass(frozen=True)
class Ending:
    """The result of an end: the quota now, workloads above it, and whether they are stopped."""

    value: Decimal | None
    above: Sequence[Item] = ()
    stops: bool = False


def ended(session: Session, row: Override, ending: Ending, now: datetime) -> None:
    """Posts that the override ended, and what happens to workloads above quota."""
    revoked = row.phase == OverridePhase.REVOKED
    by = join("revoked by ", person(row.revoked_by or ""), ". ") if revoked else Markup("")
    if row.starts_at is None:
        line = join(by, "It had not started; nothing was changed.")
    else:
        value = UNKNOWN if ending.value is None else gpus(ending.value)
        figure = f"the {field_of(row)} of {row.team} is {value} of {row.flavor}."
        line = join(by, "The override has ended: ", plain(figure), _left(ending))
    _tell(session, row, "ended", line, now)


def _left(ending: Ending) -> Markup:
    if not ending.above:
        return Markup("")
    if ending.stops:
        return join(" Stopped because they were above quota: ", _names(ending.above), ".")
    return join(
        " Above quota, running until other queues reclaim the GPUs: ", _names(ending.above), "."
    )


def _until(row: Override) -> Markup:
    return join(", until ", when(row.ends_at)) if row.ends_at else Markup(", permanently")


def _names(items: Sequence[Item]) -> Markup:
    return _listed([code(each.name) for each in items])


def _listed(items: Sequence[Markup]) -> Markup:
    more = f" and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return join(", ".join(items[:_MOST_NAMED]), more)


def _tell(session: Session, row: Override, purpose: str, line: Markup, now: datetime) -> None:
    note = ThreadMessage(purpose, (join(person(row.requester), " ", line),), owner=row.requester)
    post_once(session, subject_of(row), row.channel, note, now)
