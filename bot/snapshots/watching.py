"""Maps changed objects to the snapshots, restores and reverts to wake."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, SNAPSHOT_ACTIONS, SNAPSHOTS, Resource
from bot.cluster.view import Change
from bot.reconcile.wakeups import Wakeup
from bot.snapshots.tables import RESTORE, REVERT, SNAPSHOT, lane

_OF: Mapping[Resource[Any], tuple[str, str]] = {
    SNAPSHOTS: (labels.SNAPSHOT, SNAPSHOT),
    PVCS: (labels.RESTORE, RESTORE),
    SNAPSHOT_ACTIONS: (labels.REVERT, REVERT),
}


class SnapshotWatchHandler:
    """Handles changes of VolumeSnapshots, restored PVCs and reverts, found by their labels."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The rows to wake."""
        cluster, known = self._clusters.get(change.cluster), _OF.get(change.resource)
        if cluster is None or known is None or change.object is None:
            return ()
        label, kind = known
        marks = change.object.labels
        row_id = marks.get(label)
        if row_id is None or marks.get(labels.INSTALLATION) != cluster.installation:
            return ()
        return (Wakeup(kind, row_id, lane(cluster.name)),)
