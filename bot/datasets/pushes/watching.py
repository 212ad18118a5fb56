"""Which pushes a changed object belongs to."""

from collections.abc import Iterable, Mapping

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS, SNAPSHOTS
from bot.cluster.view import Change
from bot.datasets.tables import PUSH, lane
from bot.reconcile.wakeups import Wakeup

_HEARD = (JOBS, PVCS, SNAPSHOTS)


class PushWatchHandler:
    """Maps changed Jobs, PVCs and snapshots of pushes to their rows, by our label."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The pushes to reconcile now."""
        cluster = self._clusters.get(change.cluster)
        if cluster is None or change.object is None or change.resource not in _HEARD:
            return ()
        marks = change.object.labels
        row_id = marks.get(labels.DATASET_PUSH)
        if row_id is None or marks.get(labels.INSTALLATION) != cluster.installation:
            return ()
        return (Wakeup(PUSH, row_id, lane(cluster.name)),)
