"""Notifies people once when the GPUs that they wait for are free."""

from datetime import datetime

from sqlmodel import Session
from typing_extensions import override

from bot.gpus.waits import notices
from bot.gpus.waits.decide import Decision, Expire, Notify, WaitObserved, decide
from bot.gpus.waits.free import FreeGpuReader
from bot.gpus.waits.tables import WAIT, GpuWait, WaitPhase
from bot.people.access import Access
from bot.reconcile.controller import Trouble
from bot.reconcile.frame import ControllerContext, Findings, Reconciler


class GpuWaitController(Reconciler[GpuWait, WaitObserved, Decision]):
    """Compares each wait with what is free for its team; it asks the cluster nothing."""

    kind = WAIT
    table = GpuWait
    phases = WaitPhase

    def __init__(self, context: ControllerContext, access: Access, reader: FreeGpuReader) -> None:
        super().__init__(context)
        self._access = access
        self._reader = reader

    @override
    def observe(self, row: GpuWait, now: datetime) -> WaitObserved:
        return self._context.database.read(lambda session: self._observed(session, row))

    @override
    def decide(self, row: GpuWait, observed: WaitObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: GpuWait, observed: WaitObserved, decision: Decision) -> Decision:
        return decision

    @override
    def record(
        self, session: Session, row: GpuWait, found: Findings[Decision, WaitObserved]
    ) -> None:
        current = session.get(GpuWait, row.id)
        if current is None or current.is_cleared:
            return
        format_command, now = self._context.format_command, found.now
        match found.decision:
            case Notify(free):
                current.phase = WaitPhase.FREE
                notices.free(session, current, free, format_command, now)
            case Expire():
                if current.until > now:
                    return  # It was asked for again in the meantime.
                current.phase = WaitPhase.EXPIRED
                notices.expired(session, current, format_command, now)
            case _:
                current.phase = WaitPhase.REVOKED
        current.ended_at = now
        session.add(current)

    @override
    def next_look(self, row: GpuWait, found: Findings[Decision, WaitObserved]) -> datetime | None:
        return None

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Does nothing: the step is retried, and the message is late."""

    def _observed(self, session: Session, row: GpuWait) -> WaitObserved:
        if not self._access.may_read(session, row.person, row.team):
            return WaitObserved(may_act=False, free=None)
        team = self._context.settings().teams[row.team]
        is_reached = row.cluster in team.reach
        free = self._reader.free(session, team.on(row.cluster)) if is_reached else None
        return WaitObserved(may_act=True, free=free)
