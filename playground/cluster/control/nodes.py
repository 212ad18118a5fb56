"""Nodes that are lost: tainted, their pods told to go, and ended when the node is no more."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition, set_condition
from playground.cluster.objects.deletion import DeleteOptions
from playground.cluster.objects.kinds import NODE, POD, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Change, Key, key_of

UNREACHABLE = "node.kubernetes.io/unreachable"
GRACE_SECONDS, QUARANTINE_SECONDS = 50, 40
_SILENT = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
_READY = ("KubeletReady", "kubelet is posting ready status")
_TAINTED = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
_ORPHANED = ("DeletionByPodGC", "PodGC: node no longer exists")


class Nodes:
    """Notices nodes whose kubelet is silent, and those that are gone; keys name nodes."""

    def __init__(self, world: World, lost: set[str]) -> None:
        self._world = world
        self._lost = lost
        self._since: dict[str, datetime] = {}
        self._gone: dict[str, datetime] = {}

    def wants(self, change: Change) -> Iterable[Key]:
        """Nodes that changed, and those of pods that did while they are lost."""
        if change.kind == NODE.qualified:
            yield change.key
        elif change.kind == POD.qualified and change.type != "DELETED":
            name = change.obj["spec"].get("nodeName")
            if name in self._lost or name in self._gone:
                yield ("", name)

    def look(self, node: str) -> None:
        """Looks at a node whose kubelet fell silent or speaks again."""
        self._world.loop.mark(self, ("", node))

    def reconcile(self, key: Key) -> None:
        """Brings what is known about a node to the present."""
        node = self._world.store.get(NODE, *key)
        if node is None:
            self._orphan(key)
            return
        self._gone.pop(key[1], None)
        if key[1] not in self._lost:
            self._since.pop(key[1], None)
            if _taints(node):
                self._world.change(NODE, key, lambda obj: _recover(obj, self._world.now))
            return
        noticed = self._since.setdefault(key[1], self._world.now) + seconds(GRACE_SECONDS)
        if self._world.now < noticed:
            self._world.loop.wake(self, key, noticed)
            return
        if not _taints(node):
            node = self._world.change(NODE, key, lambda obj: _lose(obj, self._world.now)) or node
            why = ("NodeNotReady", f"Node {key[1]} status is now: NodeNotReady")
            self._world.record(NODE, node, why, "node-controller")
        self._end_pods(key, moment_of(_taints(node)[0]["timeAdded"]))

    def _end_pods(self, key: Key, since: datetime) -> None:
        """Tells pods to go when they have put up with the taint for as long as they do."""
        upcoming: list[datetime] = []
        for pod in self._pods(key[1]):
            if pod["metadata"].get("deletionTimestamp"):
                continue
            self._doubt(pod)
            patience = _patience(pod)
            if patience is None:
                continue
            end = since + seconds(patience)
            if self._world.now < end:
                upcoming.append(end)
                continue
            self._disrupt(pod, _TAINTED)
            words = f"Marking for deletion Pod {'/'.join(key_of(pod))}"
            why = ("TaintManagerEviction", words)
            self._world.record(POD, pod, why, "taint-eviction-controller")
            self._world.deletion.delete(POD, key_of(pod))
        self._world.loop.wake(self, key, min(upcoming, default=None))

    def _doubt(self, pod: Object) -> None:
        row = condition(pod, "Ready")
        if row is None or row["status"] != "True":
            return
        why, now = ("NodeNotReady", "Node is not ready"), self._world.now

        def edit(obj: Object) -> None:
            set_condition(obj, "Ready", status=False, why=why, now=now)

        self._world.change(POD, key_of(pod), edit)
        self._world.record(POD, pod, why, "node-controller", warning=True)

    def _orphan(self, key: Key) -> None:
        """Ends the pods of a node that is no more."""
        pods = self._pods(key[1])
        if not pods:
            self._gone.pop(key[1], None)
            return
        due = self._gone.setdefault(key[1], self._world.now) + seconds(QUARANTINE_SECONDS)
        if self._world.now < due:
            self._world.loop.wake(self, key, due)
            return
        for pod in pods:
            if not is_ended(pod):
                self._disrupt(pod, _ORPHANED)
                self._world.change(
                    POD, key_of(pod), lambda obj: obj["status"].update(phase="Failed")
                )
            self._world.deletion.delete(POD, key_of(pod), DeleteOptions(grace_seconds=0))

    def _pods(self, node: str) -> list[Object]:
        pods = self._world.store.all(POD)
        return [pod for pod in pods if pod["spec"].get("nodeName") == node]

    def _disrupt(self, pod: Object, why: tuple[str, str]) -> None:
        now = self._world.now

        def edit(obj: Object) -> None:
            set_condition(obj, "DisruptionTarget", status=True, why=why, now=now)

        self._world.change(POD, key_of(pod), edit)


def _taints(node: Object) -> list[dict[str, Any]]:
    rows = (node.get("spec") or {}).get("taints") or ()
    return [row for row in rows if row["key"] == UNREACHABLE]


def _lose(node: Object, now: datetime) -> None:
    set_condition(node, "Ready", status=False, why=_SILENT, now=now)
    row = condition(node, "Ready") or {}
    row["status"] = "Unknown"
    taints = node.setdefault("spec", {}).setdefault("taints", [])
    taints += [
        {"key": UNREACHABLE, "effect": effect, "timeAdded": stamp(now)}
        for effect in ("NoExecute", "NoSchedule")
    ]


def _recover(node: Object, now: datetime) -> None:
    set_condition(node, "Ready", status=True, why=_READY, now=now)
    taints = node["spec"]["taints"]
    node["spec"]["taints"] = [row for row in taints if row["key"] != UNREACHABLE]


def _patience(pod: Object) -> float | None:
    """How many seconds a pod puts up with a lost node; None for ever."""
    for row in pod["spec"].get("tolerations") or ():
        if row.get("key") in {None, "", UNREACHABLE} and row.get("effect") in {None, "NoExecute"}:
            found: float | None = row.get("tolerationSeconds")
            return found
    return 0
