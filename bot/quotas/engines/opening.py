"""The clusters that the configuration names, watched for their quota engines."""

from collections.abc import Mapping
from typing import Any

from bot.cluster.api.connection import Connection
from bot.cluster.api.following import Following
from bot.cluster.cluster import EVERYWHERE, following
from bot.cluster.resources import Resource
from bot.config import Settings
from bot.quotas.engines.registry import ENGINES


def follow(settings: Settings) -> Mapping[str, Following]:
    """What is watched of each cluster, by its name; nothing is until it is started."""
    return {
        name: following(
            name,
            Connection.to(at.kubeconfig, at.context),
            watched_with(at.engine),
            unwatched_with(at.engine),
            sources=ENGINES[at.engine].sources(name, at),
        )
        for name, at in settings.clusters.items()
    }


def watched_with(engine: str) -> Mapping[Resource[Any], str]:
    """What is watched of a cluster with that engine, and label selectors that choose from it."""
    return {**EVERYWHERE, **dict.fromkeys(ENGINES[engine].watched, "")}


def unwatched_with(engine: str) -> tuple[Resource[Any], ...]:
    """What other engines need, which is known and never there in a cluster with that engine."""
    own = ENGINES[engine].watched
    others = (resource for each in ENGINES.values() for resource in each.watched)
    return tuple(dict.fromkeys(each for each in others if each not in own))
