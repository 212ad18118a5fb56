"""Takes overrides from their request to their end, one change at a time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sqlalchemy import select
from sqlmodel import col
from typing_extensions import override

from bot.approvals import Approval
from bot.approvals.context import ApprovalContext
from bot.database.database import Session
from bot.errors import ConflictError
from bot.quotas import notices
from bot.quotas.engines.admission import Item
from bot.quotas.engines.engine import ZERO
from bot.quotas.engines.quota import BORROWING
from bot.quotas.engines.registry import Engines
from bot.quotas.managed.controller import engine_of
from bot.quotas.overrides.beginning import (
    QuotaReading,
    absorb,
    apply_first,
    digest_of,
    epochs,
    look_at,
    starts,
)
from bot.quotas.overrides.decide import Apply, Become, Begin, Move, Notice, State, decide
from bot.quotas.overrides.effect import above_quota
from bot.quotas.tables import (
    LIVE,
    OVERRIDE,
    QUOTA,
    ManagedQuota,
    Mode,
    Override,
    OverridePhase,
    QuotaAdjustment,
    subject_of,
)
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.decisions import Wait
from bot.reconcile.due import wake
from bot.reconcile.frame import ControllerContext, RowController
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards

_WORTH_SAYING = 3


class Stopping(Protocol):
    """Stops workloads that are above quota once an override has ended."""

    def stop_workloads(
        self, session: Session, items: Sequence[Item], why: str, now: datetime
    ) -> None:
        """Stops those of these that the bot manages; idempotent."""
        ...


class OverrideController(RowController[State]):
    """Starts overrides when approved, ends them in time, and notifies their requesters.

    A decision is made again in the transaction that carries it out: it changes rows alone.
    """

    kind = OVERRIDE
    table = Override

    def __init__(
        self,
        context: ControllerContext,
        approvals: ApprovalContext,
        engines: Engines,
        stopping: Stopping,
    ) -> None:
        super().__init__(context)
        self._deciding = approvals
        self._approvals = approvals.approvals
        self._engines = engines
        self._stopping = stopping

    @override
    def load(self, session: Session, row_id: str) -> State | None:
        return self._load(session, row_id)

    @override
    def reconcile(self, row: State, now: datetime) -> Step:
        """Makes the next change; only a start reads cluster and approvers first."""
        override_id = row.row.id
        move = decide(row, now)
        if isinstance(move, Wait):
            return Step(move.until)
        looks = self._looked_at(row) if isinstance(move, Begin) else ()

        def save(session: Session) -> None:
            fresh = self._load(session, override_id)
            if fresh is not None and decide(fresh, now) == move:
                self._make(session, fresh, move, looks, now)

        return Step(now, save)

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows an error on the card once it has occurred several times."""
        row = session.get(Override, row_id)
        if row is not None and trouble.attempts >= _WORTH_SAYING:
            row.trouble = trouble.sentence
            refresh_cards(session, subject_of(row), live=False)

    def _load(self, session: Session, row_id: str) -> State | None:
        row = session.get(Override, row_id)
        if row is None:
            return None
        quotas = self._context.settings().quotas
        adjustments = session.scalars(
            select(QuotaAdjustment)
            .where(col(QuotaAdjustment.override_id) == row_id)
            .order_by(col(QuotaAdjustment.position))
        ).all()
        approval = self._approvals.of(session, OVERRIDE, row_id)
        notice = quotas.stop_notice if quotas.after_end == "stop" else None
        return State(row, approval, tuple(adjustments), notice)

    def _looked_at(self, state: State) -> tuple[QuotaReading, ...]:
        """The quotas as they are now, after rereading the approvers."""
        row, approval = state.row, state.approval
        if approval is not None:
            self._deciding.read_deciders(approval)
        known = self._context.database.read(lambda session: epochs(session, row))
        return look_at(engine_of(self._engines, row.cluster).overrides, row, known)

    def _make(
        self,
        session: Session,
        state: State,
        move: Move,
        looks: tuple[QuotaReading, ...],
        now: datetime,
    ) -> None:
        row = state.row
        row.trouble = ""
        match move:
            case Wait():
                return
            case Begin():
                self._begin(session, state, looks, now)
            case Notice():
                row.noticed_at = now
                notices.ends_soon(session, row, self._above(session, state), now)
            case Apply(position, on):
                adjustment = state.adjustments[position]
                adjustment.is_applied, adjustment.is_settled = on, False
                wake(session, QUOTA, adjustment.quota_id, cluster_lane(row.cluster), now)
            case Become(phase):
                row.phase = phase
                self._became(session, state, now)
        refresh_cards(session, subject_of(row), live=False)

    def _begin(
        self, session: Session, state: State, looks: tuple[QuotaReading, ...], now: datetime
    ) -> None:
        row, approval = state.row, state.approval
        if approval is None:
            return
        try:
            adjustments = starts(session, row, looks, now)
        except ConflictError as error:
            row.note = error.message
            self._approvals.void(session, approval, error.message.rstrip("."), now)
            return
        if adjustments and self._approvals.use(session, approval, digest_of(row), now):
            apply_first(session, row, adjustments, now)
            notices.decided(session, row, self._deciders(session, approval), now)

    def _became(self, session: Session, state: State, now: datetime) -> None:
        row = state.row
        if row.phase not in LIVE:
            row.ended_at = now
            for adjustment in state.adjustments:
                wake(session, QUOTA, adjustment.quota_id, cluster_lane(row.cluster), now)
        match row.phase:
            case OverridePhase.DENIED | OverridePhase.EXPIRED | OverridePhase.FAILED:
                deciders = self._deciders(session, state.approval) if state.approval else ()
                notices.decided(session, row, deciders, now)
            case OverridePhase.ENDED if row.mode == Mode.BASE:
                absorb(session, state.adjustments)
                notices.is_set(session, row, now)
            case OverridePhase.ENDED | OverridePhase.REVOKED:
                self._end(session, state, now)
            case _:
                pass

    def _end(self, session: Session, state: State, now: datetime) -> None:
        above = self._above(session, state)
        stops = self._context.settings().quotas.after_end == "stop"
        if stops and above:
            why = f"the quota override of {state.row.team} has ended"
            self._stopping.stop_workloads(session, above, why, now)
        quota = (
            session.get_one(ManagedQuota, state.adjustments[-1].quota_id)
            if state.adjustments
            else None
        )
        ending = notices.Ending(quota.last_written if quota else None, above, stops)
        notices.ended(session, state.row, ending, now)

    def _above(self, session: Session, state: State) -> list[Item]:
        """The workloads above the quota that there is without this override."""
        row = state.row
        engine = self._engines.get(row.cluster, row.resource)
        if not state.adjustments or engine is None:
            return []
        adjustment, queues = state.adjustments[-1], engine.queues
        quota = session.get_one(ManagedQuota, adjustment.quota_id)
        allowed = (quota.last_written or ZERO) - (
            adjustment.delta if adjustment.is_applied else ZERO
        )
        if quota.field == BORROWING:
            queue = queues.named(row.queue)
            figures = queue.of(row.flavor) if queue else None
            allowed += figures.nominal if figures else ZERO
        return above_quota(queues, row.queue, row.flavor, allowed, adjustment.delta)

    def _deciders(self, session: Session, approval: Approval) -> tuple[str, ...]:
        return tuple(vote.person for vote in self._approvals.votes(session, approval))
