"""The controller of deletions: awaits the snapshot, looks again, deletes, and follows."""

from datetime import datetime

from sqlmodel import Session
from typing_extensions import override

from bot.cluster.resources import PODS, PVCS
from bot.errors import ClusterError
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, slower
from bot.snapshots.deletions.decide import (
    Decision,
    DeleteClaim,
    DeletionObserved,
    EndDeletion,
    Saved,
    decide,
)
from bot.snapshots.deletions.needing import RunsNeeding, mounted_by, needing
from bot.snapshots.deletions.record import DeletionFindings, record
from bot.snapshots.deletions.tables import DELETION, Deletion, DeletionPhase
from bot.snapshots.tables import Snapshot
from bot.volumes.records import ClaimPlace

_NO_LEAVE = {"Forbidden", "Denied"}


class DeletionController(Reconciler[Deletion, DeletionObserved, Decision]):
    """Reconciles deletions."""

    kind = DELETION
    table, phases = Deletion, DeletionPhase

    def __init__(self, context: ControllerContext, runs: RunsNeeding) -> None:
        super().__init__(context)
        self._runs = runs

    @override
    def observe(self, row: Deletion, now: datetime) -> DeletionObserved:
        if row.phase == DeletionPhase.SAVING:
            return DeletionObserved(snapshot=self._snapshot(row))
        cluster = self._context.cluster(row.cluster, "its PVCs are deleted")
        claim = cluster.get(PVCS, row.claim_name, row.namespace)
        if claim is None or claim.uid != row.claim_uid:
            return DeletionObserved()
        pods = mounted_by(cluster.list(PODS, row.namespace), row.claim_name)
        return DeletionObserved(claim=claim, pods=tuple(pods), needs=self._needs(row))

    @override
    def decide(self, row: Deletion, observed: DeletionObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: Deletion, observed: DeletionObserved, decision: Decision) -> Decision:
        """Deletes the PVC that was read; one that changed meanwhile is looked at again."""
        if not isinstance(decision, DeleteClaim):
            return decision
        cluster = self._context.cluster(row.cluster, "its PVCs are deleted")
        try:
            cluster.delete(PVCS, row.claim_name, row.namespace, uid=decision.uid,
                           version=decision.resource_version)  # fmt: skip
        except ClusterError as error:
            if error.reason == "Conflict":
                return decision
            if error.is_final or error.reason in _NO_LEAVE:
                return EndDeletion(DeletionPhase.FAILED, error.message, error.hint)
            raise
        return UpdateStatus(DeletionPhase.LEAVING)

    @override
    def record(self, session: Session, row: Deletion, found: DeletionFindings) -> None:
        record(session, row.id, row.phase, found)

    @override
    def next_look(self, row: Deletion, found: DeletionFindings) -> datetime | None:
        match found.decision:
            case EndDeletion():
                return None
            case UpdateStatus(phase) if phase == row.phase:
                return slower(row.since, found.now)
            case Saved() | DeleteClaim() | UpdateStatus():
                return found.now + SOON
            case _:
                return None

    def _snapshot(self, row: Deletion) -> Snapshot | None:
        return self._context.database.read(
            lambda session: session.get(Snapshot, row.snapshot_id) if row.snapshot_id else None
        )

    def _needs(self, row: Deletion) -> tuple[str, ...]:
        place = ClaimPlace(row.cluster, row.namespace, row.claim_name)

        def read(session: Session) -> tuple[str, ...]:
            runs = self._runs(session, row.cluster, row.namespace).get(row.claim_name, ())
            return tuple(needing(session, place, runs, row.snapshot_id))

        return self._context.database.read(read)
