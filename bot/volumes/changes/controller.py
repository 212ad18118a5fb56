"""The controller of changes: plans them, applies them when approved, reverts them in time."""

from datetime import datetime

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalPhase
from bot.approvals.context import ApprovalContext
from bot.errors import StorageError
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.frame import ControllerContext
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes import holds, notices
from bot.volumes.changes import record as recording
from bot.volumes.changes.acts import (
    Act,
    Grow,
    Move,
    Shrink,
    State,
    TellTrident,
    Throttle,
    acts,
    state_of_move,
    state_of_pool,
    state_of_throughput,
)
from bot.volumes.changes.beginning import Beginning, ChangeObserved
from bot.volumes.changes.decide import SOON, CheckAgain, Send, follow, proceed, refused, unread
from bot.volumes.changes.decide import Decision as Next
from bot.volumes.changes.tables import CHANGE, ChangePhase, VolumeChange
from bot.volumes.changes.trident import record_of, state_of_telling
from bot.volumes.controller import VolumeController
from bot.volumes.deadline import Deadline
from bot.volumes.matching import named_by, refuse_unread
from bot.volumes.operations import Operations, Progress
from bot.volumes.repairs.tables import Repair

_MISSING = 404
_DEADLINE_SECONDS = 20.0  # a step has 30 s, and Trident is asked in it, too
_ENDS = {
    ApprovalPhase.DENIED: ChangePhase.DENIED,
    ApprovalPhase.EXPIRED: ChangePhase.EXPIRED,
    ApprovalPhase.VOIDED: ChangePhase.REFUSED,
}


class VolumeChangeController(VolumeController[VolumeChange]):
    """Reconciles changes of volumes; a step makes at most one request that changes Azure."""

    kind = CHANGE
    table = VolumeChange

    def __init__(
        self, context: ControllerContext, approvals: ApprovalContext, files: NetAppFiles
    ) -> None:
        super().__init__(context, approvals, files)
        self._operations = Operations(files)
        self._beginning = Beginning(context.settings, approvals.access, approvals.approvals)

    @override
    def reconcile(self, row: VolumeChange, now: datetime) -> Step:
        """Takes the next step of a change."""
        if row.boosted_id and self._is_in_vain(row, now):
            return Step(now, lambda session: self._beginning.give_up(session, row.id, now))
        match row.phase:
            case ChangePhase.CHECKING:
                return self._check(row, now)
            case ChangePhase.ASKED:
                return self._decided(row, now)
            case ChangePhase.APPROVED | ChangePhase.HELD:
                return self._wait(row, now)
            case ChangePhase.WORKING:
                return self._work(row, now)
            case _:
                return Step(None)

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        row = session.get(VolumeChange, row_id)
        if row is not None and row.is_live and trouble.is_lasting:
            row.trouble = trouble.sentence
            notices.refresh(session, row, live=True)

    def _is_in_vain(self, row: VolumeChange, now: datetime) -> bool:
        """Whether the fill of a boost has ended before the boost started."""
        if row.phase not in {ChangePhase.CHECKING, ChangePhase.ASKED, ChangePhase.APPROVED}:
            return False
        return not self._context.database.read(lambda session: holds.kept(session, row, now))

    def _check(self, row: VolumeChange, now: datetime) -> Step:
        """Reads the current state, records the plan and requests approval if needed."""
        volume = self._beginning.volume_of(row, self._context.clusters)
        estate = self._files.estate(Deadline(_DEADLINE_SECONDS))
        named = named_by(volume) if volume is not None else None
        if named is not None:
            refuse_unread(named, estate)
        record = record_of(self._context.clusters.get(row.cluster), self._files.configured, volume)
        seen = ChangeObserved(volume, estate, record)
        return Step(now + SOON, lambda session: self._beginning.record(session, row.id, seen, now))

    def _decided(self, row: VolumeChange, now: datetime) -> Step:
        """Uses an approval, after reading the current approvers."""
        approval = self._approvals.decided(CHANGE, row.id)
        if approval is None:
            return Step(None)
        phase = _ENDS.get(ApprovalPhase(approval.phase))
        if phase is not None:
            note = approval.note
            return Step(
                None, lambda session: recording.not_begun(session, row.id, phase, note, now)
            )
        return Step(now, lambda session: self._beginning.spend(session, row.id, now))

    def _wait(self, row: VolumeChange, now: datetime) -> Step:
        """Begins an approved change when its pools are free; reverts one when it is due."""
        moment = recording.due_at(row, self._context.settings(), now)
        if moment > now:
            return Step(moment, lambda session: recording.wait_until(session, row.id, moment))
        settings, beginning = self._context.settings(), self._beginning
        if row.phase == ChangePhase.APPROVED and row.trouble:
            # It has waited, and who approved it may have lost the right meanwhile.
            approval = self._approvals.request(CHANGE, row.id)
            if approval is not None:
                self._approvals.read_deciders(approval)
        return Step(
            now + recording.PATIENCE,
            lambda session: beginning.set_out(session, row.id, settings, now),
        )

    def _work(self, row: VolumeChange, now: datetime) -> Step:
        if row.not_before is not None and now < row.not_before:
            return Step(row.not_before)
        way = acts(row)
        if row.position >= len(way):
            return Step(
                now,
                lambda session: recording.arrive(session, row.id, self._context.settings(), now),
            )
        act = way[row.position]
        following = self._next(row, act, now)
        sent = ""
        if isinstance(following, Send):
            sent, following = self._send(row, act, following, now)
        again = following.until if isinstance(following, CheckAgain) else now
        outcome = recording.Outcome(act, following, sent, now, self._files.configured)
        return Step(again, lambda session: recording.record(session, row, outcome))

    def _next(self, row: VolumeChange, act: Act, now: datetime) -> Next:
        """The next decision, from one read from Azure."""
        try:
            if row.operation and not row.is_confirming:
                return follow(row, self._progress(row.operation), now)
            return proceed(row, self._state(row, act), now)
        except StorageError as error:
            return unread(error, now)

    def _progress(self, address: str) -> Progress | None:
        try:
            return self._operations.progress(address)
        except StorageError as error:
            if error.status == _MISSING:
                return None
            raise

    def _state(self, row: VolumeChange, act: Act) -> State:
        files = self._files
        match act:
            case Grow(name) | Shrink(name):
                place = row.pool(name)
                pool = files.pool(place)
                is_counted = pool is not None and not row.is_begun
                return state_of_pool(row, act, pool, files.volumes(place) if is_counted else ())
            case Move(source, target):
                there = files.volume(row.volume(target))
                here = None if there is not None else files.volume(row.volume(source))
                return state_of_move(row, act, there, here)
            case Throttle(name):
                return state_of_throughput(row, act, files.volume(row.volume(name)))
            case TellTrident():
                return state_of_telling(self._repair(row))

    def _repair(self, row: VolumeChange) -> Repair | None:
        if row.repair_id is None:
            return None
        return self._context.database.read(lambda session: session.get(Repair, row.repair_id))

    def _send(self, row: VolumeChange, act: Act, send: Send, now: datetime) -> tuple[str, Next]:
        """Requests the act from Azure; returns the operation's URL, or what a refusal leads to."""
        try:
            return self._begin(row, act, send), send
        except StorageError as error:
            return "", refused(row, error, now)

    def _begin(self, row: VolumeChange, act: Act, send: Send) -> str:
        match act:
            case Grow(name) | Shrink(name):
                return self._operations.resize(row.pool(name), send.size_bytes or 0)
            case Move(source, _, target_id):
                return self._operations.move(row.volume(source), target_id)
            case Throttle(name, mibps):
                return self._operations.set_throughput(row.volume(name), mibps)
            case TellTrident():
                return ""
