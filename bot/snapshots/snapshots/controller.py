"""The controller of snapshots: creates VolumeSnapshots, follows them and deletes them."""

from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import SNAPSHOTS
from bot.config import Snapshots
from bot.errors import ClusterError
from bot.reconcile.decisions import Delete, Done, Fail, UpdateStatus
from bot.reconcile.frame import SOON, Reconciler, create_once, slower
from bot.snapshots.adoption.record import recorded
from bot.snapshots.objects import snapshot_of
from bot.snapshots.planning import unserved
from bot.snapshots.snapshots.decide import (
    AwaitDeletion,
    Decision,
    Gone,
    SnapshotObserved,
    Stay,
    TakeSnapshot,
    decide,
)
from bot.snapshots.snapshots.observe import observe
from bot.snapshots.snapshots.record import SnapshotFindings, record
from bot.snapshots.tables import SNAPSHOT, Snapshot, SnapshotPhase, SnapshotSchedule
from bot.volumes.records import UNBLOCK, ClaimPlace, stale, why

# Watches report changes; this catches what they may have missed.
_DAILY = timedelta(days=1)


class SnapshotController(Reconciler[Snapshot, SnapshotObserved, Decision]):
    """Reconciles snapshots."""

    kind = SNAPSHOT
    table, phases = Snapshot, SnapshotPhase

    @override
    def observe(self, row: Snapshot, now: datetime) -> SnapshotObserved:
        return _look(self._cluster(row), row, self._context.settings().snapshots)

    @override
    def decide(self, row: Snapshot, observed: SnapshotObserved, now: datetime) -> Decision:
        return decide(row, observed, now, self._context.settings().snapshots.ready_within)

    @override
    def act(self, row: Snapshot, observed: SnapshotObserved, decision: Decision) -> Decision:
        cluster = self._cluster(row)
        match decision:
            case TakeSnapshot():
                return self._take(cluster, row, decision)
            case Delete(uid):
                cluster.delete(SNAPSHOTS, row.name, row.namespace, uid=uid)
            case _:
                pass
        return decision

    @override
    def record(self, session: Session, row: Snapshot, found: SnapshotFindings) -> None:
        record(session, row.id, found, self._context.format_command)

    @override
    def next_look(self, row: Snapshot, found: SnapshotFindings) -> datetime | None:
        now = found.now
        match found.decision:
            case Done():
                return None
            case UpdateStatus(SnapshotPhase.READY) | Stay():
                return now + _DAILY
            case UpdateStatus() | AwaitDeletion():
                return slower(row.since, now)
            case Fail() | Gone() | TakeSnapshot() | Delete():
                return now + SOON
            case _:
                return now + _DAILY

    def _take(self, cluster: Cluster, row: Snapshot, decision: TakeSnapshot) -> Decision:
        """Creates the VolumeSnapshot, unless it would be of a volume that is lost."""
        place = ClaimPlace(row.cluster, row.namespace, row.claim_name)
        moved = self._context.database.read(lambda session: stale(session, place))
        if moved is not None:
            return Fail(why(moved, "snapshotted"), UNBLOCK)
        body = snapshot_of(row, decision.plan.kind.name, cluster.installation)
        schedule = self._context.database.read(lambda session: _schedule_of(session, row))
        body["metadata"]["annotations"] = {labels.RECORD: recorded(row, decision.plan, schedule)}
        refusal = create_once(cluster, SNAPSHOTS, body, row.namespace)
        return decision if refusal is None else Fail(refusal.message, refusal.hint)

    def _cluster(self, row: Snapshot) -> Cluster:
        return self._context.cluster(row.cluster, "its snapshots are gone")


def _schedule_of(session: Session, row: Snapshot) -> SnapshotSchedule | None:
    return None if row.schedule_id is None else session.get(SnapshotSchedule, row.schedule_id)


def _look(cluster: Cluster, row: Snapshot, settings: Snapshots) -> SnapshotObserved:
    """What the cluster shows; if it no longer serves snapshots, the problem instead of a plan."""
    try:
        return observe(cluster, row, settings)
    except ClusterError as error:
        if error.reason != "NotServed" or row.uid is not None:
            raise
        return SnapshotObserved(plan=unserved(cluster.name))
