"""Which versions a changed object belongs to."""

from collections.abc import Iterable, Mapping

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS
from bot.cluster.view import Change
from bot.datasets.tables import VERSION, lane
from bot.reconcile.wakeups import Wakeup


class SurveyWatchHandler:
    """Maps changed Jobs of surveys to their versions, by our label."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The versions to reconcile now."""
        cluster = self._clusters.get(change.cluster)
        if cluster is None or change.object is None or change.resource is not JOBS:
            return ()
        marks = change.object.labels
        row_id = marks.get(labels.DATASET_VERSION)
        if row_id is None or marks.get(labels.INSTALLATION) != cluster.installation:
            return ()
        return (Wakeup(VERSION, row_id, lane(cluster.name)),)
