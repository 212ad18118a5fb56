"""The quotas of ClusterQueues that overrides change, and the JSON Patch that changes one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from bot.cluster.cluster import Cluster
from bot.cluster.resources import CLUSTER_QUEUES
from bot.cluster.types.quantities import Quantity, format_quantity
from bot.cluster.types.queues import ClusterQueue, ResourceQuota
from bot.quotas.engines.engine import QuotaReader
from bot.quotas.engines.quota import (
    NOMINAL,
    Operation,
    QuotaAnnotation,
    QuotaField,
    QuotaTarget,
    annotate,
    notes_of,
    observed,
)

KIND = "ClusterQueue"


class KueueOverrides:
    """Reads and writes the quotas of one cluster's ClusterQueues, in GPUs.

    `per_gpu` says how much of a resource is one GPU.
    """

    def __init__(self, cluster: Cluster, per_gpu: Callable[[str], int] = lambda _: 1) -> None:
        self._cluster = cluster
        self._per_gpu = per_gpu

    def look(self, place: QuotaField) -> QuotaReader:
        """Reads a quota from the cluster."""
        queue = self._cluster.get(CLUSTER_QUEUES, place.queue)
        found = _find(queue, place) if queue else None
        value = _value(found[1], place.field) if found else None
        gpus = None if value is None else value / self._per_gpu(place.resource)
        seen = observed(queue, place, gpus, self._cluster.installation, KIND)
        lent = found[1].lending_limit if found and place.field == NOMINAL else None
        if lent is not None:
            # Kueue's webhook rejects a nominalQuota below the lendingLimit.
            seen = replace(seen, least=lent / self._per_gpu(place.resource))
        return QuotaReader(seen, partial(self._write, queue, place))

    def notes(self) -> Iterator[tuple[QuotaField, QuotaAnnotation]]:
        """The notes of this installation on the queues in the view."""
        for queue in self._cluster.view.all(CLUSTER_QUEUES):
            yield from notes_of(queue, self._cluster.installation)

    def _write(self, queue: ClusterQueue | None, place: QuotaField, wanted: QuotaTarget) -> None:
        if queue is not None:
            units = wanted.value * self._per_gpu(place.resource)
            wanted = replace(wanted, value=units)
            operations = patch(queue, place, wanted, self._cluster.installation)
            self._cluster.patch_json(CLUSTER_QUEUES, place.queue, operations)


def patch(
    queue: ClusterQueue, place: QuotaField, wanted: QuotaTarget, installation: str
) -> list[Operation]:
    """The operations that set the wanted value, and fail if the queue has changed meanwhile.

    Index, names and value are tested rather than the resourceVersion, which every status
    update changes.
    """
    path, before = _locate(queue, place)
    return [
        {"op": "test", "path": f"{path.rsplit('/', 2)[0]}/name", "value": place.flavor},
        {"op": "test", "path": f"{path}/name", "value": place.resource},
        {"op": "test", "path": f"{path}/{place.field}", "value": before.raw},
        {
            "op": "replace",
            "path": f"{path}/{place.field}",
            "value": format_quantity(wanted.value),
        },
        *annotate(queue, place, wanted.note, installation),
    ]


def _locate(queue: ClusterQueue, place: QuotaField) -> tuple[str, Quantity]:
    found = _find(queue, place)
    value = _value(found[1], place.field) if found else None
    if found is None or value is None:
        raise LookupError(place.key)
    return found[0], value


def _find(queue: ClusterQueue, place: QuotaField) -> tuple[str, ResourceQuota] | None:
    for g, group in enumerate(queue.spec.resource_groups):
        for f, flavor in enumerate(group.flavors):
            for r, quota in enumerate(flavor.resources):
                if (flavor.name, quota.name) == (place.flavor, place.resource):
                    return f"/spec/resourceGroups/{g}/flavors/{f}/resources/{r}", quota
    return None


def _value(quota: ResourceQuota, field: str) -> Quantity | None:
    return quota.nominal_quota if field == NOMINAL else quota.borrowing_limit
