"""The scheduler: which node a pod fits on, and why none."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.placement import Amounts, Placement, tolerates
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import set_condition
from playground.cluster.objects.kinds import CLAIM, NODE, POD, VOLUME, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.store import Change, Key, key_of

__all__ = ["Scheduler", "drained_pods", "pod_requests", "preempt", "tolerates"]
SOURCE = "default-scheduler"
# Its order and quotas are not imitated: pods that name it are placed as if by Kubernetes' own.
RUNAI = "runai-scheduler"
_ROOM = {NODE.qualified, CLAIM.qualified, VOLUME.qualified}
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def pod_requests(spec: dict[str, Any]) -> Amounts:
    """What a pod asks of its node, by resource."""
    wanted: Amounts = defaultdict(Decimal)
    for container in spec.get("containers", ()):
        resources = container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, value in asked.items():
            wanted[name] += parse_quantity(value)
    return dict(wanted)


class Scheduler:
    """Binds pods to nodes and keeps count of what is taken on each."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._placement = Placement(world)
        self._used: dict[str, Amounts] = defaultdict(lambda: defaultdict(Decimal))
        self._waiting: dict[Key, None] = {}

    def wants(self, change: Change) -> Iterable[Key]:
        """New unbound pods, and all waiting ones when room may have appeared."""
        if change.kind == POD.qualified:
            freed = self._account(change)
            if change.type != "DELETED" and _unbound(change.obj):
                yield change.key
            if change.type == "DELETED":
                self._waiting.pop(change.key, None)
            if freed:
                yield from list(self._waiting)
        elif change.kind in _ROOM:
            yield from list(self._waiting)

    def reconcile(self, key: Key) -> None:
        """Binds a pod to the fullest node it fits on, or says why there is none."""
        pod = self._world.store.get(POD, *key)
        if pod is None or not _unbound(pod):
            self._waiting.pop(key, None)
            return
        if pod["spec"].get("schedulingGates"):
            self._refuse(key, ("SchedulingGated", _GATED))
            return
        wanted = pod_requests(pod["spec"])
        nodes = sorted(self._world.store.all(NODE), key=lambda node: str(node["metadata"]["name"]))
        reasons: Counter[str] = Counter()
        problem = self._placement.problem(pod)
        fitting = []
        for node in nodes if not problem else ():
            used = self._used[node["metadata"]["name"]]
            why = self._placement.obstacles(pod, node, wanted, used)
            reasons.update(why)
            if not why:
                fitting.append(node)
        if not fitting:
            self._refuse(key, ("Unschedulable", _message(len(nodes), reasons, problem)))
            return
        chosen = max(fitting, key=self._fullness)
        if self._placement.settle_volumes(pod, chosen):
            self._waiting.pop(key, None)
            bind(self._world, key, chosen["metadata"]["name"], SOURCE)
        else:
            self._waiting[key] = None

    def used_on(self, node: str) -> Amounts:
        """What the pods of a node have asked for."""
        return dict(self._used[node])

    def _account(self, change: Change) -> bool:
        """Keeps the sums; whether something became free."""
        freed = False
        if change.before is not None and _holds(change.before):
            stays = change.type != "DELETED" and _holds(change.obj)
            if stays:
                return False
            self._add(change.before, -1)
            freed = True
        if change.type != "DELETED" and _holds(change.obj):
            self._add(change.obj, 1)
        return freed

    def _add(self, pod: Object, sign: int) -> None:
        used = self._used[pod["spec"]["nodeName"]]
        for name, amount in pod_requests(pod["spec"]).items():
            used[name] += sign * amount
        used["pods"] += sign

    def _fullness(self, node: Object) -> tuple[Decimal, Decimal]:
        """How full a node is; the fullest is taken, so that whole nodes stay free."""
        used = self._used[node["metadata"]["name"]]
        return used["nvidia.com/gpu"], used["cpu"]

    def _refuse(self, key: Key, why: tuple[str, str]) -> None:
        self._waiting[key] = None

        def edit(pod: Object) -> None:
            set_condition(pod, "PodScheduled", status=False, why=why, now=self._world.now)

        before = self._world.store.get(POD, *key)
        pod = self._world.change(POD, key, edit)
        if pod is not None and pod is not before and why[0] == "Unschedulable":
            self._world.record(POD, pod, ("FailedScheduling", why[1]), SOURCE, warning=True)


# What the API server copies from a node to the pods that are bound to it.
_TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def bind(world: World, key: Key, node: str, source: str) -> None:
    """Gives a pod its node."""
    labels = (world.store.get(NODE, "", node) or {"metadata": {}})["metadata"].get("labels") or {}
    topology = {name: labels[name] for name in _TOPOLOGY if name in labels}

    def edit(pod: Object) -> None:
        pod["spec"]["nodeName"] = node
        if topology:
            pod["metadata"].setdefault("labels", {}).update(topology)
        set_condition(pod, "PodScheduled", status=True, why=("", ""), now=world.now)
        for row in pod["status"]["conditions"]:
            row.pop("reason", None)
            row.pop("message", None)

    bound = world.change(POD, key, edit)
    if bound is not None:
        why = ("Scheduled", f"Successfully assigned {key[0]}/{key[1]} to {node}")
        world.record(POD, bound, why, source)


def _unbound(pod: Object) -> bool:
    return (
        not pod["spec"].get("nodeName")
        and pod["spec"].get("schedulerName", SOURCE) in {SOURCE, RUNAI}
        and not is_ended(pod)
        and not pod["metadata"].get("deletionTimestamp")
    )


def _holds(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) and not is_ended(pod)


def _message(total: int, reasons: Counter[str], problem: str) -> str:
    if total == 0:
        return "no nodes available to schedule pods"
    told = problem or ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    full = sum(1 for reason in reasons if reason.startswith(("Insufficient", "Too many")))
    hopeless = "No preemption victims found for incoming pod"
    useless = "Preemption is not helpful for scheduling"
    tail = f"{total} {hopeless if full else useless}"
    return (
        f"0/{total} nodes are available: {told}. preemption: 0/{total} nodes are available: {tail}."
    )


def drained_pods(world: World, node: str) -> list[Key]:
    """The pods that a drain of a node moves away."""
    return [
        key_of(pod)
        for pod in world.store.all(POD)
        if pod["spec"].get("nodeName") == node and not is_ended(pod)
    ]


def preempt(world: World, key: Key, by: str) -> None:
    """Tells a pod to go for another with a higher priority, which has the uid `by`."""
    pod = world.store.get(POD, *key)
    if pod is None:
        return
    words = "default-scheduler: preempting to accommodate a higher priority pod"
    why, now = ("PreemptionByScheduler", words), world.now

    def edit(obj: Object) -> None:
        set_condition(obj, "DisruptionTarget", status=True, why=why, now=now)

    world.change(POD, key, edit)
    told = f"Preempted by pod {by} on node {pod['spec'].get('nodeName', '')}"
    world.record(POD, pod, ("Preempted", told), SOURCE)
    world.deletion.delete(POD, key)
