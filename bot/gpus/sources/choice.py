"""Who is asked what the GPUs of a cluster did, as its settings have it."""

from collections.abc import Mapping

from bot.config import ClusterSettings
from bot.gpus.sources.cloudwatch import CloudWatch
from bot.gpus.sources.cloudwatch_client import CloudWatchClient
from bot.gpus.sources.exporters import Exporters
from bot.gpus.sources.identities import Identities
from bot.gpus.sources.prometheus import Prometheus
from bot.gpus.sources.source import Pace, Source

# Agents send to these what they scraped, which takes a moment longer.
_MANAGED = Pace(late=3)
# It lists a metric that is new after a quarter of an hour, and each one that is asked for costs.
_CLOUDWATCH = Pace(late=15, together=5, again=45, again_together=60)


class Sources:
    """Opens sources, each for one look; who the bot is at clouds is found out once."""

    def __init__(self) -> None:
        self._identities = Identities()

    def open(
        self, cluster: str, at: ClusterSettings, instances: Mapping[str, str] | None = None
    ) -> Source | None:
        """The source of a cluster, to be closed; None where Kubernetes alone knows of its GPUs.

        Then it is known who holds them, and not what they do. `instances` are its nodes by the ids
        of their instances; without them those of all clusters count.
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
    """How the source of a cluster is asked."""
    if at.cloudwatch is not None:
        return _CLOUDWATCH
    is_far = at.prometheus is not None and (at.prometheus.entra or at.prometheus.sigv4)
    return _MANAGED if is_far else Pace()
