"""Which caches are used now or were used recently, by all pods that mount them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.objects import Pod
from bot.cluster.resources import PODS
from bot.datasets.caches.tables import Cache, CacheShare
from bot.datasets.caches.users import OVER, Place, is_filler, places


@dataclass(frozen=True)
class ClaimUse:
    """The last use of a cache by pods: when, by which, and what uses it now."""

    at: datetime
    by: str
    users: tuple[str, ...] = ()


def look(
    cluster: Cluster, caches: Mapping[str, tuple[Cache, Iterable[CacheShare]]], now: datetime
) -> dict[str, ClaimUse]:
    """The use of caches by their ids; ClusterError if pods cannot be listed.

    A pod that has ended counts as use until its end, any other until now.
    """
    owners: dict[Place, Cache] = {}
    for cache, shares in caches.values():
        owners |= dict.fromkeys(places(cache, shares), cache)
    found: dict[str, ClaimUse] = {}
    for namespace in sorted({each for each, _ in owners}):
        for pod in cluster.list(PODS, namespace):
            for claim in pod.spec.claims:
                used = owners.get((namespace, claim))
                if used is not None and not is_filler(pod, used, cluster.installation):
                    found[used.id] = _later(found.get(used.id), use(pod, now))
    return found


def use(pod: Pod, now: datetime) -> ClaimUse:
    """The use that a pod makes of what it mounts: until now, or until it ended."""
    by = f"pod {pod.name} in {pod.namespace}"
    team = pod.labels.get(labels.TEAM)
    by = f"{by} of {team}" if team and labels.RUN in pod.labels else by
    if pod.status.phase not in OVER:
        return ClaimUse(now, by, (f"Pod {pod.name} in namespace {pod.namespace} mounts it.",))
    ends = [
        each.state.terminated.finished_at
        for each in pod.status.container_statuses
        if each.state.terminated is not None and each.state.terminated.finished_at is not None
    ]
    begun = pod.status.start_time or pod.metadata.creation_timestamp or now
    return ClaimUse(min(max(ends, default=begun), now), by)


def _later(known: ClaimUse | None, new: ClaimUse) -> ClaimUse:
    if known is None:
        return new
    latest = max(known, new, key=lambda each: each.at)
    return ClaimUse(latest.at, latest.by, known.users + new.users)
