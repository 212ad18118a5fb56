"""What is used and asked for, as KAI's controllers write it on PodGroups and Queues."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from playground.cluster.control.world import World
from playground.cluster.kai.groups import Group, groups, requests
from playground.cluster.objects.kinds import KAI_QUEUE, POD, POD_GROUP, Object
from playground.cluster.objects.quantities import show_quantity
from playground.cluster.objects.store import Change, Key

ALL: Key = ("", "kai-status")
_KINDS = {kind.qualified for kind in (KAI_QUEUE, POD, POD_GROUP)}
Sums = dict[str, dict[str, Decimal]]
_FIELDS = ("allocated", "allocatedNonPreemptible", "requested")


class KaiStatus:
    """Sums up pods into their PodGroups, those into their Queues, and those into their parents."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """One count for any number of changes."""
        if change.kind in _KINDS:
            yield ALL

    def reconcile(self, key: Key) -> None:
        """Writes what changed."""
        del key
        of_queue: dict[str, Sums] = defaultdict(_nothing)
        for group in groups(self._world):
            sums = _sums(group)
            _add(of_queue[group.queue], sums)
            shown = _shown(sums)

            def edit(obj: Object, shown: dict[str, Any] = shown) -> None:
                obj.setdefault("status", {})["resourcesStatus"] = shown

            self._world.change(POD_GROUP, group.key, edit)
        self._count_queues(of_queue)

    def _count_queues(self, of_queue: dict[str, Sums]) -> None:
        queues = {each["metadata"]["name"]: each for each in self._world.store.all(KAI_QUEUE)}
        below: dict[str, list[str]] = defaultdict(list)
        for name, queue in queues.items():
            below[queue["spec"].get("parentQueue", "")].append(name)

        def total(name: str) -> Sums:
            sums = _nothing()
            _add(sums, of_queue[name])
            for child in below[name]:
                _add(sums, total(child))
            return sums

        for name in queues:
            status = _shown(total(name)) | (
                {"childQueues": sorted(below[name])} if below[name] else {}
            )

            def edit(obj: Object, status: dict[str, Any] = status) -> None:
                obj["status"] = status

            self._world.change(KAI_QUEUE, ("", name), edit)


def _nothing() -> Sums:
    return {field: defaultdict(Decimal) for field in _FIELDS}


def _add(sums: Sums, more: Sums) -> None:
    for field, amounts in more.items():
        for name, amount in amounts.items():
            sums[field][name] += amount


def _sums(group: Group) -> Sums:
    sums = _nothing()
    for pod in (*group.pending, *group.placed):
        for name, amount in requests(pod).items():
            sums["requested"][name] += amount
    for pod in group.placed:
        for name, amount in requests(pod).items():
            sums["allocated"][name] += amount
            if not group.is_preemptible:
                sums["allocatedNonPreemptible"][name] += amount
    return sums


def _shown(sums: Sums) -> dict[str, Any]:
    """The sums as quantities; what is nothing is left out."""
    return {
        field: {name: show_quantity(amount, name) for name, amount in amounts.items()}
        for field, amounts in sums.items()
        if amounts
    }
