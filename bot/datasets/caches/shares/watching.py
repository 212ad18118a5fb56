"""Which shares a changed object belongs to."""

from collections.abc import Iterable, Mapping

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.view import Change
from bot.datasets.caches.tables import SHARE
from bot.datasets.tables import lane
from bot.reconcile.wakeups import Wakeup

_HEARD = (PVCS, VOLUMES)


class ShareWatchHandler:
    """Wakes shares when their PVCs or volumes change, found by our label."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The share that the changed object belongs to, if any."""
        cluster = self._clusters.get(change.cluster)
        if cluster is None or change.object is None or change.resource not in _HEARD:
            return ()
        marks = change.object.labels
        row_id = marks.get(labels.DATASET_SHARE)
        if row_id is None or marks.get(labels.INSTALLATION) != cluster.installation:
            return ()
        return (Wakeup(SHARE, row_id, lane(cluster.name)),)
