"""The quotas of Run:ai's projects that overrides change, by its REST API."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial

import msgspec

from bot.errors import ClusterError
from bot.quotas.engines.engine import ZERO, QuotaReader
from bot.quotas.engines.quota import NOMINAL, Observed, QuotaAnnotation, QuotaField, QuotaTarget
from bot.quotas.engines.runai.api import RunaiApi
from bot.quotas.engines.runai.objects import GpuShare, PoolResources, ProjectRecord
from bot.quotas.engines.runai.queues import borrowing_limit, quota_of

KIND = "Project"


class RunaiOverrides:
    """Reads and writes what the projects of one cluster may use.

    A project has no place for annotations, so that only the database knows the value before an
    override. The API has no conditional write: a change that another person makes in the moment
    between reading and writing is overwritten; any other is reported and left alone. `refresh` has
    the view read projects again after a change.
    """

    def __init__(self, api: RunaiApi, refresh: Callable[[], None]) -> None:
        self._api = api
        self._refresh = refresh

    def look(self, place: QuotaField) -> QuotaReader:
        """Reads a quota from Run:ai."""
        found = (each for each in self._api.projects() if each.name == place.queue)
        project = next(found, None)
        resources = project.of_pool(place.flavor) if project else None
        value = _value(resources.gpu or GpuShare(), place.field) if resources else None
        return QuotaReader(
            Observed(value, kind=KIND, keeps_notes=False),
            partial(self._write, project, resources, place.field),
        )

    def notes(self) -> Iterator[tuple[QuotaField, QuotaAnnotation]]:
        """Empty: projects have no annotations."""
        return iter(())

    def _write(
        self,
        project: ProjectRecord | None,
        resources: PoolResources | None,
        field: str,
        wanted: QuotaTarget,
    ) -> None:
        pool = resources.node_pool if resources else None
        if project is None or resources is None or pool is None:
            raise ClusterError("Run:ai no longer has the project or its node pool.")
        share = changed(resources.gpu or GpuShare(), field, wanted.value)
        self._api.set_gpu(project, pool.id, share)
        self._refresh()


def changed(share: GpuShare, field: str, value: Decimal) -> GpuShare:
    """The share with another quota, or with another amount to borrow.

    A limit includes the quota, so it changes by the same amount; what may be borrowed stays the
    same.
    """
    quota = quota_of(share)
    if field != NOMINAL:
        return msgspec.structs.replace(share, deserved=quota, limit=quota + value)
    limit = share.limit
    if limit is not None and limit >= 0:
        # Never negative, which would be no limit.
        limit = max(ZERO, limit + value - quota)
    return msgspec.structs.replace(share, deserved=value, limit=limit)


def _value(share: GpuShare, field: str) -> Decimal | None:
    if field != NOMINAL:
        return borrowing_limit(share)
    return quota_of(share) if quota_of(share) >= 0 else None
