"""The quota engines, and which one each cluster has. A new engine is one line here."""

from collections.abc import Callable, Mapping
from typing import Final

from bot.cluster.cluster import Cluster
from bot.config import ClusterSettings, Settings
from bot.errors import NotFoundError
from bot.quotas.engines.definition import EngineDefinition
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.kai.definition import KAI_ENGINE
from bot.quotas.engines.kueue.definition import KUEUE_ENGINE
from bot.quotas.engines.none.definition import NO_ENGINE
from bot.quotas.engines.runai.definition import RUNAI_ENGINE

DEFAULT: Final = KUEUE_ENGINE
# Run:ai's clusters serve the API group of KAI too, so Run:ai is recognised first.
ENGINES: Final[Mapping[str, EngineDefinition]] = {
    each.name: each for each in (KUEUE_ENGINE, RUNAI_ENGINE, KAI_ENGINE, NO_ENGINE)
}
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
            connect = ENGINES[found.engine].connect
            self._known[key] = connect(self._clusters[cluster], counted, found)
        return self._known[key]

    def get(self, cluster: str, resource: str | None = None) -> Engine | None:
        """The engine of a cluster, None when the cluster is not configured."""
        return self.of(cluster, resource) if cluster in self._clusters else None
