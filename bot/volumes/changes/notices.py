"""Thread replies of changes, each posted once, which mention the requester."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from bot.people.people import name_of
from bot.slack.markup import Markup, code, join, person, plain, sentence, when
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.volumes.changes.tables import ChangeKind, ChangePhase, VolumeChange
from bot.volumes.wording import throughput


def refresh(session: Session, row: VolumeChange, *, live: bool) -> None:
    """Refreshes the cards of a change, and those of the fill that it boosts."""
    refresh_cards(session, row.subject, live=live)
    if row.boosted is not None:
        refresh_cards(session, row.boosted, live=False)


def change_of(row: VolumeChange) -> str:
    """A short name of the change: `lane-data to Premium`."""
    if row.boosted_id:
        return f"{_change_of(row)} for the fill of {row.boosted_name}"
    return _change_of(row)


def _change_of(row: VolumeChange) -> str:
    if row.boosted_id and not row.source_pool:
        return row.claim_name
    if row.kind == ChangeKind.THROUGHPUT:
        return f"{row.claim_name} to {throughput(row.wanted_mibps)}"
    pool = row.target_pool or row.wanted_pool
    return f"{row.claim_name} to {row.wanted_level}" + (f" (pool {pool})" if pool else "")


def waiting(rows: Sequence[VolumeChange]) -> tuple[Markup, ...]:
    """Lines of the changes that wait for a decision."""
    return tuple(
        join(code(row.number), plain(f" {row.team}: {change_of(row)}, requested by "),
             person(row.person), " ", when(row.asked_at))
        for row in rows
    )  # fmt: skip


def approved(session: Session, row: VolumeChange, deciders: Sequence[str], now: datetime) -> None:
    """Replies who approved it, by name, so that the approvers are not notified."""
    by = " and ".join(name_of(session, row.workspace_id, each) for each in deciders)
    said = join(person(row.person), plain(f" Approved by {by}."))
    _say(session, row, f"approved-{now.isoformat()}", [said], now)


def took_effect(session: Session, row: VolumeChange, now: datetime) -> None:
    """Replies that the change is active, and until when; for a boost the fill's card shows it."""
    if row.boosted_id:
        return
    until = row.not_before or row.ends_at or now
    said = [join(person(row.person), " ", _is_so(row), ", until ", when(until), ".")]
    _say(session, row, "effect", said + _remains(row), now)


def kept(session: Session, row: VolumeChange, now: datetime) -> None:
    """Replies that the change is kept after its end, for what and how long; not for boosts."""
    if row.boosted_id:
        return
    until = row.kept_until or now
    line = join(person(row.person), " ", code(row.claim_name), " stays as it is for ",
                sentence(row.kept_for), ". It is reverted after that, ", when(until),
                " at the latest.")  # fmt: skip
    _say(session, row, "kept", [line], now)


def not_returned(session: Session, row: VolumeChange, now: datetime) -> None:
    """Replies once that the change cannot be reverted yet; the card shows the rest."""
    line = join(person(row.person), " ", code(row.claim_name), " cannot be reverted yet. ",
                sentence(row.trouble), " Retrying every hour.")  # fmt: skip
    _say(session, row, "not-returned", [line], now)


def ended(session: Session, row: VolumeChange, now: datetime) -> None:
    """Replies how it ended, except for boosts that ended as requested."""
    if (
        row.boosted_id
        and row.phase in {ChangePhase.RETURNED, ChangePhase.WITHDRAWN}
        and not row.remains
    ):
        return
    line = join(person(row.person), " ", _end(row))
    hint = [sentence(row.hint)] if row.hint else []
    _say(session, row, "ended", [line, *hint, *_remains(row)], now)


def _end(row: VolumeChange) -> Markup:
    what = plain(change_of(row))
    match row.phase:
        case ChangePhase.DONE:
            return join(_is_so(row), ".")
        case ChangePhase.RETURNED:
            return join(code(row.claim_name), plain(f" was reverted to {_origin(row)}."))
        case ChangePhase.DENIED:
            return join("Denied: ", what, ". Nothing was changed.")
        case ChangePhase.EXPIRED:
            return join("Not decided in time: ", what, ". Nothing was changed.")
        case ChangePhase.WITHDRAWN:
            return join("Withdrawn: ", what, ". Nothing was changed.")
        case ChangePhase.REFUSED:
            return join("Rejected: ", what, ". ", sentence(row.outcome),
                        " Nothing was changed.")  # fmt: skip
        case _:
            return join("Failed: ", what, ". ", sentence(row.outcome))


def _is_so(row: VolumeChange) -> Markup:
    if row.kind == ChangeKind.THROUGHPUT:
        return join(code(row.claim_name), plain(f" has {throughput(row.wanted_mibps)}"))
    told = throughput(row.mibps_seen if row.mibps_seen is not None else row.mibps_after)
    where = f" is on {row.target_level}, in pool {row.target_pool}: {told}"
    return join(code(row.claim_name), plain(where))


def where_it_is(row: VolumeChange) -> str:
    """What a change sets: `200 MiB/s`, or `Premium`."""
    return throughput(row.wanted_mibps) if row.kind == ChangeKind.THROUGHPUT else row.target_level


def _origin(row: VolumeChange) -> str:
    if row.kind == ChangeKind.THROUGHPUT:
        return throughput(row.mibps_before)
    return f"{row.source_level}, in pool {row.source_pool}"


def _remains(row: VolumeChange) -> list[Markup]:
    return [sentence(row.remains)] if row.remains else []


def _say(
    session: Session, row: VolumeChange, purpose: str, lines: Sequence[Markup], now: datetime
) -> None:
    note = ThreadMessage(purpose, tuple(lines), owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
