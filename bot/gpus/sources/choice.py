"""Chooses the source of GPU metrics of a cluster, from its settings."""

from collections.abc import Mapping

from bot.config import ClusterSettings
from bot.gpus.sources.cloudwatch import CloudWatch
from bot.gpus.sources.cloudwatch_client import CloudWatchClient
from bot.gpus.sources.exporters import Exporters
from bot.gpus.sources.identities import Identities
from bot.gpus.sources.prometheus import Prometheus
from bot.gpus.sources.source import Pace, Source

# Agents push what they scraped to these, which takes a little longer.
_MANAGED = Pace(late=3)
# It lists new metrics after 15 minutes, and charges for each metric that is queried.
_CLOUDWATCH = Pace(late=15, together=5, again=45, again_together=60)


class Sources:
    """Opens sources, each for one query; the bot's cloud identities are looked up once."""

    def __init__(self) -> None:
        self._identities = Identities()

    def open(
        self, cluster: str, at: ClusterSettings, instances: Mapping[str, str] | None = None
    ) -> Source | None:
        """The source of a cluster, to be closed by the caller; None if the cluster has none.

        Without a source it is known who holds GPUs, but not how busy they are. `instances` are
        the nodes of the cluster by instance id; without them, all instances count.
        """
        if at.prometheus is not None:
            name = f"The Prometheus of {cluster}"
            return Exporters(Prometheus(name, at.prometheus, self._identities))
        if at.cloudwatch is not None:
            name = f"CloudWatch of {at.cloudwatch.region}"
            client = CloudWatchClient(name, at.cloudwatch, self._identities)
            return CloudWatch(client, at.cloudwatch.cluster_name, instances)
        return None


def pace_of(at: ClusterSettings) -> Pace:
    """The query intervals of the source of a cluster."""
    if at.cloudwatch is not None:
        return _CLOUDWATCH
    is_far = at.prometheus is not None and (at.prometheus.entra or at.prometheus.sigv4)
    return _MANAGED if is_far else Pace()
