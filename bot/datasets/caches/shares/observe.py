"""Observes the objects of a share and of its cache, by live reads: there are few of them."""

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, PVCS, VOLUME_REFERENCES, VOLUMES
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim, VolumeReference
from bot.cluster.types.objects import ClusterObject
from bot.datasets import pods
from bot.datasets.caches.shares.decide import BOUND, ShareObserved, is_leaving
from bot.datasets.caches.shares.forms import TRIDENT, Form
from bot.datasets.caches.shares.origin import Origin
from bot.datasets.caches.tables import CacheShare
from bot.datasets.caches.users import OVER

_MOST_PODS = 3


def observe(cluster: Cluster, share: CacheShare, origin: Origin) -> ShareObserved:
    """What the cluster shows of a share; ClusterError if a read fails."""
    source = _source(cluster, origin)
    claim = cluster.get(PVCS, share.claim_name, share.namespace)
    own = _volume(cluster, share.claim_name)
    volume = _volume(cluster, source.spec.volume_name) if source is not None else None
    reference = _reference(cluster, share, volume)
    found = {"PVC": claim, "PersistentVolume": own, "TridentVolumeReference": reference}
    ours = {what: each for what, each in found.items() if _is_ours(each, share, cluster)}
    is_going = is_leaving(share, origin) and claim is not None
    unbound = claim if claim is not None and claim.status.phase != BOUND else None
    return ShareObserved(
        source=source,
        volume=volume,
        claim=claim if "PVC" in ours else None,
        bound=_bound(cluster, share),
        own=own if "PersistentVolume" in ours else None,
        reference=reference if "TridentVolumeReference" in ours else None,
        taken=tuple(
            f"{what} {share.claim_name}"
            for what, each in found.items()
            if each is not None and what not in ours
        ),
        users=_users(cluster, share) if is_going else (),
        obstacle=pods.warning(cluster, share.namespace, unbound.uid) if unbound is not None else "",
    )


def _source(cluster: Cluster, origin: Origin) -> PersistentVolumeClaim | None:
    """The shared PVC, if it exists and is the right one."""
    found = cluster.get(PVCS, origin.claim_name, origin.namespace)
    if found is None or origin.uid not in {None, found.uid}:
        return None
    ours = {labels.INSTALLATION: cluster.installation} if origin.marks else {}
    return found if {**origin.marks, **ours}.items() <= found.labels.items() else None


def _is_ours(found: ClusterObject | None, share: CacheShare, cluster: Cluster) -> bool:
    marks = {labels.DATASET_SHARE: share.id, labels.INSTALLATION: cluster.installation}
    return found is not None and marks.items() <= found.labels.items()


def _volume(cluster: Cluster, name: str) -> PersistentVolume | None:
    if not name:
        return None
    return next(iter(cluster.list(VOLUMES, fields=f"metadata.name={name}")), None)


def _reference(
    cluster: Cluster, share: CacheShare, volume: PersistentVolume | None
) -> VolumeReference | None:
    """The TridentVolumeReference; read only for Trident, as the bot may lack the right else."""
    csi = volume.spec.csi if volume is not None else None
    is_by_trident = share.form == Form.TRIDENT or (csi is not None and csi.driver == TRIDENT)
    if not is_by_trident or not cluster.served(VOLUME_REFERENCES.group):
        return None
    return cluster.get(VOLUME_REFERENCES, share.claim_name, share.namespace)


def _bound(cluster: Cluster, share: CacheShare) -> PersistentVolume | None:
    """The volume that the share's PVC is or was bound to."""
    volume = _volume(cluster, share.volume_name)
    place = volume.spec.claim_ref if volume is not None else None
    is_its = place is not None and (place.namespace, place.name) == (
        share.namespace,
        share.claim_name,
    )
    return volume if is_its else None


def _users(cluster: Cluster, share: CacheShare) -> tuple[str, ...]:
    using = [
        f"Pod {pod.name}"
        for pod in cluster.list(PODS, share.namespace)
        if share.claim_name in pod.spec.claims and pod.status.phase not in OVER
    ]
    return tuple(using[:_MOST_PODS])
