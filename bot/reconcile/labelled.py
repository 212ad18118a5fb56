"""Wakes the rows whose ids are labels of changed objects."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import Resource
from bot.cluster.view import Change
from bot.reconcile.wakeups import Wakeup, cluster_lane


class LabelledObjects:
    """Wakes a row when an object of this installation changes that has the row's id as `label`.

    Only changes of `resources` count.
    """

    def __init__(
        self,
        clusters: Mapping[str, Cluster],
        *,
        kind: str,
        label: str,
        resources: Collection[Resource[Any]],
    ) -> None:
        self._clusters = clusters
        self._kind = kind
        self._label = label
        self._resources = resources

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The row of the changed object, if it has one."""
        cluster = self._clusters.get(change.cluster)
        if cluster is None or change.object is None or change.resource not in self._resources:
            return ()
        found = change.object.labels
        row_id = found.get(self._label)
        if row_id is None or found.get(labels.INSTALLATION) != cluster.installation:
            return ()
        return (Wakeup(self._kind, row_id, cluster_lane(cluster.name)),)
