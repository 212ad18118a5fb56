"""The scheduling cycle: who is placed, who is pushed out for it, and what the rest is told."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from playground.cluster.control.placement import Amounts, Placement
from playground.cluster.control.scheduler import bind
from playground.cluster.control.world import World
from playground.cluster.kai.groups import (
    GPU,
    LAST_EVICTION,
    LAST_START,
    Group,
    groups,
    requests,
)
from playground.cluster.kai.shares import Row, divide, pool_of, rows
from playground.cluster.objects.conditions import is_true
from playground.cluster.objects.kinds import KAI_QUEUE, NODE, POD, POD_GROUP, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.store import Change, Key, key_of

SOURCE = "kai-scheduler"
CYCLE: Key = ("", "kai-cycle")
_KINDS = {kind.qualified for kind in (KAI_QUEUE, NODE, POD, POD_GROUP)}
Why = tuple[str, str]
_FULL: Why = (
    "PodSchedulingErrors",
    "no nodes with enough resources were found: node(s) didn't have enough resources: GPUs.",
)


class KaiScheduler:
    """Runs one cycle whenever Queues, nodes, pods or PodGroups changed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._placement = Placement(world)

    def wants(self, change: Change) -> Iterable[Key]:
        """One cycle for any number of changes."""
        if change.kind in _KINDS:
            yield CYCLE

    def reconcile(self, key: Key) -> None:
        """Places whom it can, pushes out whom it must, and tells the others why they wait."""
        del key
        found = groups(self._world)
        queues = self._rows(found)
        waiting = [group for group in found if group.pending]
        reasons = self._allocate(waiting, queues)
        if not any(group.is_leaving for group in found):
            self._push_out(waiting, found, queues, reasons)
        for group in groups(self._world):
            self._tell(group, reasons.get(group.key))

    def _rows(self, found: list[Group]) -> dict[str, Row]:
        queues = {each["metadata"]["name"]: each for each in self._world.store.all(KAI_QUEUE)}
        made = rows(queues)
        for group in found:
            row = made.get(group.queue)
            if row is not None:
                row.allocated += group.held
                row.not_preemptible += _ZERO if group.is_preemptible else group.held
                row.requested += group.held + group.wanted
        divide(sum((_room(node) for node in self._nodes()), _ZERO), made)
        return made

    def _allocate(self, waiting: list[Group], queues: dict[str, Row]) -> dict[Key, Why]:
        """Places the first group of each Queue in turn."""
        reasons: dict[Key, Why] = {}
        left = list(waiting)
        while left:
            first = {group.queue: group for group in reversed(left)}
            group = min(
                (each for each in left if first[each.queue] is each),
                key=lambda each: _turn(each, queues.get(each.queue)),
            )
            left.remove(group)
            why = _forbidden(group, queues.get(group.queue)) or self._place(group)
            if why is not None:
                reasons[group.key] = why
                continue
            row = queues[group.queue]
            row.allocated += group.wanted
            row.not_preemptible += _ZERO if group.is_preemptible else group.wanted
        return reasons

    def _place(self, group: Group) -> Why | None:
        """Binds the pods of a group, all that it needs together or none."""
        used = self._used()
        chosen: list[tuple[Key, str]] = []
        for pod in group.pending:
            wanted = requests(pod)
            node = self._node(pod, wanted, used)
            if node is None:
                break
            for name, amount in {**wanted, "pods": Decimal(1)}.items():
                used[node][name] += amount
            chosen.append((key_of(pod), node))
        if len(chosen) + len(group.placed) < group.obj["spec"].get("minMember", 1):
            return _FULL
        for key, node in chosen:
            bind(self._world, key, node, SOURCE)
        return None if len(chosen) == len(group.pending) else _FULL

    def _node(self, pod: Object, wanted: Amounts, used: dict[str, Amounts]) -> str | None:
        """The fullest node that a pod fits on."""
        names = [
            str(node["metadata"]["name"])
            for node in self._nodes()
            if pool_of(node) == pool_of(pod)
            and not self._placement.obstacles(pod, node, wanted, used[node["metadata"]["name"]])
        ]
        return max(sorted(names), key=lambda name: used[name].get(GPU, _ZERO), default=None)

    def _push_out(
        self,
        waiting: list[Group],
        found: list[Group],
        queues: dict[str, Row],
        reasons: dict[Key, Why],
    ) -> None:
        """Makes room for the first group that is due it; its pods are placed when that is free."""
        for group in waiting:
            row = queues.get(group.queue)
            if reasons.get(group.key) != _FULL or row is None:
                continue
            victims = _victims(group, row, found, queues)
            free = sum((_room(node) for node in self._nodes()), _ZERO) - sum(
                (row.allocated for row in queues.values()), _ZERO
            )
            chosen = []
            for victim in victims:
                if free >= group.wanted:
                    break
                chosen.append(victim)
                free += victim.held
            if chosen and free >= group.wanted:
                for victim in _needed(chosen, free - group.wanted):
                    self._evict(victim, group)
                return

    def _evict(self, victim: Group, winner: Group) -> None:
        name = "/".join(winner.key)
        for pod in victim.placed:
            where = "/".join(key_of(pod))
            why = ("Evict", f"Pod {where} was preempted by workload {name}.")
            self._world.record(POD_GROUP, victim.obj, why, SOURCE)
            self._world.deletion.delete(POD, key_of(pod))
        self._annotate(victim, LAST_EVICTION)

    def _tell(self, group: Group, why: Why | None) -> None:
        """Writes why a group has no place, or that nothing is in its way."""
        if group.placed and all(is_true(pod, "Ready") for pod in group.placed):
            self._note_start(group)
        told = (group.obj.get("status") or {}).get("schedulingConditions") or []
        if why is None:
            if told and not group.pending:
                self._world.change(POD_GROUP, group.key, _clear)
            return
        if group.placed or (told and told[-1]["reasons"][0] == _reason(why)):
            return
        row = {
            "type": "UnschedulableOnNodePool",
            "status": "True",
            "reason": "Unschedulable",
            "message": why[1],
            "nodePool": pool_of(group.obj) or "default",
            "lastTransitionTime": stamp(self._world.now),
            "transitionID": str(int(told[-1]["transitionID"]) + 1 if told else 1),
            "reasons": [_reason(why)],
        }

        def edit(obj: Object) -> None:
            obj.setdefault("status", {})["schedulingConditions"] = [row]

        self._world.change(POD_GROUP, group.key, edit)
        self._world.record(POD_GROUP, group.obj, ("Unschedulable", why[1]), SOURCE)

    def _note_start(self, group: Group) -> None:
        notes = group.obj["metadata"].get("annotations") or {}
        started, evicted = notes.get(LAST_START, ""), notes.get(LAST_EVICTION, "")
        if not group.is_leaving and (not started or started <= evicted):
            self._annotate(group, LAST_START)

    def _annotate(self, group: Group, name: str) -> None:
        now = stamp(self._world.now)

        def edit(obj: Object) -> None:
            obj["metadata"].setdefault("annotations", {})[name] = now

        self._world.change(POD_GROUP, group.key, edit)

    def _nodes(self) -> list[Object]:
        return [
            node
            for node in self._world.store.all(NODE)
            if is_true(node, "Ready") and not (node.get("spec") or {}).get("unschedulable")
        ]

    def _used(self) -> dict[str, Amounts]:
        used: dict[str, Amounts] = defaultdict(lambda: defaultdict(Decimal))
        for pod in self._world.store.all(POD):
            node = pod["spec"].get("nodeName")
            if node and pod["status"]["phase"] not in {"Succeeded", "Failed"}:
                for name, amount in {**requests(pod), "pods": Decimal(1)}.items():
                    used[node][name] += amount
        return used


_ZERO = Decimal(0)


def _turn(group: Group, row: Row | None) -> tuple[bool, tuple[bool | Decimal, ...]]:
    return (row is None, row.turn(group.wanted) if row else ())


def _forbidden(group: Group, row: Row | None) -> Why | None:
    """Why a group may not be placed whatever is free."""
    if row is None or row.why_not or row.pool != pool_of(group.obj):
        said = row.why_not if row and row.why_not else f"queue {group.queue} does not exist"
        return "QueueDoesNotExist", said
    wanted = group.wanted
    if row.is_over_limit(wanted):
        return "OverLimit", (
            f"{row.name} quota has reached the allowable limit of GPUs. Limit is"
            f" {row.limit if row.limit > 0 else row.quota} GPUs, currently {row.allocated} GPUs"
            f" allocated and workload requested {wanted} GPUs"
        )
    if not group.is_preemptible and row.not_preemptible + wanted > row.quota >= 0:
        return "NonPreemptibleOverQuota", (
            "Non-preemptible workload is over quota. Workload requested"
            f" {wanted} GPUs, but {row.name} quota is {row.quota} GPUs, while"
            f" {row.not_preemptible} GPUs are already allocated for non-preemptible pods. Use a"
            " preemptible workload to go over quota."
        )
    return None


def _victims(group: Group, row: Row, found: list[Group], queues: dict[str, Row]) -> list[Group]:
    """Whom a group may push out, the newest of the lowest priority first.

    In other Queues those that are over their share, as far as its own is not; in its own Queue
    those of lower priority.
    """
    is_due = row.allocated + group.wanted <= max(row.share, row.quota)
    chosen = []
    for other in reversed(found):
        theirs = queues.get(other.queue)
        if not other.placed or not other.is_preemptible or theirs is None:
            continue
        if other.queue == group.queue:
            if other.priority < group.priority:
                chosen.append(other)
        elif is_due and theirs.allocated > max(theirs.share, min(theirs.quota, theirs.requested)):
            chosen.append(other)
    return chosen


def _needed(chosen: list[Group], spare: Decimal) -> list[Group]:
    """Those that cannot stay where they are beside whom they make room for."""
    needed = []
    for victim in chosen:
        if victim.held <= spare:
            spare -= victim.held
        else:
            needed.append(victim)
    return needed


def _room(node: Object) -> Decimal:
    return parse_quantity(node["status"]["allocatable"].get(GPU, "0"))


def _reason(why: Why) -> dict[str, Any]:
    return {"reason": why[0], "message": why[1]}


def _clear(obj: Object) -> None:
    obj["status"].pop("schedulingConditions", None)
