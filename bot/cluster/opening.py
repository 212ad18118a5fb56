"""The clusters that the configuration names."""

from collections.abc import Mapping

from bot.cluster.cluster import WATCHED_WITH, following
from bot.cluster.connection import Connection
from bot.cluster.following import Following
from bot.config import Settings


def follow(settings: Settings) -> Mapping[str, Following]:
    """What is watched of each cluster, by its name; nothing is until it is started."""
    return {
        name: following(name, Connection.to(at.kubeconfig, at.context), WATCHED_WITH[at.engine])
        for name, at in settings.clusters.items()
    }
