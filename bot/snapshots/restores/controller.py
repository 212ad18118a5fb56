"""The controller of restores: creates PVCs, follows them and releases their snapshots."""

from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUME_REFERENCES
from bot.errors import ClusterError
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus
from bot.reconcile.frame import SOON, Reconciler, create_once, slower
from bot.snapshots.objects import claim_of, leave_name, leave_of
from bot.snapshots.restores.decide import (
    AwaitDeletion,
    Cancelled,
    Decision,
    Keep,
    Ready,
    RestoreObserved,
    decide,
)
from bot.snapshots.restores.observe import observe
from bot.snapshots.restores.record import RestoreFindings, record
from bot.snapshots.tables import RESTORE, Restore, RestorePhase
from bot.volumes.records import UNBLOCK, ClaimPlace, stale, why

# Watches report changes; this catches what they may have missed.
_RARELY = timedelta(hours=1)
_HOPELESS = frozenset({"OverQuota"})


class RestoreController(Reconciler[Restore, RestoreObserved, Decision]):
    """Reconciles restores and clones."""

    kind = RESTORE
    table, phases = Restore, RestorePhase

    @override
    def observe(self, row: Restore, now: datetime) -> RestoreObserved:
        return observe(self._cluster(row), row)

    @override
    def decide(self, row: Restore, observed: RestoreObserved, now: datetime) -> Decision:
        return decide(row, observed, now, self._context.settings().snapshots.restored_within)

    @override
    def act(self, row: Restore, observed: RestoreObserved, decision: Decision) -> Decision:
        cluster = self._cluster(row)
        match decision:
            case Create():
                return self._create(cluster, row)
            case Delete(uid):
                cluster.delete(PVCS, row.claim_name, row.namespace, uid=uid)
            case Done() if row.source_namespace is not None:
                _take_leave(cluster, row)
            case _:
                pass
        return decision

    @override
    def record(self, session: Session, row: Restore, found: RestoreFindings) -> None:
        record(session, row.id, found, self._context.format_command)

    @override
    def next_look(self, row: Restore, found: RestoreFindings) -> datetime | None:
        now = found.now
        match found.decision:
            case Done():
                return None
            case AwaitDeletion() if row.is_live:
                return slower(row.since, now)
            case UpdateStatus(RestorePhase.WAITING) | AwaitDeletion():
                return now + _RARELY
            case UpdateStatus():
                return slower(row.since, now)
            case Create() | Ready() | Fail() | Delete() | Cancelled() | Keep():
                return now + SOON
            case _:
                return now + _RARELY

    def _create(self, cluster: Cluster, row: Restore) -> Decision:
        """Creates the PVC. If its name is taken, the next step finds out by whom."""
        place = ClaimPlace(row.cluster, row.namespace, row.of_claim)
        moved = self._context.database.read(lambda session: stale(session, place))
        if moved is not None:
            return Fail(why(moved, "restored or cloned"), UNBLOCK)
        refusal = _give_leave(cluster, row) if row.source_namespace is not None else None
        if refusal is None:
            body = claim_of(row, cluster.installation)
            refusal = create_once(cluster, PVCS, body, row.namespace, hopeless=_HOPELESS)
        return Fail(refusal.message, refusal.hint) if refusal is not None else Create()

    def _cluster(self, row: Restore) -> Cluster:
        return self._context.cluster(row.cluster, "its snapshots are gone")


def _give_leave(cluster: Cluster, row: Restore) -> ClusterError | None:
    """Allows Trident to clone from the other namespace."""
    body = leave_of(row, cluster.installation)
    return create_once(cluster, VOLUME_REFERENCES, body, row.namespace, hopeless=_HOPELESS)


def _take_leave(cluster: Cluster, row: Restore) -> None:
    """Deletes the TridentVolumeReference of this restore."""
    found = cluster.get(VOLUME_REFERENCES, leave_name(row), row.namespace)
    marks = {labels.RESTORE: row.id, labels.INSTALLATION: cluster.installation}
    if found is not None and marks.items() <= found.labels.items():
        cluster.delete(VOLUME_REFERENCES, found.name, row.namespace, uid=found.uid)
