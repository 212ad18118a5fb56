"""The controller of reverts: clones first, requests the revert from Trident, cleans up."""

from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import Approval, ApprovalPhase
from bot.approvals.context import ApprovalContext
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, SNAPSHOT_ACTIONS
from bot.reconcile.decisions import Create, Delete, Done, UpdateStatus
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, create_once, slower
from bot.snapshots.examining import live
from bot.snapshots.objects import action_of, revert_name
from bot.snapshots.reverts.checks import hindrance
from bot.snapshots.reverts.decide import (
    Approved,
    Begin,
    Decision,
    End,
    Retry,
    RevertObserved,
    decide,
)
from bot.snapshots.reverts.record import Recorder, RevertFindings
from bot.snapshots.reverts.service import target_of
from bot.snapshots.tables import REVERT, Restore, RestorePhase, Revert, RevertPhase

# Watches report changes; this catches what they may have missed.
_RARELY = timedelta(hours=1)


class RevertController(Reconciler[Revert, RevertObserved, Decision]):
    """Reconciles reverts."""

    kind = REVERT
    table, phases = Revert, RevertPhase

    def __init__(self, context: ControllerContext, approvals: ApprovalContext) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._recorder = Recorder(approvals.approvals)

    @override
    def decide(self, row: Revert, observed: RevertObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: Revert, observed: RevertObserved, decision: Decision) -> Decision:
        match decision:
            case Create():
                cluster = self._cluster(row)
                body = action_of(row, cluster.installation)
                refusal = create_once(cluster, SNAPSHOT_ACTIONS, body, row.namespace)
                if refusal is not None:
                    return End(RevertPhase.FAILED, refusal.message, refusal.hint)
            case Delete(uid):
                name = revert_name(row)
                self._cluster(row).delete(SNAPSHOT_ACTIONS, name, row.namespace, uid=uid)
            case _:
                pass
        return decision

    @override
    def record(self, session: Session, row: Revert, found: RevertFindings) -> None:
        self._recorder.record(session, row.id, row.phase, found)

    @override
    def next_look(self, row: Revert, found: RevertFindings) -> datetime | None:
        now = found.now
        match found.decision:
            case Done():
                return None
            case UpdateStatus() | Retry() if row.is_live:
                return slower(row.since, now)
            case Approved() | Begin() | Create() | Delete() | End() | UpdateStatus():
                return now + SOON
            case _:
                return now + _RARELY

    @override
    def observe(self, row: Revert, now: datetime) -> RevertObserved:
        approval = self._approvals.request(REVERT, row.id)
        phase = ApprovalPhase(approval.phase) if approval is not None else ApprovalPhase.VOIDED
        if row.is_live and row.phase == RevertPhase.ASKED:
            if phase != ApprovalPhase.APPROVED or row.cancelled_by is not None:
                return RevertObserved(phase)
            return self._checked(row, approval, RevertObserved(phase))
        if row.is_live and row.phase == RevertPhase.SAVING:
            return self._of_clone(row, phase)
        cluster = self._cluster(row)
        action = cluster.get(SNAPSHOT_ACTIONS, revert_name(row), row.namespace)
        if action is None and row.is_live and row.uid is None and row.cancelled_by is None:
            return self._checked(row, approval, RevertObserved(phase))
        marks = {labels.REVERT: row.id, labels.INSTALLATION: cluster.installation}
        is_ours = action is not None and marks.items() <= action.labels.items()
        return RevertObserved(phase, action=action, is_taken=action is not None and not is_ours)

    def _checked(
        self, row: Revert, approval: Approval | None, look: RevertObserved
    ) -> RevertObserved:
        """The same, with what blocks it in the cluster, and whether its approval still holds."""
        if approval is not None:
            self._approvals.read_deciders(approval)
        stands = self._context.database.read(
            lambda session: (
                approval is not None and self._approvals.approvals.stands(session, approval)
            )
        )
        cluster = self._cluster(row)
        around = live(cluster, row.namespace, row.claim_name)
        pods = cluster.list(PODS, row.namespace)
        problem = hindrance(around, pods, target_of(row, self._context.format_command))
        return RevertObserved(look.approval, problem=problem, stands=stands)

    def _of_clone(self, row: Revert, phase: ApprovalPhase) -> RevertObserved:
        clone = self._context.database.read(
            lambda session: session.get(Restore, row.clone_id) if row.clone_id else None
        )
        if clone is None:
            return RevertObserved(phase)
        return RevertObserved(phase, clone=RestorePhase(clone.phase), because=clone.reason)

    def _cluster(self, row: Revert) -> Cluster:
        return self._context.cluster(row.cluster, "its snapshots are gone")
