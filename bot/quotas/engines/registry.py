"""Which quota engine each cluster has."""

from collections.abc import Callable, Mapping

from bot.cluster.cluster import Cluster
from bot.config import ClusterSettings, Settings
from bot.errors import NotFoundError
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.kai.queues import KaiQueues
from bot.quotas.engines.kai.quota_fields import KaiOverrides
from bot.quotas.engines.kai.runs import KaiRuns
from bot.quotas.engines.kueue.queues import KueueQueues
from bot.quotas.engines.kueue.quota_fields import KueueOverrides
from bot.quotas.engines.kueue.runs import KueueRuns
from bot.quotas.engines.none.queues import PlainOverrides, PlainQueues
from bot.quotas.engines.none.runs import PlainRuns

_USUAL = ClusterSettings()


class Engines:
    """The engines of the configured clusters, by the cluster's name."""

    def __init__(self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters
        self._known: dict[tuple[str, str], Engine] = {}

    def of(self, cluster: str, resource: str | None = None) -> Engine:
        """The engine of a cluster; NotFoundError when the cluster is not configured.

        `resource` is what counts as a GPU, by default that of the current settings.
        """
        if cluster not in self._clusters:
            raise NotFoundError(
                f"Cluster {cluster} is not connected.",
                "Ask a platform admin to check `clusters` in quartermaster.yaml.",
            )
        settings = self._settings()
        found = settings.clusters.get(cluster, _USUAL)
        counted = resource or found.fractions.counted(settings.quotas.resource)
        key = (cluster, counted)
        if key not in self._known:
            self._known[key] = _made(self._clusters[cluster], counted, found)
        return self._known[key]

    def get(self, cluster: str, resource: str | None = None) -> Engine | None:
        """The engine of a cluster, None when the cluster is not configured."""
        return self.of(cluster, resource) if cluster in self._clusters else None


def _made(cluster: Cluster, resource: str, settings: ClusterSettings) -> Engine:
    if settings.engine == "kai":
        return _kai(cluster, resource)
    if settings.engine == "none":
        return _plain(cluster, resource)
    return _kueue(cluster, resource, settings)


def _kueue(cluster: Cluster, resource: str, settings: ClusterSettings) -> Engine:
    fractions = settings.fractions
    queues = KueueQueues(cluster.view, resource, fractions.per_gpu(resource))
    runs = KueueRuns(cluster, queues, settings.excluded_resources)
    overrides = KueueOverrides(cluster, fractions.per_gpu)
    return Engine(cluster.name, queues, overrides, runs, lambda: cluster.trouble)


def _kai(cluster: Cluster, resource: str) -> Engine:
    queues = KaiQueues(cluster.view, resource)
    runs = KaiRuns(cluster, queues)
    return Engine(cluster.name, queues, KaiOverrides(cluster), runs, lambda: cluster.trouble)


def _plain(cluster: Cluster, resource: str) -> Engine:
    queues = PlainQueues(cluster.view, resource)
    runs = PlainRuns(cluster.view, queues)
    return Engine(cluster.name, queues, PlainOverrides(), runs, lambda: cluster.trouble)
