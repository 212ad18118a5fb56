"""Kueue's validating webhooks: what they refuse of its own kinds, and of jobs that it manages."""

from collections.abc import Callable

from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.frameworks import Framework
from playground.cluster.kueue.job_rules import Written, job_causes
from playground.cluster.kueue.queue_rules import cohort_causes, flavor_causes, queue_causes
from playground.cluster.kueue.workload_rules import workload_causes
from playground.cluster.objects.errors import Cause, denied
from playground.cluster.objects.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    FLAVOR,
    LOCAL_QUEUE,
    WORKLOAD,
    Kind,
    Object,
)
from playground.cluster.objects.store import Store

_DEFAULT = "default"
_OWN: dict[str, Callable[[Object], list[Cause]]] = {
    CLUSTER_QUEUE.qualified: queue_causes,
    COHORT.qualified: cohort_causes,
    FLAVOR.qualified: flavor_causes,
}


class KueueWebhooks:
    """Looks at each write as Kueue does; jobs only while `configuration` gives one."""

    def __init__(
        self,
        store: Store,
        frameworks: tuple[Framework, ...],
        configuration: Callable[[], Configuration | None],
    ) -> None:
        self._store = store
        self._frameworks = {each.kind.qualified: each for each in frameworks}
        self._configuration = configuration

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Raises 403 for what may not be."""
        causes = self._causes(kind, obj, old)
        if causes:
            raise denied(f"v{kind.kind.lower()}.kb.io", causes)

    def _causes(self, kind: Kind, obj: Object, old: Object | None) -> list[Cause]:
        if kind.qualified in _OWN:
            return _OWN[kind.qualified](obj)
        if kind.qualified == WORKLOAD.qualified:
            return workload_causes(obj, old)
        configuration, framework = self._configuration(), self._frameworks.get(kind.qualified)
        if framework is None or configuration is None or not configuration.manages(kind.qualified):
            return []
        space = obj["metadata"]["namespace"]
        defaulted = self._store.get(LOCAL_QUEUE, space, _DEFAULT) is not None
        return job_causes(Written(framework, obj, old, defaulted))
