"""The status of ClusterQueues and LocalQueues, and the positions of those who wait."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from playground.cluster.control.world import World
from playground.cluster.kueue.admission import ledger_of, matters, pending_in
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.quota import Cell, Ledger, Node, Queue
from playground.cluster.kueue.shares import share_of
from playground.cluster.kueue.transitions import say
from playground.cluster.kueue.workloads import (
    Usage,
    held,
    is_finished,
    is_pending,
    is_reserved,
    priority_of,
)
from playground.cluster.objects.conditions import is_true
from playground.cluster.objects.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    FLAVOR,
    LOCAL_QUEUE,
    WORKLOAD,
    Object,
)
from playground.cluster.objects.quantities import show_quantity
from playground.cluster.objects.store import Change, Key, key_of

_KINDS = {kind.qualified for kind in (CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, FLAVOR, WORKLOAD)}
_ZERO = Decimal(0)


class QueueStatus:
    """Writes what queues hold, lend and have waiting."""

    def __init__(self, world: World, configuration: Callable[[], Configuration]) -> None:
        self._world = world
        self._configuration = configuration

    def wants(self, change: Change) -> Iterable[Key]:
        """One look at all queues for any number of changes."""
        if change.kind in _KINDS and matters(change):
            yield ("", "all")

    def reconcile(self, key: Key) -> None:
        """Writes the status of every queue; what did not change is not written."""
        del key
        store = self._world.store
        workloads = [w for w in store.all(WORKLOAD) if not is_finished(w)]
        ledger = ledger_of(self._world)
        of_queues: dict[str, list[Object]] = defaultdict(list)
        of_locals: dict[Key, list[Object]] = defaultdict(list)
        for each in workloads:
            of_queues[self._cluster_queue(each)].append(each)
            place = each["metadata"]["namespace"], each["spec"].get("queueName", "")
            of_locals[place].append(each)
        for queue in list(store.all(CLUSTER_QUEUE)):
            name = queue["metadata"]["name"]
            self._write_cluster_queue(queue, ledger.queues[name], of_queues[name])
        for cohort in list(store.all(COHORT)):
            shared = self._shared(ledger.cohorts[cohort["metadata"]["name"]])
            self._world.change(COHORT, key_of(cohort), shared)
        for local in list(store.all(LOCAL_QUEUE)):
            self._write_local_queue(local, of_locals[key_of(local)])

    def _cluster_queue(self, workload: Object) -> str:
        if is_reserved(workload):
            name: str = workload["status"]["admission"]["clusterQueue"]
            return name
        space, queue = workload["metadata"]["namespace"], workload["spec"].get("queueName", "")
        local = self._world.store.get(LOCAL_QUEUE, space, queue)
        return local["spec"]["clusterQueue"] if local else ""

    def _shared(self, node: Node) -> Callable[[Object], None]:
        """Writes the weighted share, where fair sharing is on."""

        def edit(obj: Object) -> None:
            status = obj.setdefault("status", {})
            if self._configuration().fair_sharing is None:
                status.pop("fairSharing", None)
            else:
                status["fairSharing"] = {"weightedShare": share_of(node).reported}

        return edit

    def _write_cluster_queue(self, queue: Object, row: Queue, mine: list[Object]) -> None:
        def amounts(usage: Usage, cell: Cell) -> dict[str, str]:
            limits = row.limits[cell]
            over = max(_ZERO, usage.get(cell, _ZERO) - limits.nominal) if row.parent else _ZERO
            return {
                "name": cell[1],
                "borrowed": show_quantity(over, cell[1]),
                "total": show_quantity(usage.get(cell, _ZERO), cell[1]),
            }

        missing = [
            name for name in _flavors(queue) if self._world.store.get(FLAVOR, "", name) is None
        ]
        active, why = _activity(queue, missing)
        now, share = self._world.now, self._shared(row)

        def edit(obj: Object) -> None:
            obj.setdefault("status", {}).update(_counts(mine, list(row.limits), amounts))
            share(obj)
            say(obj, "Active", now, why, status=active)

        self._world.change(CLUSTER_QUEUE, key_of(queue), edit)

    def _write_local_queue(self, local: Object, mine: list[Object]) -> None:
        queue = self._world.store.get(CLUSTER_QUEUE, "", local["spec"]["clusterQueue"])
        cells = list(Ledger([queue], ()).queues.popitem()[1].limits) if queue else []
        now = self._world.now
        active, why = _local_activity(local, queue)

        def amounts(usage: Usage, cell: Cell) -> dict[str, str]:
            return {"name": cell[1], "total": show_quantity(usage.get(cell, _ZERO), cell[1])}

        def edit(obj: Object) -> None:
            obj.setdefault("status", {}).update(_counts(mine, cells, amounts))
            say(obj, "Active", now, why, status=active)

        self._world.change(LOCAL_QUEUE, key_of(local), edit)


def _flavors(queue: Object) -> list[str]:
    groups = queue.get("spec", {}).get("resourceGroups") or ()
    return [flavor["name"] for group in groups for flavor in group["flavors"]]


def _activity(queue: Object, missing: list[str]) -> tuple[bool, tuple[str, str]]:
    if queue["metadata"].get("deletionTimestamp"):
        words = "Can't admit new workloads; clusterQueue is terminating"
        return False, ("Terminating", words)
    if queue.get("spec", {}).get("stopPolicy", "None") != "None":
        return False, ("Stopped", "Can't admit new workloads: is stopped.")
    if missing:
        told = ",".join(missing)
        words = f"Can't admit new workloads: references missing ResourceFlavor(s): {told}."
        return False, ("FlavorNotFound", words)
    return True, ("Ready", "Can admit new workloads")


def _local_activity(local: Object, queue: Object | None) -> tuple[bool, tuple[str, str]]:
    stuck = "Can't submit new workloads to clusterQueue"
    if local["spec"].get("stopPolicy", "None") != "None":
        return False, ("Stopped", "LocalQueue is stopped")
    if queue is None:
        return False, ("ClusterQueueDoesNotExist", stuck)
    if not is_true(queue, "Active"):
        return False, ("ClusterQueueIsInactive", stuck)
    return True, ("Ready", "Can submit new workloads to localQueue")


def _counts(
    mine: list[Object], cells: list[Cell], amounts: Callable[[Usage, Cell], dict[str, str]]
) -> dict[str, Any]:
    reserved = [w for w in mine if is_reserved(w)]
    admitted = [w for w in reserved if is_true(w, "Admitted")]
    return {
        "flavorsReservation": _by_flavor(_sum(reserved), cells, amounts),
        "flavorsUsage": _by_flavor(_sum(admitted), cells, amounts),
        "pendingWorkloads": sum(map(is_pending, mine)),
        "reservingWorkloads": len(reserved),
        "admittedWorkloads": len(admitted),
    }


def _sum(workloads: list[Object]) -> Usage:
    total: Usage = {}
    for workload in workloads:
        for cell, amount in held(workload).items():
            total[cell] = total.get(cell, _ZERO) + amount
    return total


def _by_flavor(
    usage: Usage, cells: list[Cell], amounts: Callable[[Usage, Cell], dict[str, str]]
) -> list[dict[str, Any]]:
    flavors = dict.fromkeys(flavor for flavor, _ in cells)
    return [
        {
            "name": flavor,
            "resources": [amounts(usage, cell) for cell in cells if cell[0] == flavor],
        }
        for flavor in flavors
    ]


def pending_summary(world: World, queue: str, local: Key | None, page: tuple[int, int]) -> Object:
    """The answer of the visibility API for a ClusterQueue, or one LocalQueue of it."""
    offset, limit = page
    rows: list[dict[str, Any]] = []
    behind: dict[Key, int] = {}
    for position, workload in enumerate(pending_in(world, queue)):
        metadata = workload["metadata"]
        place = (metadata["namespace"], workload["spec"]["queueName"])
        in_local = behind.get(place, 0)
        behind[place] = in_local + 1
        if local in {None, place}:
            rows.append(_pending_row(workload, position, in_local))
    return {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
        "metadata": {},
        "items": rows[offset : offset + limit],
    }


def _pending_row(workload: Object, position: int, in_local: int) -> dict[str, Any]:
    metadata = workload["metadata"]
    kept = ("name", "namespace", "creationTimestamp", "ownerReferences")
    return {
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "priority": priority_of(workload),
        "localQueueName": workload["spec"]["queueName"],
        "positionInClusterQueue": position,
        "positionInLocalQueue": in_local,
    }
