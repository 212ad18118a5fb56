"""Which PVCs of teams are mounted by pods, and when each was first seen and last used."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import bindparam, delete, insert, update
from sqlmodel import Field, Session, SQLModel, col, select

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, PVCS
from bot.cluster.types.objects import Pod
from bot.config import Settings
from bot.database.columns import Moment
from bot.datasets.caches.tables import Cache, CacheShare
from bot.datasets.caches.users import OVER, Place, is_filler, places

# Only days matter, so a PVC in use is not written in every sweep.
_PRECISE = timedelta(hours=1)


@dataclass(frozen=True)
class ClaimUse:
    """The last use of a cache by pods: when, by which, and what uses it now."""

    at: datetime
    by: str
    users: tuple[str, ...] = ()


class ClaimSighting(SQLModel, table=True):
    """When a PVC of a team was first seen, and when a pod was last seen to mount it."""

    __tablename__: ClassVar[Any] = "claim_sights"

    cluster: str = Field(primary_key=True)
    uid: str = Field(primary_key=True)
    seen_at: datetime = Field(sa_type=Moment)
    mounted_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def last_at(self) -> datetime:
        """When it was last seen mounted, or else when it was first seen."""
        return self.mounted_at or self.seen_at


_MOUNTED = (
    update(ClaimSighting)
    .where(
        col(ClaimSighting.cluster) == bindparam("of"), col(ClaimSighting.uid) == bindparam("which")
    )
    .values(mounted_at=bindparam("at"))
)
_GONE = delete(ClaimSighting).where(
    col(ClaimSighting.cluster) == bindparam("of"), col(ClaimSighting.uid) == bindparam("which")
)


@dataclass(frozen=True)
class Mounts:
    """PVCs by their uids, and when those that pods mount were last mounted."""

    claims: Mapping[str, Place]
    used_at: Mapping[Place, datetime]


def teams_by_namespace(settings: Settings, cluster: str) -> dict[str, str]:
    """The namespaces of teams in a cluster, each with its teams."""
    found: dict[str, str] = {}
    for name, team in settings.teams.items():
        if cluster in team.reach:
            known = found.get(team.namespace)
            found[team.namespace] = f"{known}, {name}" if known else name
    return found


def mounts(cluster: Cluster, settings: Settings, now: datetime) -> Mounts | None:
    """PVCs from the view, and by live reads what mounts them; None if this is turned off.

    The view has only pods of runs, but here all pods count.
    """
    if settings.datasets is None or settings.datasets.idle_claims == "off":
        return None
    namespaces = teams_by_namespace(settings, cluster.name)
    claims = {
        each.uid: (each.namespace, each.name)
        for namespace in namespaces
        for each in cluster.view.all(PVCS, namespace)
    }
    pods = (each for namespace in namespaces for each in cluster.list(PODS, namespace))
    return Mounts(claims, used_at(pods, now))


def note(session: Session, cluster: str, seen: Mounts, now: datetime) -> None:
    """Records PVCs seen for the first time, and those seen mounted."""
    noted = select(ClaimSighting.uid, ClaimSighting.mounted_at).where(
        col(ClaimSighting.cluster) == cluster
    )
    known = dict(session.exec(noted).all())
    new, changed = [], []
    for uid, place in seen.claims.items():
        at = seen.used_at.get(place)
        if uid not in known:
            new.append({"cluster": cluster, "uid": uid, "seen_at": now, "mounted_at": at})
        elif at is not None and at - (known[uid] or at - _PRECISE) >= _PRECISE:
            changed.append({"of": cluster, "which": uid, "at": at})
    if new:
        session.connection().execute(insert(ClaimSighting), new)
    if changed:
        session.connection().execute(_MOUNTED, changed)


def noted(session: Session, cluster: str) -> Sequence[ClaimSighting]:
    """What is recorded about the PVCs of a cluster."""
    return session.exec(select(ClaimSighting).where(col(ClaimSighting.cluster) == cluster)).all()


def forget(session: Session, cluster: str, there: Collection[str]) -> None:
    """Deletes the records of PVCs that no longer exist."""
    known = session.exec(
        select(ClaimSighting.uid).where(col(ClaimSighting.cluster) == cluster)
    ).all()
    gone = [{"of": cluster, "which": uid} for uid in known if uid not in there]
    if gone:
        session.connection().execute(_GONE, gone)


def used_at(pods: Iterable[Pod], now: datetime) -> dict[Place, datetime]:
    """When pods mounted PVCs last, by namespace and name."""
    found: dict[Place, datetime] = {}
    for pod in pods:
        for claim in pod.spec.claims:
            place = (pod.namespace, claim)
            found[place] = max(found.get(place) or use(pod, now).at, use(pod, now).at)
    return found


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
