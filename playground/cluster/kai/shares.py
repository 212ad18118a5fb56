"""Fair shares: who may have how many GPUs when there are not enough for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from playground.cluster.objects.kinds import Object

_ZERO = Decimal(0)
_NO_LIMIT = Decimal(-1)
_WITHOUT_SHARE = Decimal(1000)
POOL_LABEL = "kai.scheduler/node-pool"


@dataclass
class Row:
    """A Queue that runs go to, in GPUs; `why_not` says why nothing is ever placed in it.

    `pool` is its node pool, None for the default one, whose scheduler sees no other's Queues.
    """

    name: str
    quota: Decimal
    limit: Decimal
    weight: Decimal
    why_not: str = ""
    pool: str | None = None
    allocated: Decimal = _ZERO
    not_preemptible: Decimal = _ZERO
    requested: Decimal = _ZERO
    share: Decimal = _ZERO

    def turn(self, more: Decimal) -> tuple[bool, bool, Decimal, Decimal, Decimal]:
        """When it is served, if its next group needs that many more; the least comes first.

        Queues that have no more than their share, whose next group fits into their quota, that have
        the smaller part of their share with that group, and without it, and the smaller share.
        """
        is_over_quota = self.quota != _NO_LIMIT and self.allocated + more > self.quota
        return (
            self.allocated > self.share,
            is_over_quota,
            self._part(self.allocated + more),
            self._part(self.allocated),
            self.share,
        )

    def _part(self, gpus: Decimal) -> Decimal:
        """How many times its share that is; of a Queue without one far more than of any other."""
        return gpus / self.share if self.share else gpus * _WITHOUT_SHARE

    def is_over_limit(self, more: Decimal) -> bool:
        """Whether it may not have that many more; a limit that is not set is the quota."""
        if self.limit == _NO_LIMIT or not more:
            return False
        most = self.limit if self.limit > 0 else self.quota
        return self.quota != _NO_LIMIT and self.allocated + more > most


def rows(queues: Mapping[str, Object]) -> dict[str, Row]:
    """The Queues that have none below them."""
    parents = {queue["spec"].get("parentQueue") for queue in queues.values()}
    found = {}
    for name, queue in queues.items():
        if name in parents:
            continue
        gpu = ((queue["spec"].get("resources") or {}).get("gpu")) or {}
        found[name] = Row(
            name,
            Decimal(str(gpu.get("quota", 0))),
            Decimal(str(gpu.get("limit", 0))),
            Decimal(str(gpu.get("overQuotaWeight", 0))),
            "" if _is_below(queue, queues) else f"queue {name} has no parent queue",
            pool_of(queue),
        )
    return found


def pool_of(found: Object) -> str | None:
    """The node pool that an object names."""
    pool: str | None = (found["metadata"].get("labels") or {}).get(POOL_LABEL)
    return pool


def _is_below(queue: Object, queues: Mapping[str, Object]) -> bool:
    """Whether it has a parent in its own node pool."""
    parent = queues.get(queue["spec"].get("parentQueue", ""))
    return parent is not None and pool_of(parent) == pool_of(queue)


def divide(total: Decimal, queues: Mapping[str, Row]) -> None:
    """Gives each Queue what it deserves of what it asks for, and the rest by weight.

    In each round a Queue gets the whole GPUs that its weight makes; what is left then goes one
    by one to the heaviest.
    """
    for row in queues.values():
        row.share = row.requested if row.quota == _NO_LIMIT else min(row.quota, row.requested)
    left = total - sum((row.share for row in queues.values()), _ZERO)
    while left > 0:
        hungry = [row for row in queues.values() if row.share < row.requested and row.weight > 0]
        if not hungry:
            return
        given = _round(left, hungry)
        if not given:
            heaviest = max(hungry, key=lambda row: row.weight)
            given = min(left, Decimal(1), heaviest.requested - heaviest.share)
            heaviest.share += given
        left -= given


def _round(left: Decimal, hungry: list[Row]) -> Decimal:
    weights = sum((row.weight for row in hungry), _ZERO)
    given = _ZERO
    for row in hungry:
        part = min(left * row.weight // weights, row.requested - row.share)
        row.share += part
        given += part
    return given
