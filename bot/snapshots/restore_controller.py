"""The controller of restores: creates PVCs, follows them and releases their snapshots."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUME_REFERENCES
from bot.errors import ClusterError
from bot.reconcile.controller import Step, Trouble
from bot.snapshots.controller import SOON, ControllerContext, note_trouble, slower
from bot.snapshots.objects import claim_of, leave_name, leave_of
from bot.snapshots.restore_decision import (
    AwaitDeletion,
    Cancelled,
    Create,
    Decision,
    Delete,
    Done,
    Fail,
    Keep,
    Ready,
    UpdateStatus,
    Wait,
    decide,
)
from bot.snapshots.restore_observing import observe
from bot.snapshots.restore_recording import RestoreFindings, record
from bot.snapshots.tables import RESTORE, Restore, RestorePhase
from bot.volumes.records import UNBLOCK, ClaimPlace, stale, why

# Watches report changes; this catches what they may have missed.
_RARELY = timedelta(hours=1)


class RestoreController:
    """Reconciles restores and clones."""

    kind = RESTORE

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        """Takes the next step for a restore; raises ClusterError if the cluster refuses it."""
        row = self._world.database.read(lambda session: session.get(Restore, row_id))
        if row is None or row.is_cleared or row.phase not in set(RestorePhase):
            return Step(None)
        now, settings = self._world.clock.now(), self._world.settings().snapshots
        cluster = self._world.cluster(row.cluster)
        look = observe(cluster, row)
        decision = self._act(cluster, row, decide(row, look, now, settings.restored_within))
        if isinstance(decision, Wait):
            return Step(None)
        found = RestoreFindings(decision, look, now)
        return Step(
            _again(row, decision, now),
            lambda session: record(session, row_id, found, self._world.words),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        note_trouble(session, session.get(Restore, row_id), trouble)

    def _act(self, cluster: Cluster, row: Restore, decision: Decision) -> Decision:
        """Carries a decision out; returns the decision to record."""
        match decision:
            case Create():
                place = ClaimPlace(row.cluster, row.namespace, row.of_claim)
                moved = self._world.database.read(lambda session: stale(session, place))
                if moved is not None:
                    return Fail(why(moved, "restored or cloned"), UNBLOCK)
                return self._create(cluster, row)
            case Delete(uid):
                cluster.delete(PVCS, row.claim_name, row.namespace, uid=uid)
            case Done() if row.source_namespace is not None:
                _take_leave(cluster, row)
            case _:
                pass
        return decision

    def _create(self, cluster: Cluster, row: Restore) -> Decision:
        """Creates the PVC. If its name is taken, the next step finds out by whom."""
        try:
            if row.source_namespace is not None:
                _give_leave(cluster, row)
            cluster.create(PVCS, claim_of(row, cluster.installation), row.namespace)
        except ClusterError as error:
            if error.is_final or error.reason == "OverQuota":
                return Fail(error.message, error.hint)
            if error.reason != "AlreadyExists":
                raise
        return Create()


def _give_leave(cluster: Cluster, row: Restore) -> None:
    """Allows Trident to clone from the other namespace; idempotent."""
    try:
        cluster.create(VOLUME_REFERENCES, leave_of(row, cluster.installation), row.namespace)
    except ClusterError as error:
        if error.reason != "AlreadyExists":
            raise


def _take_leave(cluster: Cluster, row: Restore) -> None:
    """Deletes the TridentVolumeReference of this restore."""
    found = cluster.get(VOLUME_REFERENCES, leave_name(row), row.namespace)
    marks = {labels.RESTORE: row.id, labels.INSTALLATION: cluster.installation}
    if found is not None and marks.items() <= found.labels.items():
        cluster.delete(VOLUME_REFERENCES, found.name, row.namespace, uid=found.uid)


def _again(row: Restore, decision: Decision, now: datetime) -> datetime | None:
    """When to check again if nothing wakes the row earlier."""
    match decision:
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
