"""What needs a team: what the areas keep for it, and what is in its namespace."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, PVCS, SECRETS, Resource
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError

TeamUses = Callable[[Session, str], Iterable[tuple[str, int]]]
"""What an area keeps for a team, with the number of each."""
_OVER = {"Succeeded", "Failed"}
_NAMED = 3


def kept_for(session: Session, team: str, areas: Sequence[TeamUses]) -> list[str]:
    """What the areas keep for a team, as sentences with numbers."""
    return [_counted(what, count) for uses in areas for what, count in uses(session, team) if count]


def in_namespace(cluster: Cluster, namespace: str) -> Iterator[str]:
    """The PVCs, pods and workloads of a namespace, read from the cluster, with numbers.

    Workloads are those that have not ended: while they are suspended, they have no pods.
    """
    claims = cluster.list(PVCS, namespace)
    pods = [each for each in cluster.list(PODS, namespace) if each.status.phase not in _OVER]
    yield from _named("PVC", claims)
    yield from _named("pod", pods)
    for resource, has_ended in cluster.workloads.items():
        found = _served(cluster, resource, namespace)
        yield from _named(resource.kind, [each for each in found if not has_ended(each)])


def secrets_in(cluster: Cluster, namespace: str) -> str:
    """The number of Secrets of others in a namespace, as words; their content is not read."""
    if not cluster.may("list", SECRETS.group, SECRETS.plural, namespace=namespace):
        return "its Secrets are not counted: the bot may not list them"
    found = [
        each
        for each in cluster.list(SECRETS, namespace)
        if each.labels.get(labels.INSTALLATION) != cluster.installation
    ]
    return f"with {len(found) or 'no'} {'Secret' if len(found) == 1 else 'Secrets'}"


def _served(cluster: Cluster, resource: Resource[Any], namespace: str) -> Sequence[Any]:
    try:
        return cluster.list(resource, namespace)
    except ClusterError as error:
        if error.reason != "NotServed":
            raise
        return ()


def _named(what: str, found: Sequence[ClusterObject]) -> Iterator[str]:
    if found:
        named = ", ".join(sorted(each.name for each in found)[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield f"{_counted(what, len(found)).rstrip('.')}: {named}{more}."


def _counted(what: str, count: int) -> str:
    plural = {"cache": "caches", "push": "pushes", "wait for GPUs": "waits for GPUs",
              "request for a run": "requests for runs", "PVC copy": "PVC copies"}  # fmt: skip
    return f"It has {count} {what if count == 1 else plural.get(what, what + 's')}."
