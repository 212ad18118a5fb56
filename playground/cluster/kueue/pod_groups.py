"""Groups of pods, as Kueue manages them: gated at creation, and admitted by one Workload."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import orjson

from playground.cluster.control.job_counts import is_active
from playground.cluster.control.world import World
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.transitions import give_back, say
from playground.cluster.kueue.workloads import (
    FINALIZER,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    is_evicted,
    is_finished,
    is_reserved,
)
from playground.cluster.objects.conditions import condition, set_condition
from playground.cluster.objects.kinds import POD, WORKLOAD, WORKLOAD_PRIORITY, Kind, Object
from playground.cluster.objects.store import Change, Key, key_of

GROUP = "kueue.x-k8s.io/pod-group-name"
COUNT = "kueue.x-k8s.io/pod-group-total-count"
RETRIABLE = "kueue.x-k8s.io/retriable-in-group"
MANAGED = "kueue.x-k8s.io/managed"
GATE = "kueue.x-k8s.io/admission"
_IS_GROUP = "kueue.x-k8s.io/is-group-workload"
_SOURCE = "pod-kueue-controller"
_READY = ("Started", "All pods reached readiness and the workload is running")


def gate_at_creation(
    kind: Kind, pod: Object, old: Object | None, configuration: Configuration
) -> None:
    """The webhook: a pod of a group that names a queue waits for the admission of its group."""
    labels = pod["metadata"].get("labels") or {}
    is_queued = QUEUE_LABEL in labels and GROUP in labels
    if kind != POD or old is not None or not is_queued or not configuration.manages("pods"):
        return
    pod["metadata"]["labels"] = {**labels, MANAGED: "true"}
    pod["metadata"]["finalizers"] = [*(pod["metadata"].get("finalizers") or []), MANAGED]
    others = [row for row in pod["spec"].get("schedulingGates") or () if row["name"] != GATE]
    pod["spec"]["schedulingGates"] = [*others, {"name": GATE}]


class PodGroups:
    """Keeps each group of pods and its Workload in step; queues that are stopped are not seen."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Groups of pods that changed, or whose Workload did."""
        metadata = change.obj["metadata"]
        if change.kind == POD.qualified and MANAGED in (metadata.get("labels") or {}):
            yield change.key[0], metadata["labels"][GROUP]
        elif change.kind == WORKLOAD.qualified and _IS_GROUP in (metadata.get("annotations") or {}):
            yield change.key

    def reconcile(self, key: Key) -> None:
        """Brings a group in step with its Workload."""
        pods = self._pods(key)
        workload = self._world.store.get(WORKLOAD, *key)
        if not any(map(_counts, pods)) and not (workload and is_reserved(workload)):
            self._dissolve(pods, workload)
        elif workload is None:
            self._join(key, pods)
        elif is_finished(workload):
            self._let_go(pods)
            self._world.deletion.drop_finalizer(WORKLOAD, key, FINALIZER)
        elif _is_over(pods):
            done = sum(pod["status"]["phase"] == "Succeeded" for pod in pods)
            why, now = ("Succeeded", f"Pods succeeded: {done}/{_total(pods)}."), self._world.now
            self._world.change(WORKLOAD, key, lambda obj: say(obj, "Finished", now, why))
        else:
            self._follow(key, pods, workload)

    def _pods(self, key: Key) -> list[Object]:
        return [
            pod
            for pod in self._world.store.all(POD, key[0])
            if (pod["metadata"].get("labels") or {}).get(GROUP) == key[1]
            and MANAGED in (pod["metadata"].get("finalizers") or ())
        ]

    def _dissolve(self, pods: Sequence[Object], workload: Object | None) -> None:
        """Ends a group that has no pods left that could run."""
        self._let_go(pods)
        if workload is not None:
            self._world.deletion.drop_finalizer(WORKLOAD, key_of(workload), FINALIZER)
            if not workload["metadata"].get("deletionTimestamp"):
                self._world.deletion.delete(WORKLOAD, key_of(workload))

    def _join(self, key: Key, pods: Sequence[Object]) -> None:
        """Makes the Workload once the group is whole."""
        members = [pod for pod in pods if _counts(pod)]
        self._let_go([pod for pod in pods if not _counts(pod)])
        if len(members) < _total(members):
            return
        labels = members[0]["metadata"]["labels"]
        spec: dict[str, Any] = {
            "active": True,
            "queueName": labels[QUEUE_LABEL],
            "priority": 0,
            "podSets": _pod_sets(members),
        }
        name = labels.get(PRIORITY_LABEL)
        found = self._world.store.get(WORKLOAD_PRIORITY, "", name) if name else None
        if found is not None:
            reference = {"group": WORKLOAD.group, "kind": WORKLOAD_PRIORITY.kind, "name": name}
            spec |= {"priority": found["value"], "priorityClassRef": reference}
        metadata = {
            "name": key[1],
            "annotations": {_IS_GROUP: "true"},
            "finalizers": [FINALIZER],
            "ownerReferences": [_owner(pod) for pod in members],
        }
        self._world.operations.create(WORKLOAD, key[0], {"metadata": metadata, "spec": spec})

    def _follow(self, key: Key, pods: Sequence[Object], workload: Object) -> None:
        if is_evicted(workload) and is_reserved(workload):
            self._stop(pods, workload)
            if not any(pod["status"]["phase"] == "Running" for pod in self._pods(key)):
                now = self._world.now
                self._world.change(WORKLOAD, key, lambda obj: give_back(obj, "Pending", now))
            return
        self._let_go(_replaced(pods, workload))
        self._be_owned(key, pods, workload)
        if is_reserved(workload):
            for pod in pods:
                if _is_gated(pod) and not pod["metadata"].get("deletionTimestamp"):
                    self._world.change(POD, key_of(pod), _open)
            if condition(workload, "PodsReady") is None and _are_ready(pods):
                now = self._world.now
                self._world.change(WORKLOAD, key, lambda obj: say(obj, "PodsReady", now, _READY))

    def _be_owned(self, key: Key, pods: Sequence[Object], workload: Object) -> None:
        """Has all pods of the group own the Workload, which would be collected with the last."""
        known = {each["uid"] for each in workload["metadata"]["ownerReferences"]}
        more = [_owner(pod) for pod in pods if pod["metadata"]["uid"] not in known]

        def edit(obj: Object) -> None:
            obj["metadata"]["ownerReferences"] = [*obj["metadata"]["ownerReferences"], *more]

        if more:
            self._world.change(WORKLOAD, key, edit)

    def _stop(self, pods: Sequence[Object], workload: Object) -> None:
        """Deletes the pods of an evicted group; those that make them make new ones, gated."""
        row = condition(workload, "Evicted") or {"message": ""}
        why, now = ("WorkloadEvicted", row["message"]), self._world.now

        def mark(pod: Object) -> None:
            set_condition(pod, "TerminationTarget", status=True, why=why, now=now)

        for pod in pods:
            if is_active(pod) and not _is_gated(pod):
                self._world.change(POD, key_of(pod), mark)
                self._world.record(POD, pod, ("Stopped", row["message"]), _SOURCE)
                self._world.deletion.delete(POD, key_of(pod))

    def _let_go(self, pods: Iterable[Object]) -> None:
        for pod in pods:
            self._world.deletion.drop_finalizer(POD, key_of(pod), MANAGED)


def _role(pod: Object) -> str:
    """What pods of one role have in common."""
    containers = pod["spec"]["containers"]
    parts = [{"image": each["image"], "asks": each.get("resources")} for each in containers]
    return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]


def _pod_sets(pods: Sequence[Object]) -> list[dict[str, Any]]:
    roles: dict[str, list[Object]] = {}
    for pod in pods:
        roles.setdefault(_role(pod), []).append(pod)
    return [
        {
            "name": role,
            "count": len(members),
            "template": {
                "metadata": {"labels": members[0]["metadata"]["labels"]},
                "spec": _ungated(members[0]["spec"]),
            },
        }
        for role, members in sorted(roles.items())
    ]


def _owner(pod: Object) -> dict[str, str]:
    metadata = pod["metadata"]
    return {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}


def _total(pods: Sequence[Object]) -> int:
    return int(pods[0]["metadata"]["annotations"][COUNT])


def _counts(pod: Object) -> bool:
    """Whether it can run, runs, or has succeeded."""
    is_leaving = pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName")
    return not is_leaving and pod["status"]["phase"] != "Failed"


def _replaced(pods: Sequence[Object], workload: Object) -> list[Object]:
    """Those that failed or went, and in whose place others are."""
    found = []
    for row in workload["spec"]["podSets"]:
        mine = [pod for pod in pods if _role(pod) == row["name"]]
        if sum(map(_counts, mine)) >= row["count"]:
            found += [pod for pod in mine if not _counts(pod)]
    return found


def _is_over(pods: Sequence[Object]) -> bool:
    """Whether all have succeeded, or none is left of a group that is not tried again."""
    phases = [pod["status"]["phase"] for pod in pods]
    if phases.count("Succeeded") == _total(pods):
        return True
    notes = [pod["metadata"].get("annotations") or {} for pod in pods]
    is_final = any(each.get(RETRIABLE) == "false" for each in notes)
    return is_final and not any(
        _counts(pod) and pod["status"]["phase"] != "Succeeded" for pod in pods
    )


def _are_ready(pods: Sequence[Object]) -> bool:
    return all(pod["status"]["phase"] in {"Running", "Succeeded"} for pod in pods)


def _is_gated(pod: Object) -> bool:
    return any(row["name"] == GATE for row in pod["spec"].get("schedulingGates") or ())


def _open(pod: Object) -> None:
    pod["spec"] = _ungated(pod["spec"])


def _ungated(spec: dict[str, Any]) -> dict[str, Any]:
    left = [row for row in spec.get("schedulingGates") or () if row["name"] != GATE]
    plain = {name: value for name, value in spec.items() if name != "schedulingGates"}
    return plain | ({"schedulingGates": left} if left else {})
