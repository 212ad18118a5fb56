"""The controller of resizes: awaits approval, patches the PVC, and follows its expansion."""

from datetime import datetime
from decimal import Decimal

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalPhase
from bot.approvals.context import ApprovalContext
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, STORAGE_CLASSES
from bot.cluster.types.quantities import format_quantity
from bot.errors import ClusterError
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, slower
from bot.snapshots.resizes.decide import (
    Approved,
    Decision,
    EndResize,
    Patch,
    ResizeObserved,
    decide,
)
from bot.snapshots.resizes.plan import hindrance
from bot.snapshots.resizes.record import Recorder, ResizeFindings
from bot.snapshots.resizes.tables import RESIZE, Resize, ResizePhase

_NO_LEAVE = {"Forbidden", "OverQuota"}


class ResizeController(Reconciler[Resize, ResizeObserved, Decision]):
    """Reconciles resizes."""

    kind = RESIZE
    table, phases = Resize, ResizePhase

    def __init__(self, context: ControllerContext, approvals: ApprovalContext) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._recorder = Recorder(approvals.approvals)

    @override
    def observe(self, row: Resize, now: datetime) -> ResizeObserved:
        phase, note = ApprovalPhase.USED, ""
        if row.phase == ResizePhase.ASKED:
            approval = self._approvals.request(RESIZE, row.id)
            phase = ApprovalPhase(approval.phase) if approval else ApprovalPhase.VOIDED
            note = approval.note if approval else "Its approval request is void."
            if approval is None or phase != ApprovalPhase.APPROVED:
                return ResizeObserved(phase, note)
            self._approvals.read_deciders(approval)
        cluster = self._context.cluster(row.cluster, "its PVCs have grown")
        claim = cluster.get(PVCS, row.claim_name, row.namespace)
        if claim is None or claim.uid != row.claim_uid:
            return ResizeObserved(phase, note)
        kind = cluster.view.get(STORAGE_CLASSES, claim.spec.storage_class_name or "")
        return ResizeObserved(phase, note, claim, hindrance(claim, kind, row.size_bytes))

    @override
    def decide(self, row: Resize, observed: ResizeObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: Resize, observed: ResizeObserved, decision: Decision) -> Decision:
        if not isinstance(decision, Patch):
            return decision
        cluster = self._context.cluster(row.cluster, "its PVCs have grown")
        return _patched(cluster, row, decision)

    @override
    def record(self, session: Session, row: Resize, found: ResizeFindings) -> None:
        self._recorder.record(session, row.id, row.phase, found)

    @override
    def next_look(self, row: Resize, found: ResizeFindings) -> datetime | None:
        match found.decision:
            case EndResize():
                return None
            case UpdateStatus(phase) if phase == row.phase:
                return slower(row.since, found.now)
            case Approved() | Patch() | UpdateStatus():
                return found.now + SOON
            case _:
                return None


def _patched(cluster: Cluster, row: Resize, decision: Patch) -> Decision:
    """Requests the size; a PVC that has changed since it was read is looked at again."""
    wanted = {"storage": format_quantity(Decimal(row.size_bytes), binary=True)}
    body = {
        "metadata": {"resourceVersion": decision.resource_version},
        "spec": {"resources": {"requests": wanted}},
    }
    try:
        cluster.patch_merge(PVCS, row.claim_name, body, row.namespace)
    except ClusterError as error:
        if error.reason in {"Conflict", "NotFound"}:
            return decision
        if error.reason == "OverQuota":
            said = f"The namespace's ResourceQuota does not allow it. {error.message}"
            return EndResize(ResizePhase.FAILED, said, _QUOTA)
        if error.is_final or error.reason in _NO_LEAVE:
            return EndResize(ResizePhase.FAILED, error.message, error.hint)
        raise
    return UpdateStatus(ResizePhase.GROWING)


_QUOTA = "Ask for less, or ask a platform admin for more storage in that quota."
