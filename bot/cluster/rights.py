"""Rights that the bot needs in a cluster, and which of them it lacks."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from bot.cluster.cluster import Cluster
from bot.cluster.resources import Resource


class Needed(NamedTuple):
    """A right, in one namespace or in all, and there on one object or on all."""

    verb: str
    resource: Resource[Any]
    namespace: str | None = None
    name: str = ""


def lacking(cluster: Cluster, needed: Iterable[Needed]) -> list[Needed]:
    """The rights the bot lacks; ClusterError if the cluster cannot be asked."""
    return [
        each
        for each in needed
        if not cluster.may(
            each.verb,
            each.resource.group,
            each.resource.plural,
            namespace=each.namespace,
            name=each.name,
        )
    ]


def spelled(rights: Iterable[Needed]) -> str:
    """The rights as text for a sentence."""
    return ", ".join(
        f"{each.verb} {each.resource.plural}{f' in {each.namespace}' if each.namespace else ''}"
        for each in rights
    )
