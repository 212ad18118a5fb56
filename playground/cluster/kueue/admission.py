"""The admission controller: stands Workloads in line, runs cycles, and writes what they decide."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from playground.cluster.control.world import World
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.cycle import Cycles
from playground.cluster.kueue.flavors import Attempt
from playground.cluster.kueue.preemption import Target, message_for
from playground.cluster.kueue.quota import Ledger, Queue
from playground.cluster.kueue.slices import replace_slice
from playground.cluster.kueue.transitions import admit, evict, say, wait
from playground.cluster.kueue.workloads import (
    admission,
    admission_inputs,
    is_evicted,
    is_finished,
    is_pending,
    is_reserved,
    may_be_admitted,
    order,
    queued_since,
)
from playground.cluster.objects.conditions import condition, is_true
from playground.cluster.objects.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    WORKLOAD,
    Object,
)
from playground.cluster.objects.selectors import matches_labels
from playground.cluster.objects.store import Change, Key, key_of

SOURCE = "kueue-admission"
CYCLE: Key = ("", "cycle")
_METADATA = ("labels", "deletionTimestamp")
_INADMISSIBLE = "Inadmissible"
_KINDS = {
    kind.qualified for kind in (CLUSTER_QUEUE, COHORT, FLAVOR, LOCAL_QUEUE, WORKLOAD, NAMESPACE)
}


def matters(change: Change) -> bool:
    """Whether a change of a queue, flavor or Workload can change who is admitted."""
    if change.before is None or change.type == "DELETED":
        return True
    if change.kind == WORKLOAD.qualified:
        return admission_inputs(change.before) != admission_inputs(change.obj)
    before, after = change.before, change.obj
    return (
        before.get("spec") != after.get("spec")
        or any(before["metadata"].get(n) != after["metadata"].get(n) for n in _METADATA)
        or is_true(before, "Active") != is_true(after, "Active")
    )


def local_queue_of(world: World, workload: Object) -> Object | None:
    """The LocalQueue a Workload names, if there is one."""
    space = workload["metadata"]["namespace"]
    return world.store.get(LOCAL_QUEUE, space, workload["spec"].get("queueName", ""))


def queue_of(world: World, workload: Object) -> Object | None:
    """The ClusterQueue behind a Workload's LocalQueue, if both are there."""
    local = local_queue_of(world, workload)
    return world.store.get(CLUSTER_QUEUE, "", local["spec"]["clusterQueue"]) if local else None


def pending_in(world: World, queue: str) -> list[Object]:
    """The Workloads that stand in line for a ClusterQueue, the first one first."""
    waiting = [
        workload
        for workload in world.store.all(WORKLOAD)
        if is_pending(workload)
        for found in [queue_of(world, workload)]
        if found is not None and found["metadata"]["name"] == queue
    ]
    return sorted(waiting, key=order)


def ledger_of(world: World) -> Ledger:
    """All queues with what is held of their quota."""
    store = world.store
    holding = (w for w in store.all(WORKLOAD) if is_reserved(w) and not is_finished(w))
    return Ledger(store.all(CLUSTER_QUEUE), store.all(COHORT), holding)


class Admission:
    """Runs cycles whenever queues, flavors or Workloads changed."""

    def __init__(self, world: World, configuration: Callable[[], Configuration]) -> None:
        self._world = world
        self._configuration = configuration
        self._preempting: set[str] = set()

    def wants(self, change: Change) -> Iterable[Key]:
        """One look at everybody for any number of changes."""
        if change.kind in _KINDS and matters(change):
            yield CYCLE

    def reconcile(self, key: Key) -> None:
        """Admits whom it can, pushes out whom it must, and tells the others why they wait."""
        del key
        pending = sorted(filter(is_pending, self._world.store.all(WORKLOAD)), key=self._place)
        self._preempting &= {workload["metadata"]["uid"] for workload in pending}
        if not pending:
            return
        ledger = ledger_of(self._world)
        lines: dict[str, list[Object]] = defaultdict(list)
        for workload in pending:
            why = self._misplaced(ledger, workload)
            if why is not None:
                self._tell(workload, why)
            elif may_be_admitted(workload):
                queue = queue_of(self._world, workload) or {}
                lines[queue["metadata"]["name"]].append(workload)
        Cycles(self._world.store, self._configuration(), ledger, self).run(lines)

    def admit(self, queue: Queue, workload: Object, attempt: Attempt) -> Object:
        """Gives a Workload its quota."""
        given = admission(queue.name, workload, attempt.flavors)
        now = self._world.now
        waited = int((now - queued_since(workload)).total_seconds())
        kept = self._world.change(WORKLOAD, key_of(workload), lambda obj: admit(obj, given, now))
        if kept is None:
            return workload
        replace_slice(self._world, kept)
        reserved = (
            f"Quota reserved in ClusterQueue {queue.name}, wait time since queued was "
            f"{max(0, waited)}s"
        )
        admitted = f"Admitted by ClusterQueue {queue.name}, wait time since reservation was 0s"
        self._world.record(WORKLOAD, kept, ("QuotaReserved", reserved), SOURCE)
        self._world.record(WORKLOAD, kept, ("Admitted", admitted), SOURCE)
        return kept

    def preempt(self, queue: Queue, workload: Object, target: Target) -> Object:
        """Pushes one out, once."""
        if is_evicted(target.workload):
            return target.workload
        self._preempting.add(workload["metadata"]["uid"])
        message = message_for(workload, queue, target)
        now = self._world.now

        def edit(obj: Object) -> None:
            evict(obj, "Preempted", message, now)
            say(obj, "Preempted", now, (target.reason, message))

        kept = self._world.change(WORKLOAD, key_of(target.workload), edit)
        if kept is None:
            return target.workload
        self._world.record(WORKLOAD, kept, ("Preempted", message), SOURCE)
        return kept

    def refuse(self, workload: Object, reason: str, message: str) -> None:
        """Says why a Workload waits."""
        self._tell(workload, (self._configuration().reason(reason), message))

    def _tell(self, workload: Object, why: tuple[str, str]) -> None:
        row = condition(workload, "QuotaReserved")
        if row is not None and (row["reason"], row["message"]) == why:
            return
        now = self._world.now
        kept = self._world.change(WORKLOAD, key_of(workload), lambda obj: wait(obj, why, now))
        if kept is not None:
            self._world.record(WORKLOAD, kept, why, SOURCE, warning=True)

    def _place(self, workload: Object) -> tuple[object, ...]:
        """Its place in line; who waits for a preemption stays in front."""
        return workload["metadata"]["uid"] not in self._preempting, *order(workload)

    def _misplaced(self, ledger: Ledger, workload: Object) -> tuple[str, str] | None:
        """Why a Workload stands in no line at all."""
        found = self._blocker(ledger, workload)
        if found is None:
            return None
        reason, message, otherwise = found
        return self._configuration().reason(reason, otherwise), message

    def _blocker(self, ledger: Ledger, workload: Object) -> tuple[str, str, str] | None:
        name = workload["spec"].get("queueName", "")
        local = local_queue_of(self._world, workload)
        if local is None:
            return "Misconfigured", f"LocalQueue {name} doesn't exist", _INADMISSIBLE
        if local["spec"].get("stopPolicy", "None") != "None":
            return "Suspended", f"LocalQueue {name} is inactive", _INADMISSIBLE
        queue = queue_of(self._world, workload)
        if queue is None:
            missing = f"ClusterQueue {local['spec']['clusterQueue']} doesn't exist"
            return "Misconfigured", missing, _INADMISSIBLE
        circular = queue["spec"].get("cohortName") in ledger.circular
        if circular or not is_true(queue, "Active"):
            inactive = f"ClusterQueue {queue['metadata']['name']} is inactive"
            return "Suspended", inactive, _INADMISSIBLE
        if not self._namespace_matches(workload, queue):
            mismatch = "Workload namespace doesn't match ClusterQueue selector"
            return "Misconfigured", mismatch, "Pending"
        return None

    def _namespace_matches(self, workload: Object, queue: Object) -> bool:
        selector = queue["spec"].get("namespaceSelector")
        space = self._world.store.get(NAMESPACE, "", workload["metadata"]["namespace"])
        if selector is None or space is None:
            return False
        return matches_labels(selector, space["metadata"].get("labels") or {})
