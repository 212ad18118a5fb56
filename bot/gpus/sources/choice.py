"""Who is asked what the GPUs of a cluster did, as its settings have it."""

from bot.config import ClusterSettings
from bot.gpus.sources.exporters import Exporters
from bot.gpus.sources.identities import Identities
from bot.gpus.sources.prometheus import Prometheus
from bot.gpus.sources.source import Pace, Source

# Agents send to these what they scraped, which takes a moment longer.
_MANAGED = Pace(late=3)


class Sources:
    """Opens sources, each for one look; who the bot is at clouds is found out once."""

    def __init__(self) -> None:
        self._identities = Identities()

    def open(self, cluster: str, at: ClusterSettings) -> Source | None:
        """The source of a cluster, to be closed; None where Kubernetes alone knows of its GPUs.

        Then it is known who holds them, and not what they do.
        """
        if at.prometheus is not None:
            name = f"The Prometheus of {cluster}"
            return Exporters(Prometheus(name, at.prometheus, self._identities))
        return None


def pace_of(at: ClusterSettings) -> Pace:
    """How the source of a cluster is asked."""
    is_far = at.prometheus is not None and (at.prometheus.entra or at.prometheus.sigv4)
    return _MANAGED if is_far else Pace()
