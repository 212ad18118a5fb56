"""What uses a cache (pods, runs, snapshots, clones, pins), as sentences, and waking those users."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, PVCS, SNAPSHOTS, VOLUMES
from bot.cluster.types.claims import DataSource, PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import Pod
from bot.datasets.caches.tables import CACHE, SHARE, Cache, CacheShare
from bot.durations import format_duration
from bot.holds import Hold
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane

PIN = "pin"
OVER = frozenset({"Succeeded", "Failed"})
_CLAIM = "PersistentVolumeClaim"
Place = tuple[str, str]
# A pin is a hold too, but has no controller.
_LOOKED_AT = frozenset({"run"})


def places(cache: Cache, shares: Iterable[CacheShare]) -> frozenset[Place]:
    """The PVCs (namespace, name) of a cache and its shares."""
    return frozenset(
        {
            (cache.namespace, cache.claim_name),
            *((each.namespace, each.claim_name) for each in shares),
        }
    )


def mounts(pod: Pod, seen: Collection[Place]) -> bool:
    """Whether a pod mounts one of these PVCs, in any phase."""
    return any((pod.namespace, claim) in seen for claim in pod.spec.claims)


def is_filler(pod: Pod, cache: Cache, installation: str) -> bool:
    """Whether a pod is one that fills this cache."""
    ours = {labels.DATASET_CACHE: cache.id, labels.INSTALLATION: installation}
    return ours.items() <= pod.labels.items()


def holding(session: Session, cache: Cache, now: datetime) -> list[str]:
    """Sentences about the holds on a cache, from the rows."""
    found = holds.on(session, CACHE, cache.id, now)
    return [said_of(each, now) for each in sorted(found, key=_order)]


def needing_cache(cluster: Cluster, cache: Cache, shares: Iterable[CacheShare]) -> list[str]:
    """What in the cluster needs a cache, by live reads; ClusterError if a read fails."""
    return needing(cluster, places(cache, shares), cache)


def needing(cluster: Cluster, seen: frozenset[Place], cache: Cache | None = None) -> list[str]:
    """What needs any of these PVCs, apart from the pods that fill the cache."""
    return [
        *_pods(cluster, cache, seen),
        *_snapshots(cluster, seen),
        *_copies(cluster, seen),
    ]


def _order(hold: Hold) -> tuple[bool, str]:
    return hold.subject_kind == PIN, hold.subject_id


def said_of(hold: Hold, now: datetime) -> str:
    """One hold as a sentence: who, why and until when."""
    until = "" if hold.until is None else f" for another {format_duration(hold.until - now)}"
    if hold.subject_kind == PIN:
        return f"<@{hold.subject_id}> has pinned it{until}: {hold.why}."
    return f"It is needed by {hold.why}{until}."


def _pods(cluster: Cluster, cache: Cache | None, seen: Collection[Place]) -> Iterator[str]:
    for namespace in sorted({each for each, _ in seen}):
        for pod in cluster.list(PODS, namespace):
            is_going_on = pod.status.phase not in OVER
            ours = cache is not None and is_filler(pod, cache, cluster.installation)
            if is_going_on and mounts(pod, seen) and not ours:
                yield f"Pod {pod.name} in namespace {namespace} mounts it."


def _snapshots(cluster: Cluster, seen: Collection[Place]) -> Iterator[str]:
    """Trident keeps a volume, and its price, for as long as it has a snapshot."""
    if not cluster.served(SNAPSHOTS.group):
        return
    for namespace in sorted({each for each, _ in seen}):
        for snapshot in cluster.list(SNAPSHOTS, namespace):
            if (namespace, snapshot.spec.source.persistent_volume_claim_name) in seen:
                yield f"VolumeSnapshot {snapshot.name} in namespace {namespace} was taken of it."


def _copies(cluster: Cluster, seen: Collection[Place]) -> Iterator[str]:
    claims = cluster.list(PVCS)
    for claim in claims:
        if (claim.namespace, claim.name) not in seen and _is_copy(claim, seen):
            yield f"PVC {claim.name} in namespace {claim.namespace} is a clone or share of it."
    volumes = cluster.list(VOLUMES)
    handles = {_handle(each) for each in volumes if _bound_to(each) in seen} - {None}
    # A volume that was made for a cache names a file system, on which others are, too.
    handles -= {_handle(each) for each in volumes if labels.DATASET_CACHE in each.labels}
    for volume in volumes:
        place = _bound_to(volume)
        is_other = place is not None and place not in seen and volume.status.phase == "Bound"
        if place is not None and is_other and _handle(volume) in handles:
            yield f"PVC {place[1]} in namespace {place[0]} uses the same volume."


def _is_copy(claim: PersistentVolumeClaim, seen: Collection[Place]) -> bool:
    notes = claim.metadata.annotations
    namespace = notes.get(labels.CLONED_FROM_NAMESPACE, claim.namespace)
    sources = {
        (namespace, notes.get(labels.CLONED_FROM, "")),
        tuple(notes.get(labels.SHARED_FROM, "").split("/", 1)),
        *(_source(each, claim) for each in (claim.spec.data_source, claim.spec.data_source_ref)),
    }
    return not sources.isdisjoint(seen)


def _source(source: DataSource | None, claim: PersistentVolumeClaim) -> Place | None:
    if source is None or source.kind != _CLAIM:
        return None
    return source.namespace or claim.namespace, source.name


def _handle(volume: PersistentVolume) -> tuple[str, str] | None:
    csi = volume.spec.csi
    return (csi.driver, csi.volume_handle) if csi is not None and csi.volume_handle else None


def _bound_to(volume: PersistentVolume) -> Place | None:
    claim = volume.spec.claim_ref
    return (claim.namespace, claim.name) if claim is not None else None


def wake_holders(session: Session, cache: Cache, now: datetime) -> None:
    """Makes the runs that hold the cache, and its shares, due now."""
    for hold in holds.on(session, CACHE, cache.id, now):
        if hold.subject_kind in _LOOKED_AT:
            wake(session, hold.subject_kind, hold.subject_id, cluster_lane(cache.cluster), now)
    shares = select(CacheShare).where(
        col(CacheShare.cache_id) == cache.id, col(CacheShare.ended_at).is_(None)
    )
    for share in session.exec(shares):
        wake(session, SHARE, share.id, cluster_lane(share.cluster), now)
