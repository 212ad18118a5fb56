"""The controller of copies: awaits approval, creates what the Job needs, follows it, cleans up."""

from datetime import datetime
from functools import partial
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalPhase
from bot.approvals.context import ApprovalContext
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS, SNAPSHOTS, Resource
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.datasets.job import Manifest
from bot.reconcile.decisions import Delete, Done, UpdateStatus
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, create_once, slower
from bot.reconcile.labelled import LabelledObjects
from bot.slack.messages import refresh_interval
from bot.snapshots.copies.decide import (
    ADMIN,
    CopyObserved,
    Decision,
    EndCopy,
    Make,
    Part,
    Remove,
    Start,
    decide,
)
from bot.snapshots.copies.job import copy_job, restored_of, snapshot_of, target_of
from bot.snapshots.copies.observe import observe
from bot.snapshots.copies.record import CopyFindings, CopyRecorder
from bot.snapshots.copies.service import image_of
from bot.snapshots.copies.tables import COPY, Copy, CopyPhase

copy_changes = partial(
    LabelledObjects, kind=COPY, label=labels.PVC_COPY, resources=(JOBS, PVCS, SNAPSHOTS)
)
"""Maps changed Jobs, PVCs and snapshots of copies to their rows, by our label."""
_HOPELESS = {"Forbidden", "OverQuota"}
_UNTIL = "its PVCs are copied"
_RESOURCES: dict[Part, Resource[Any]] = {
    Part.TARGET: PVCS,
    Part.SNAPSHOT: SNAPSHOTS,
    Part.RESTORED: PVCS,
}


class CopyController(Reconciler[Copy, CopyObserved, Decision]):
    """Reconciles copies."""

    kind = COPY
    table, phases = Copy, CopyPhase

    def __init__(self, context: ControllerContext, approvals: ApprovalContext) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._recorder = CopyRecorder(approvals.approvals, context.format_command)

    @override
    def observe(self, row: Copy, now: datetime) -> CopyObserved:
        phase, note = ApprovalPhase.USED, ""
        if row.phase == CopyPhase.ASKED:
            approval = self._approvals.request(COPY, row.id)
            phase = ApprovalPhase(approval.phase) if approval else ApprovalPhase.VOIDED
            note = approval.note if approval else "Its approval request is void."
            if approval is None or phase != ApprovalPhase.APPROVED:
                return CopyObserved(phase, note)
            self._approvals.read_deciders(approval)
        return observe(self._cluster(row), row, phase, note)

    @override
    def decide(self, row: Copy, observed: CopyObserved, now: datetime) -> Decision:
        return decide(row, observed, now, self._context.settings().snapshots)

    @override
    def act(self, row: Copy, observed: CopyObserved, decision: Decision) -> Decision:
        cluster = self._cluster(row)
        match decision:
            case Make(part):
                body = _body(part, row, observed.snapshot, cluster.installation)
                return _created(cluster, _RESOURCES[part], body, row) or decision
            case Start(node):
                settings = self._context.settings()
                image = image_of(settings)
                if image is None:
                    said = "Copies of PVCs are not set up here any more."
                    return EndCopy(CopyPhase.FAILED, said, ADMIN)
                body = copy_job(row, image, settings.pvcs.copies, node, cluster.installation)
                return _created(cluster, JOBS, body, row) or decision
            case Delete(uid):
                cluster.delete(JOBS, row.job_name, row.namespace, uid=uid)
            case Remove(part, uid):
                cluster.delete(_RESOURCES[part], row.job_name, row.namespace, uid=uid)
            case _:
                pass
        return decision

    @override
    def record(self, session: Session, row: Copy, found: CopyFindings) -> None:
        self._recorder.record(session, row.id, found)

    @override
    def next_look(self, row: Copy, found: CopyFindings) -> datetime | None:
        match found.decision:
            case Done():
                return None
            case UpdateStatus(CopyPhase.COPYING):
                every = self._context.database.read(refresh_interval)
                return found.now + every
            case UpdateStatus(phase) if phase == row.phase:
                return slower(row.since, found.now)
            case _:
                return found.now + SOON

    def _cluster(self, row: Copy) -> Cluster:
        return self._context.cluster(row.cluster, _UNTIL)


def _body(part: Part, row: Copy, snapshot: VolumeSnapshot | None, installation: str) -> Manifest:
    match part:
        case Part.TARGET:
            return target_of(row, installation)
        case Part.SNAPSHOT:
            return snapshot_of(row, installation)
        case Part.RESTORED:
            least = snapshot.status.restore_size if snapshot is not None else None
            return restored_of(row, int(least or 0), installation)


def _created(
    cluster: Cluster, resource: Resource[Any], body: Manifest, row: Copy
) -> EndCopy | None:
    """Creates an object; why the copy fails, if a repetition would be refused too."""
    error = create_once(cluster, resource, body, row.namespace, hopeless=_HOPELESS)
    if error is None:
        return None
    if error.reason == "OverQuota":
        said = f"The namespace's ResourceQuota does not allow {_named(resource)}. {error.message}"
        return EndCopy(CopyPhase.FAILED, said, _QUOTA)
    return EndCopy(CopyPhase.FAILED, error.message, error.hint)


def _named(resource: Resource[Any]) -> str:
    return {"PersistentVolumeClaim": "another PVC of that size"}.get(
        resource.kind, f"another {resource.kind}"
    )


_QUOTA = (
    "Ask for a smaller PVC with --size, delete PVCs that nothing needs (`/pvc unused`), or ask a"
    " platform admin for more storage in that quota."
)
