"""Which runs a changed object belongs to."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import POD_GROUPS, PODS, WORKLOADS, Resource
from bot.cluster.types.objects import ClusterObject, OwnerReference
from bot.cluster.view import Change
from bot.reconcile.wakeups import Wakeup, cluster_lane
from bot.training.kinds import ROOTS
from bot.training.tables import KIND

_LABELLED: tuple[Resource[Any], ...] = (*(root.resource for root in ROOTS), PODS)
_QUEUED: tuple[Resource[Any], ...] = (WORKLOADS, POD_GROUPS)


class RunWatchHandler:
    """Maps changed roots and pods to runs by our label, and workloads by their root."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The runs to observe now."""
        cluster = self._clusters.get(change.cluster)
        if cluster is None or change.object is None:
            return ()
        if change.resource in _LABELLED:
            return self._labelled(cluster, change.object)
        if change.resource in _QUEUED:
            owners = change.object.metadata.owner_references
            roots = (self._root(cluster, owner, change.object.namespace) for owner in owners)
            return [found for root in roots if root for found in self._labelled(cluster, root)]
        return ()

    def _root(
        self, cluster: Cluster, owner: OwnerReference, namespace: str
    ) -> ClusterObject | None:
        resource = _root_resource(owner)
        found: ClusterObject | None = (
            cluster.view.get(resource, owner.name, namespace) if resource else None
        )
        return found

    def _labelled(self, cluster: Cluster, object_: ClusterObject) -> list[Wakeup]:
        run_id = object_.labels.get(labels.RUN)
        if run_id is None or object_.labels.get(labels.INSTALLATION) != cluster.installation:
            return []
        return [Wakeup(KIND, run_id, cluster_lane(cluster.name))]


def _root_resource(owner: OwnerReference) -> Resource[Any] | None:
    """The resource of a Workload's owner, None when a run is never such an object."""
    group, _, version = owner.api_version.rpartition("/")
    return next(
        (
            each
            for each in (root.resource for root in ROOTS)
            if each.kind == owner.kind
            and (not owner.api_version or (each.group == group and version in each.versions))
        ),
        None,
    )
