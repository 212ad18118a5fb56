"""The quotas of KAI's Queues that overrides change, and the JSON Patch that changes one."""

from collections.abc import Iterator
from decimal import Decimal
from functools import partial

from bot.cluster.cluster import Cluster
from bot.cluster.resources import KAI_QUEUES
from bot.cluster.types.kai import Queue, QueueResource
from bot.quotas.engines.engine import QuotaReader
from bot.quotas.engines.kai.queues import borrowing_limit, gpu_share, node_pool, quota_of
from bot.quotas.engines.quota import (
    NOMINAL,
    Operation,
    QuotaAnnotation,
    QuotaField,
    QuotaTarget,
    annotate,
    notes_of,
    observed,
    same_version,
)

KIND = "Queue"
_SHARES = "/spec/resources"
_GPU = f"{_SHARES}/gpu"


class KaiOverrides:
    """Reads and writes the figures of one cluster's Queues."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def look(self, place: QuotaField) -> QuotaReader:
        """Reads a quota from the cluster."""
        queue = self._cluster.get(KAI_QUEUES, place.queue)
        value = _value(queue, place) if queue else None
        installation = self._cluster.installation
        return QuotaReader(
            observed(queue, place, value, installation, KIND), partial(self._write, queue, place)
        )

    def notes(self) -> Iterator[tuple[QuotaField, QuotaAnnotation]]:
        """The notes of this installation on the Queues in the view."""
        for queue in self._cluster.view.all(KAI_QUEUES):
            yield from notes_of(queue, self._cluster.installation)

    def _write(self, queue: Queue | None, place: QuotaField, wanted: QuotaTarget) -> None:
        if queue is not None:
            operations = patch(queue, place, wanted, self._cluster.installation)
            self._cluster.patch_json(KAI_QUEUES, place.queue, operations)


def patch(
    queue: Queue, place: QuotaField, wanted: QuotaTarget, installation: str
) -> list[Operation]:
    """The operations that set the wanted value, and fail if the Queue has changed meanwhile.

    A limit includes the quota, so it changes by the same amount; what may be borrowed stays the
    same.
    """
    share = gpu_share(queue)
    quota, borrowing = quota_of(share), borrowing_limit(share)
    changed: dict[str, Decimal] = {}
    if place.field == NOMINAL:
        changed["quota"] = wanted.value
        if share.limit is not None and share.limit > 0:
            changed["limit"] = share.limit + wanted.value - quota
    elif borrowing is not None:
        changed["limit"] = quota + wanted.value
    return [
        *_unchanged(queue, share),
        *_setting(queue, {name: plain_number(value) for name, value in changed.items()}),
        *annotate(queue, place, wanted.note, installation),
    ]


def _value(queue: Queue, place: QuotaField) -> Decimal | None:
    share = gpu_share(queue)
    if node_pool(queue) != place.flavor:
        return None
    if place.field != NOMINAL:
        return borrowing_limit(share)
    return quota_of(share) if share.quota is None or share.quota >= 0 else None


def _unchanged(queue: Queue, share: QueueResource) -> Iterator[Operation]:
    """The tests that quota and limit are unchanged; an absent one is tested by the version."""
    if share.quota is None or share.limit is None:
        yield same_version(queue)
    if share.quota is not None:
        yield {"op": "test", "path": f"{_GPU}/quota", "value": share.quota.raw}
    if share.limit is not None:
        yield {"op": "test", "path": f"{_GPU}/limit", "value": share.limit.raw}


def _setting(queue: Queue, values: dict[str, int | float]) -> Iterator[Operation]:
    resources = queue.spec.resources
    if resources is None:
        yield {"op": "add", "path": _SHARES, "value": {}}
    if resources is None or resources.gpu is None:
        yield {"op": "add", "path": _GPU, "value": {}}
    for name, value in values.items():
        yield {"op": "add", "path": f"{_GPU}/{name}", "value": value}


def plain_number(value: Decimal) -> int | float:
    """KAI's quotas are JSON numbers, not quantities."""
    return int(value) if value == value.to_integral_value() else float(value)
