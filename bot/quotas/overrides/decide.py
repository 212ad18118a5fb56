"""The course of an override, from the request to its end."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.approvals import Approval, ApprovalPhase
from bot.quotas.tables import Mode, Override, OverridePhase, QuotaAdjustment
from bot.reconcile.decisions import Wait


@dataclass(frozen=True)
class Begin:
    """It is approved: read the queues, use the approval, apply the first adjustment."""


@dataclass(frozen=True)
class Notice:
    """It ends soon: post what will be stopped then."""


@dataclass(frozen=True)
class Apply:
    """The next adjustment is to be applied, or withdrawn."""

    position: int
    on: bool


@dataclass(frozen=True)
class Become:
    """Enter the next phase."""

    phase: OverridePhase


Move = Wait | Begin | Notice | Apply | Become


@dataclass(frozen=True)
class State:
    """An override with what its next step depends on; `notice` is None where none is given."""

    row: Override
    approval: Approval | None
    adjustments: tuple[QuotaAdjustment, ...]
    notice: timedelta | None


def decide(state: State, now: datetime) -> Move:
    """What to do next with an override. Pure: no I/O."""
    row = state.row
    match row.phase:
        case OverridePhase.ASKED:
            return _when_asked(state)
        case OverridePhase.APPROVED:
            return Become(OverridePhase.ENDING) if _is_over(row, now) else _switch_on(state)
        case OverridePhase.ACTIVE:
            return _when_active(state, now)
        case OverridePhase.ENDING:
            return _switch_off(state)
        case _:
            return Wait()


def _when_asked(state: State) -> Move:
    if state.row.revoked_at:
        return Become(OverridePhase.REVOKED)
    match state.approval.phase if state.approval else ApprovalPhase.VOIDED:
        case ApprovalPhase.APPROVED:
            return Begin()
        case ApprovalPhase.DENIED:
            return Become(OverridePhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return Become(OverridePhase.EXPIRED)
        case ApprovalPhase.VOIDED:
            return Become(OverridePhase.FAILED)
        case _:
            return Wait()


def _when_active(state: State, now: datetime) -> Move:
    row = state.row
    if row.mode == Mode.BASE:
        return Become(OverridePhase.ENDED)
    if _is_over(row, now):
        return Become(OverridePhase.ENDING)
    if row.ends_at is None or state.notice is None or row.noticed_at:
        return Wait(row.ends_at)
    notice_at = row.ends_at - state.notice
    return Notice() if now >= notice_at else Wait(notice_at)


def _switch_on(state: State) -> Move:
    for adjustment in state.adjustments:
        if not adjustment.is_applied:
            return Apply(adjustment.position, on=True)
        if not adjustment.is_settled:
            return Wait(state.row.ends_at)
    return Become(OverridePhase.ACTIVE)


def _switch_off(state: State) -> Move:
    for adjustment in reversed(state.adjustments):
        if adjustment.is_applied:
            return Apply(adjustment.position, on=False)
        if not adjustment.is_settled:
            return Wait()
    return Become(OverridePhase.REVOKED if state.row.revoked_at else OverridePhase.ENDED)


def _is_over(row: Override, now: datetime) -> bool:
    return row.revoked_at is not None or (row.ends_at is not None and now >= row.ends_at)
