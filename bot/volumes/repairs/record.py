"""Records the outcome of a step of a repair in its row, and posts replies."""

from datetime import datetime

from sqlmodel import Session, col, or_, select

from bot.audit import Actor
from bot.audit import record as record_audit
from bot.reconcile.due import wake
from bot.slack.markup import Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.volumes.repairs.decide import NOTHING, CheckAgain, Decision, Enter, Fail
from bot.volumes.repairs.tables import REPAIR, Repair, RepairPhase
from bot.volumes.tables import MovedVolume

_ENDS = {
    RepairPhase.DONE,
    RepairPhase.FAILED,
    RepairPhase.DENIED,
    RepairPhase.EXPIRED,
    RepairPhase.WITHDRAWN,
}


def record(session: Session, seen: Repair, move: Decision, now: datetime) -> None:
    """Updates the row, unless its phase has changed since it was `seen`."""
    row = session.get(Repair, seen.id)
    if row is None or not row.is_live or row.phase != seen.phase:
        return
    row.trouble = ""
    match move:
        case Enter(phase):
            _enter(session, row, phase, now)
        case Fail(reason, stands, unblock):
            row.reason, row.stands, row.unblock = reason, stands, unblock
            _enter(session, row, RepairPhase.FAILED, now)
        case CheckAgain() | _:
            pass
    session.add(row)
    refresh_cards(session, row.subject, live=row.ended_at is None)


def _enter(session: Session, row: Repair, phase: RepairPhase, now: datetime) -> None:
    row.phase, row.since = phase, now
    match phase:
        case RepairPhase.RESTARTING:
            row.rounds += 1
            row.restart_at = now
        case RepairPhase.DONE:
            _mend(session, row, now)
        case _:
            pass
    if phase in _ENDS:
        _end(session, row, now)


def _mend(session: Session, row: Repair, now: datetime) -> None:
    """Records that Trident has the new id, of the volume and of PVs that share it."""
    names = (col(MovedVolume.volume_name), col(MovedVolume.source))
    mine = or_(*(name == row.volume_name for name in names))
    known = select(MovedVolume).where(col(MovedVolume.cluster) == row.cluster, mine)
    for each in session.exec(known):
        each.current_id = each.recorded_id = row.new_id
        each.is_stale, each.unread, each.seen_at = False, "", now
        session.add(each)


def _end(session: Session, row: Repair, now: datetime) -> None:
    row.ended_at = now
    actor = Actor(row.workspace_id, team=row.team)
    facts = {"pvc": row.claim_name, "outcome": row.phase}
    facts |= {"reason": row.reason, "stands": row.stands} if row.reason else {}
    record_audit(session, actor, "anf.repair_ended", (REPAIR, row.id), facts, at=now)
    note = ThreadMessage("ended", _said(row), owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
    if row.then_kind:
        wake(session, row.then_kind, row.then_id, row.then_lane, now)


def _said(row: Repair) -> tuple[Markup, ...]:
    name = code(row.claim_name)
    match row.phase:
        case RepairPhase.DONE:
            words = join("Trident's record of ", name, " is repaired.")
        case RepairPhase.DENIED:
            words = join("The repair of ", name, plain(f" was denied. {NOTHING}"))
        case RepairPhase.EXPIRED:
            words = join("The repair of ", name, plain(f" was not decided in time. {NOTHING}"))
        case RepairPhase.WITHDRAWN:
            words = join("The repair of ", name, plain(f" was withdrawn. {NOTHING}"))
        case _:
            words = join("The repair of ", name, " failed. ", sentence(row.reason))
    more = (sentence(row.stands), sentence(row.unblock)) if row.phase == RepairPhase.FAILED else ()
    return (join(person(row.person), " ", words), *(each for each in more if each))
