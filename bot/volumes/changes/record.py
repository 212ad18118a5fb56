"""Records the progress of a change in its row, and posts replies."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, or_, select

from bot.audit import Actor
from bot.audit import record as record_audit
from bot.config import Anf, AnfChanges, Settings
from bot.reconcile.due import wake
from bot.volumes.changes import notices
from bot.volumes.changes.acts import Act, Grow, Move, Shrink, TellTrident
from bot.volumes.changes.decide import (
    LATE,
    Advance,
    CheckAgain,
    Confirm,
    Fail,
    Forget,
    Prepare,
    Send,
)
from bot.volumes.changes.decide import Decision as Next
from bot.volumes.changes.holds import keep
from bot.volumes.changes.plan import goes_down, may_go_down
from bot.volumes.changes.tables import (
    CHANGE,
    LANE,
    ChangeKind,
    ChangePhase,
    Direction,
    IdChange,
    VolumeChange,
)
from bot.volumes.changes.trident import note_move, tell

# How long until it is checked again whether pools are free.
PATIENCE = timedelta(seconds=30)
_RETRY_RETURN = timedelta(hours=1)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step: the act, the decision, and the URL of an operation that began."""

    act: Act
    following: Next
    sent: str
    now: datetime
    anf: Anf


def record(session: Session, seen: VolumeChange, outcome: Outcome) -> None:
    """Updates the row, unless it has moved on since it was `seen`."""
    row = session.get(VolumeChange, seen.id)
    if row is None or (row.phase, row.direction, row.position) != (
        ChangePhase.WORKING,
        seen.direction,
        seen.position,
    ):
        return
    _follow(session, row, outcome)
    row.is_late = row.is_live and outcome.now - row.since > LATE
    session.add(row)
    notices.refresh(session, row, live=row.is_live)


def _follow(session: Session, row: VolumeChange, outcome: Outcome) -> None:
    now = outcome.now
    row.trouble, row.not_before = "", None
    match outcome.following:
        case Advance(remains, mibps):
            row.mibps_seen = mibps if row.direction == Direction.THERE and mibps else row.mibps_seen
            _advance(session, row, outcome.act, remains, now)
        case Prepare(size_bytes, size_now):
            _prepare(session, row, outcome, size_bytes, size_now)
        case Send():
            row.operation, row.begun_at, row.tries = outcome.sent, now, row.tries + 1
        case Confirm():
            row.operation, row.begun_at, row.is_confirming = "", now, True
        case Forget():
            row.operation = ""
        case CheckAgain(_, why):
            row.trouble = why
        case Fail(why, hint):
            _fail(session, row, outcome.act, why, hint, now)


def arrive(session: Session, row_id: str, settings: Settings, now: datetime) -> None:
    """All acts of this direction are done: the change is active, or has ended."""
    row = session.get(VolumeChange, row_id)
    if row is None or row.phase != ChangePhase.WORKING:
        return
    match row.direction:
        case Direction.THERE if row.duration_seconds is not None:
            row.phase, row.since = ChangePhase.HELD, now
            row.ends_at = now + timedelta(seconds=row.duration_seconds)
            row.not_before = due_at(row, settings, now)
            notices.took_effect(session, row, now)
        case Direction.THERE:
            end(session, row, ChangePhase.DONE, now)
        case Direction.BACK:
            end(session, row, ChangePhase.RETURNED, now)
        case _:
            end(session, row, ChangePhase.FAILED, now)
    _free_others(session, row, now)
    notices.refresh(session, row, live=row.is_live)


def not_begun(session: Session, row_id: str, phase: ChangePhase, why: str, now: datetime) -> None:
    """Ends a change before anything was changed."""
    row = session.get(VolumeChange, row_id)
    if row is not None and row.phase in {
        ChangePhase.CHECKING,
        ChangePhase.ASKED,
        ChangePhase.APPROVED,
    }:
        row.outcome = why
        end(session, row, phase, now)


def end(session: Session, row: VolumeChange, phase: ChangePhase, now: datetime) -> None:
    """Ends a change, and notifies the requester."""
    row.phase, row.ended_at, row.since = phase, now, now
    row.trouble, row.is_late = "", False
    session.add(row)
    actor = Actor(row.workspace_id, None, row.channel, row.team)
    facts = {"pvc": row.claim_name, "end": phase.value}
    record_audit(session, actor, "anf.end", (CHANGE, row.id), facts, at=now)
    notices.ended(session, row, now)
    notices.refresh(session, row, live=False)


def due_at(row: VolumeChange, settings: Settings, now: datetime) -> datetime:
    """When the next direction begins: now, or at its end, or later if Azure requires a wait."""
    if row.phase == ChangePhase.APPROVED or row.ends_at is None:
        return now
    is_down = row.kind == ChangeKind.LEVEL and goes_down(row.target_level, row.source_level)
    earliest = may_go_down(row.went_up_at, _rules(settings)) if is_down else None
    wanted = now if row.returned_by else row.ends_at
    return max(wanted, earliest or wanted)


def _rules(settings: Settings) -> AnfChanges:
    return (settings.anf.changes if settings.anf is not None else None) or AnfChanges()


def wait_until(session: Session, row_id: str, moment: datetime) -> None:
    """Records when it will be reverted, if that is later than requested."""
    row = session.get(VolumeChange, row_id)
    if row is not None and row.phase == ChangePhase.HELD and row.not_before != moment:
        row.not_before, row.trouble = moment, ""
        session.add(row)
        notices.refresh(session, row, live=False)


def set_out(session: Session, row_id: str, settings: Settings, now: datetime) -> None:
    """Begins the next direction, unless another change uses its pools or the change is kept."""
    row = session.get(VolumeChange, row_id)
    if row is None or row.phase not in {ChangePhase.APPROVED, ChangePhase.HELD}:
        return
    if row.phase == ChangePhase.HELD:
        _keep(session, row, _rules(settings).longest, now)
    if row.kept_for:
        row.trouble, row.not_before = "", None
    else:
        row.trouble = _in_the_way(session, row)
    if not row.kept_for and not row.trouble:
        row.direction = Direction.THERE if row.phase == ChangePhase.APPROVED else Direction.BACK
        row.phase, row.since, row.not_before, row.position = ChangePhase.WORKING, now, None, 0
        _rest_act(row)
        wake(session, CHANGE, row.id, LANE, now)
    session.add(row)
    notices.refresh(session, row, live=True)


def _keep(session: Session, row: VolumeChange, longest: timedelta, now: datetime) -> None:
    """Records what keeps the change, unless a person has requested the revert."""
    is_told = bool(row.kept_for)
    row.kept_for = "" if row.returned_by else keep(session, row, longest, now)
    if row.kept_for and not is_told:
        notices.kept(session, row, now)


def _in_the_way(session: Session, row: VolumeChange) -> str:
    mine = [row.source_pool, row.target_pool]
    working = session.scalars(
        select(VolumeChange).where(
            col(VolumeChange.phase) == ChangePhase.WORKING,
            col(VolumeChange.id) != row.id,
            col(VolumeChange.account) == row.account,
            col(VolumeChange.resource_group) == row.resource_group,
            or_(col(VolumeChange.source_pool).in_(mine), col(VolumeChange.target_pool).in_(mine)),
        )
    )
    other = next((each for each in working if each.subscription == row.subscription), None)
    return "" if other is None else f"Change {other.number} is using the same pool."


def _advance(session: Session, row: VolumeChange, act: Act, remains: str, now: datetime) -> None:
    """Records that an act is done, and begins the next one."""
    _remain(row, remains)
    match act:
        case Move() if not remains:
            levels = (row.source_level, row.target_level)
            before, after = levels if row.direction == Direction.THERE else levels[::-1]
            row.went_up_at = now if goes_down(after, before) else row.went_up_at
            row.repair_id = None
            if row.is_trident:
                note_move(session, row, row.ids(is_back=row.direction == Direction.BACK), now)
        case Shrink() if row.direction != Direction.THERE and not remains:
            row.grown_from = None
        case Grow() if row.direction == Direction.BACK:
            row.shrunk_from = None
        case _:
            pass
    row.position, row.since = row.position + 1, now
    _rest_act(row)
    wake(session, CHANGE, row.id, LANE, now)


def _prepare(
    session: Session,
    row: VolumeChange,
    outcome: Outcome,
    size_bytes: int | None,
    size_now: int | None,
) -> None:
    row.is_begun, row.resize_to = True, size_bytes
    match outcome.act:
        case Grow() if row.direction == Direction.THERE:
            row.grown_from = size_now
        case Shrink() if row.direction == Direction.THERE:
            row.shrunk_from = size_now
        case TellTrident(ids):
            _tell(session, row, ids, outcome)
        case _:
            pass


def _tell(session: Session, row: VolumeChange, ids: IdChange, outcome: Outcome) -> None:
    row.repair_id = tell(session, row, ids, outcome.anf, outcome.now) or None
    if row.repair_id is None:
        row.is_begun, row.not_before = False, outcome.now + PATIENCE
        row.trouble = "Another repair of Trident's record of this volume is in progress."


def _fail(
    session: Session, row: VolumeChange, act: Act, why: str, hint: str, now: datetime
) -> None:
    """Handles a failed act: undoes the change, retries the revert, or records what remains."""
    _rest_act(row)
    if isinstance(act, TellTrident):
        _advance(session, row, act, f"Trident's record was not updated. {why} {hint}", now)
    elif isinstance(act, Shrink):
        if row.direction == Direction.THERE:
            row.shrunk_from = None
        _advance(session, row, act, f"Pool {act.pool} was not shrunk. {why}", now)
    elif row.direction == Direction.BACK:
        row.trouble, row.not_before, row.since = why, now + _RETRY_RETURN, now
        notices.not_returned(session, row, now)
    else:
        row.outcome, row.hint = why, hint
        row.direction, row.position, row.since = Direction.UNDO, 0, now


def _remain(row: VolumeChange, remains: str) -> None:
    if remains:
        row.remains = f"{row.remains} {remains}".strip()


def _rest_act(row: VolumeChange) -> None:
    """Resets the fields of the current act."""
    row.is_begun, row.is_confirming, row.operation = False, False, ""
    row.tries, row.begun_at, row.resize_to = 0, None, None


def _free_others(session: Session, row: VolumeChange, now: datetime) -> None:
    """Wakes the changes that wait for its pools."""
    waiting = session.scalars(
        select(VolumeChange).where(
            col(VolumeChange.phase).in_((ChangePhase.APPROVED, ChangePhase.HELD)),
            col(VolumeChange.account) == row.account,
            col(VolumeChange.trouble) != "",
        )
    )
    for each in waiting:
        wake(session, CHANGE, each.id, LANE, now)
