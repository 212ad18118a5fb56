"""PodGroups: one for each object whose pods name KAI's scheduler, and what its pods ask for."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.placement import Amounts
from playground.cluster.control.scheduler import pod_requests
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import POD, POD_GROUP, PRIORITY_CLASS, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.store import Change, Key, key_of

SCHEDULER = "kai-scheduler"
QUEUE_LABEL = "kai.scheduler/queue"
GROUP_ANNOTATION = "pod-group-name"
LAST_START = "kai.scheduler/last-start-timestamp"
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
GPU = "nvidia.com/gpu"
_MIN_MEMBER = "kai.scheduler/batch-min-member"
_PRIORITY_LABEL = "priorityClassName"
_PREEMPTIBILITY = "kai.scheduler/preemptibility"
_FRACTION = "gpu-fraction"
_NOT_PREEMPTIBLE = 100


class PodGrouper:
    """Makes a PodGroup for the topmost owner of each pod that KAI is to place."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Pods that name KAI's scheduler and have no group yet."""
        if change.kind != POD.qualified or change.type == "DELETED" or not is_kai(change.obj):
            return
        if GROUP_ANNOTATION not in (change.obj["metadata"].get("annotations") or {}):
            yield change.key

    def reconcile(self, key: Key) -> None:
        """Makes the group if it is missing, and notes it on the pod."""
        pod = self._world.store.get(POD, *key)
        if pod is None or is_ended(pod):
            return
        top = self._top(pod)
        name = f"pg-{top['metadata']['name']}-{top['metadata']['uid']}"
        if self._world.store.get(POD_GROUP, key[0], name) is None:
            self._world.operations.create(POD_GROUP, key[0], _group(name, top, pod))

        def edit(obj: Object) -> None:
            obj["metadata"].setdefault("annotations", {})[GROUP_ANNOTATION] = name

        self._world.change(POD, key, edit)

    def _top(self, obj: Object) -> Object:
        owners = obj["metadata"].get("ownerReferences") or ()
        owner = next((each for each in owners if each.get("controller")), None)
        found = self._world.store.of_uid(owner["uid"]) if owner else None
        return self._top(found[1]) if found else obj


def _group(name: str, top: Object, pod: Object) -> Object:
    """The group of a topmost owner, with its labels and annotations."""
    metadata = top["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    either = {**(pod["metadata"].get("labels") or {}), **labels}
    spec = {
        "queue": either.get(QUEUE_LABEL, "default-queue"),
        "minMember": int(annotations.get(_MIN_MEMBER, _members(top))),
        "priorityClassName": either.get(_PRIORITY_LABEL, "train"),
    }
    if _PREEMPTIBILITY in either:
        spec["preemptibility"] = either[_PREEMPTIBILITY]
    owner = {
        "apiVersion": top.get("apiVersion", "v1"),
        "kind": top.get("kind", "Pod"),
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {
        "metadata": {
            "name": name,
            "labels": dict(labels),
            "annotations": dict(annotations),
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _members(top: Object) -> int:
    """How many pods start together: all of what an operator runs, one of a Job."""
    spec = top.get("spec") or {}
    roles = spec.get("mpiReplicaSpecs") or spec.get("pytorchReplicaSpecs") or {}
    return sum(role.get("replicas", 1) for role in roles.values()) or 1


@dataclass
class Group:
    """A PodGroup with its living pods, and what they ask for together."""

    obj: Object
    pending: list[Object]
    placed: list[Object]
    priority: int

    @property
    def key(self) -> Key:
        """Where it is."""
        return key_of(self.obj)

    @property
    def queue(self) -> str:
        """The Queue it names."""
        name: str = self.obj["spec"]["queue"]
        return name

    @property
    def is_preemptible(self) -> bool:
        """Whether it may be pushed out, and so may use more than its Queue's quota."""
        said = self.obj["spec"].get("preemptibility")
        return said == "preemptible" if said else self.priority < _NOT_PREEMPTIBLE

    @property
    def is_leaving(self) -> bool:
        """Whether pods of it are told to end."""
        return any(pod["metadata"].get("deletionTimestamp") for pod in self.placed)

    @property
    def wanted(self) -> Decimal:
        """The GPUs of its pods that have no place."""
        return gpus(self.pending)

    @property
    def held(self) -> Decimal:
        """The GPUs of its pods that have one."""
        return gpus(self.placed)


def groups(world: World) -> list[Group]:
    """All PodGroups, by priority and age."""
    members: dict[Key, list[Object]] = defaultdict(list)
    for pod in world.store.all(POD):
        name = (pod["metadata"].get("annotations") or {}).get(GROUP_ANNOTATION)
        if name and is_kai(pod) and not is_ended(pod):
            members[pod["metadata"]["namespace"], name].append(pod)
    found = [_with_pods(world, obj, members[key_of(obj)]) for obj in world.store.all(POD_GROUP)]
    found.sort(key=lambda each: (-each.priority, each.obj["metadata"]["creationTimestamp"]))
    return found


def _with_pods(world: World, obj: Object, pods: Sequence[Object]) -> Group:
    row = world.store.get(PRIORITY_CLASS, "", obj["spec"].get("priorityClassName", ""))
    unbound = [pod for pod in pods if not pod["spec"].get("nodeName")]
    return Group(
        obj,
        [pod for pod in unbound if not pod["metadata"].get("deletionTimestamp")],
        [pod for pod in pods if pod["spec"].get("nodeName")],
        row["value"] if row else 50,
    )


def is_kai(pod: Object) -> bool:
    """Whether KAI places a pod."""
    return bool(pod["spec"].get("schedulerName") == SCHEDULER)


def requests(pod: Object) -> Amounts:
    """What a pod asks of its node, a part of a GPU included."""
    wanted = pod_requests(pod["spec"])
    part = (pod["metadata"].get("annotations") or {}).get(_FRACTION)
    if part is not None and is_kai(pod):
        wanted[GPU] = wanted.get(GPU, Decimal(0)) + parse_quantity(part)
    return wanted


def gpus(pods: Iterable[Object]) -> Decimal:
    """The GPUs that pods ask for together."""
    return sum((requests(pod).get(GPU, Decimal(0)) for pod in pods), Decimal(0))
