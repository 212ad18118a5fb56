"""Finds the volume of Azure NetApp Files that a PVC is on. Pure: no I/O."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.cluster.cluster import Cluster
from bot.cluster.ownership import foreign_claim, shows_cache
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import TRIDENT, PersistentVolume, PersistentVolumeClaim
from bot.errors import NotAllowedError, StorageError
from bot.volumes.resources import AnfVolume, Estate, Unread, same_id, subscription_of

_NFS_DRIVER = "nfs.csi.k8s.io"
_ARM = "/subscriptions/"


@dataclass(frozen=True)
class Named:
    """How a PV names its volume: by its ARM id (Trident), or only by address and path (NFS)."""

    id: str
    path: str
    address: str = ""


@dataclass(frozen=True)
class Claimed:
    """A PVC, the PV it is bound to, and how that names its volume."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume
    named: Named


@dataclass(frozen=True)
class MatchedVolume:
    """A volume; `is_moved` if its ARM id differs from the one in the PV."""

    volume: AnfVolume
    is_moved: bool = False


def named_by(volume: PersistentVolume) -> Named | None:
    """How a PV names a volume that may be one of Azure NetApp Files; None for any other."""
    csi, nfs = volume.spec.csi, volume.spec.nfs
    if csi is not None and csi.driver == TRIDENT:
        found = csi.volume_attributes.get("internalID", "")
        path = csi.volume_attributes.get("internalName", "")
        return Named(found, path) if found.lower().startswith(_ARM) else None
    if csi is not None and csi.driver == _NFS_DRIVER:
        told = csi.volume_attributes
        return _exported(told.get("server", ""), told.get("share", ""))
    return _exported(nfs.server, nfs.path) if nfs is not None else None


def claimed(cluster: Cluster, namespace: str) -> tuple[list[Claimed], list[PersistentVolumeClaim]]:
    """The PVCs of a namespace that may be on Azure NetApp Files, and the others.

    A PVC can name any volume; only the one that is bound to it counts.
    """
    mine: list[Claimed] = []
    others: list[PersistentVolumeClaim] = []
    for claim in sorted(cluster.view.all(PVCS, namespace), key=lambda each: each.name):
        volume = cluster.view.get(VOLUMES, claim.spec.volume_name)
        named = named_by(volume) if volume is not None and _is_bound(volume, claim) else None
        if volume is None or named is None:
            others.append(claim)
        else:
            mine.append(Claimed(claim, volume, named))
    return mine, others


def refuse_foreign(of: Claimed, team: str, *, but_caches: bool = False) -> None:
    """Raises NotAllowedError if a PVC is not the team's own."""
    if but_caches and shows_cache(of.claim.labels):
        return
    foreign = foreign_claim(of.claim, team)
    if foreign is not None:
        raise NotAllowedError(
            foreign.reason, "Name one of the team's own PVCs: `/anf volumes` lists them."
        )


def match(named: Named, volumes: Iterable[AnfVolume]) -> MatchedVolume | None:
    """The volume that a PV names; after a move it is known by its path in the same account."""
    known = list(volumes)
    if not named.id:
        exact = [
            each
            for each in known
            if each.path == named.path and named.address in each.addresses
        ]  # fmt: skip
        return MatchedVolume(exact[0]) if len(exact) == 1 else None
    for each in known:
        if is_of(named, each):
            return MatchedVolume(each)
    account = named.id.lower().partition("/capacitypools/")[0]
    alike = [
        each
        for each in known
        if each.path == named.path and each.id.lower().startswith(f"{account}/")
    ]
    return MatchedVolume(alike[0], is_moved=True) if len(alike) == 1 else None


def may_be_in(named: Named, unread: Unread) -> bool:
    """Whether the volume may be in a subscription that could not be read.

    An address and a path name a volume only among all subscriptions.
    """
    return not named.id or subscription_of(named.id) == unread.subscription


def refuse_unread(named: Named, estate: Estate) -> None:
    """Raises StorageError if the volume may be in a subscription that could not be read."""
    for each in estate.unread:
        if may_be_in(named, each):
            raise StorageError(each.sentence, each.hint)


def is_known(named: Named, volumes: Iterable[AnfVolume]) -> bool:
    """Whether a PV is on Azure NetApp Files: by its id, or by the addresses of known volumes.

    Any NFS server is named by an address and a path.
    """
    return bool(named.id) or any(named.address in each.addresses for each in volumes)


def is_of(named: Named, volume: AnfVolume) -> bool:
    """Whether a volume is the one that a PV names; another one may have taken its id since."""
    return same_id(volume.id, named.id) and named.path in {"", volume.path}


def _exported(address: str, path: str) -> Named | None:
    """What is exported below a volume's own path is on that volume."""
    first = path.strip("/").partition("/")[0]
    return Named("", first, address) if first and address else None


def _is_bound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    owner = volume.spec.claim_ref
    return owner is not None and (owner.uid or claim.uid) == claim.uid and (
        (owner.namespace, owner.name) == (claim.namespace, claim.name)
    )  # fmt: skip
