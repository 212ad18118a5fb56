"""ClusterQueues and flavors stay, though deleted, as long as anything uses them."""

from collections.abc import Iterable

from playground.cluster.control.world import World
from playground.cluster.kueue.workloads import FINALIZER, is_finished, is_reserved
from playground.cluster.objects.kinds import CLUSTER_QUEUE, FLAVOR, WORKLOAD, Kind, Object
from playground.cluster.objects.store import Change, Key, key_of

_KINDS = {kind.qualified for kind in (CLUSTER_QUEUE, FLAVOR, WORKLOAD)}


def hold_at_creation(kind: Kind, obj: Object, old: Object | None) -> None:
    """Puts Kueue's finalizer on new ClusterQueues and flavors, as its webhooks do."""
    if kind not in (CLUSTER_QUEUE, FLAVOR) or old is not None:
        return
    kept = obj["metadata"].get("finalizers") or []
    if FINALIZER not in kept:
        obj["metadata"]["finalizers"] = [*kept, FINALIZER]


class Releases:
    """Lets go of deleted ClusterQueues that hold no quota, and of flavors that no queue names."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """One look at what is deleted for any number of changes."""
        if change.kind in _KINDS and (change.kind != WORKLOAD.qualified or any(self._leaving())):
            yield ("", "all")

    def reconcile(self, key: Key) -> None:
        """Takes the finalizer off what nothing uses."""
        del key
        for kind, obj in list(self._leaving()):
            name = obj["metadata"]["name"]
            is_used = self._holds(name) if kind == CLUSTER_QUEUE else self._is_named(name)
            if not is_used:
                self._world.deletion.drop_finalizer(kind, key_of(obj), FINALIZER)

    def _leaving(self) -> Iterable[tuple[Kind, Object]]:
        for kind in (CLUSTER_QUEUE, FLAVOR):
            for obj in self._world.store.all(kind):
                if obj["metadata"].get("deletionTimestamp"):
                    yield kind, obj

    def _holds(self, queue: str) -> bool:
        return any(
            workload["status"]["admission"]["clusterQueue"] == queue
            for workload in self._world.store.all(WORKLOAD)
            if is_reserved(workload) and not is_finished(workload)
        )

    def _is_named(self, flavor: str) -> bool:
        return any(
            row["name"] == flavor
            for queue in self._world.store.all(CLUSTER_QUEUE)
            for group in queue.get("spec", {}).get("resourceGroups") or ()
            for row in group["flavors"]
        )
