"""What to do next for a share, from its row and what was observed. Pure: no I/O."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster import labels
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim, VolumeReference
from bot.datasets.caches.shares.forms import Form, Unshareable, form_of, with_namespace
from bot.datasets.caches.shares.origin import Origin
from bot.datasets.caches.tables import CacheShare, SharePhase
from bot.durations import format_duration
from bot.reconcile.decisions import Done, Fail, Wait

LATE_AFTER, BINDS_WITHIN = timedelta(minutes=5), timedelta(minutes=30)
BOUND = "Bound"
_RETAIN = "Retain"


@dataclass(frozen=True)
class ShareObserved:
    """What was observed in the cluster.

    `source` and `volume` are the PVC and the volume of the cache, `claim` is the PVC of the share
    and `bound` its volume. `own` and `reference` are the volume and the reference created for it.
    Objects that are not ours are None, and listed in `taken`. `users` are the pods that mount its
    PVC, if that matters; `obstacle` is a warning of Kubernetes.
    """

    source: PersistentVolumeClaim | None = None
    volume: PersistentVolume | None = None
    claim: PersistentVolumeClaim | None = None
    bound: PersistentVolume | None = None
    own: PersistentVolume | None = None
    reference: VolumeReference | None = None
    taken: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    obstacle: str = ""


@dataclass(frozen=True)
class Allow:
    """Annotate the cache's PVC so that the namespace may share it."""


@dataclass(frozen=True)
class Refer:
    """Create the TridentVolumeReference."""


@dataclass(frozen=True)
class MakeVolume:
    """Create the PersistentVolume."""


@dataclass(frozen=True)
class MakeClaim:
    """Create the PVC."""

    form: Form


@dataclass(frozen=True)
class Published:
    """Pods of the namespace can mount it."""


@dataclass(frozen=True)
class Await:
    """Await and observe again; `why` is shown to people."""

    why: str = ""


@dataclass(frozen=True)
class RemoveClaim:
    """Delete the PVC."""

    uid: str


@dataclass(frozen=True)
class RemoveVolume:
    """Delete the PersistentVolume that was created for it."""

    uid: str


@dataclass(frozen=True)
class Unrefer:
    """Delete the TridentVolumeReference."""

    uid: str


@dataclass(frozen=True)
class Forbid:
    """Remove the namespace from the annotation of the cache's PVC."""


Decision = (
    Wait
    | Allow
    | Refer
    | MakeVolume
    | MakeClaim
    | Published
    | Await
    | Fail
    | RemoveClaim
    | RemoveVolume
    | Unrefer
    | Forbid
    | Done
)


def decide(
    share: CacheShare, origin: Origin, seen: ShareObserved, drivers: Collection[str], now: datetime
) -> Decision:
    """The next step; `drivers` are those that allow two volumes of one handle."""
    if not share.is_live:
        return Wait()
    if is_leaving(share, origin):
        return _leave(share, seen)
    form = form_of(seen.volume, drivers) if seen.volume is not None else None
    if isinstance(form, Unshareable):
        return Fail(form.reason, form.unblock)
    if seen.taken:
        return Fail(
            f"It already has {seen.taken[0]}, which belongs to something else and was not changed.",
            "Submit again: a different name is used then.",
        )
    if not origin.is_ready or form is None:
        return Await(_unbound(seen) if origin.is_ready else "")
    if seen.claim is not None and seen.claim.metadata.deletion_timestamp is not None:
        return Await(f"PVC {share.claim_name} is being deleted there outside Quartermaster.")
    if seen.claim is not None and seen.claim.status.phase == BOUND:
        return Published()
    made = _trident(share, seen) if form is Form.TRIDENT else _static(seen)
    return made or _binding(share, origin, seen, now)


def is_leaving(share: CacheShare, origin: Origin) -> bool:
    """Whether the share must be removed: unwanted, failed, or its cache has ended."""
    return not share.is_wanted or bool(share.reason) or not origin.is_live


def _trident(share: CacheShare, seen: ShareObserved) -> Decision | None:
    told = seen.source.metadata.annotations.get(labels.SHARED_TO, "") if seen.source else ""
    if with_namespace(told, share.namespace) != told:
        return Allow()
    if seen.reference is None:
        return Refer()
    return MakeClaim(Form.TRIDENT) if seen.claim is None else None


def _static(seen: ShareObserved) -> Decision | None:
    if seen.own is None:
        return MakeVolume()
    if seen.claim is not None:
        return None
    was_bound = seen.own.spec.claim_ref is not None and seen.own.spec.claim_ref.uid
    if was_bound or seen.own.metadata.deletion_timestamp is not None:
        # Its PVC was deleted by others: a volume is bound only once.
        return RemoveVolume(seen.own.uid) if not seen.own.metadata.deletion_timestamp else Await()
    return MakeClaim(Form.STATIC)


def _binding(share: CacheShare, origin: Origin, seen: ShareObserved, now: datetime) -> Decision:
    waited = now - max(share.since, origin.ready_at or share.since)
    if waited > BINDS_WITHIN:
        return Fail(
            f"PVC {share.claim_name} was not bound within {format_duration(BINDS_WITHIN)}."
            f" {seen.obstacle}".strip(),
            "Ask a platform admin to check it, then submit again.",
        )
    if waited > LATE_AFTER:
        late = f"Late: PVC {share.claim_name} is not bound yet."
        return Await(f"{late} {seen.obstacle}".strip())
    return Await()


def _unbound(seen: ShareObserved) -> str:
    if seen.source is None:
        return "The shared PVC does not exist."
    return f"The shared PVC {seen.source.name} is not bound."


def _leave(share: CacheShare, seen: ShareObserved) -> Decision:
    """Removes a share: the PVC first, then its volume, then what allowed it."""
    if seen.claim is not None:
        if seen.users:
            return Await(
                f"In namespace {share.namespace} it is mounted by {' and '.join(seen.users)}."
            )
        is_going = seen.claim.metadata.deletion_timestamp is not None
        return Await() if is_going else RemoveClaim(seen.claim.uid)
    if seen.own is not None:
        is_going = seen.own.metadata.deletion_timestamp is not None
        return Await() if is_going else RemoveVolume(seen.own.uid)
    bound = seen.bound
    if bound is not None and bound.spec.persistent_volume_reclaim_policy != _RETAIN:
        return Await(f"Its PersistentVolume {bound.name} is still {bound.status.phase}.")
    if seen.reference is not None:
        return Unrefer(seen.reference.uid)
    told = seen.source.metadata.annotations.get(labels.SHARED_TO, "") if seen.source else ""
    if share.namespace in told.split(","):
        return Forbid()
    if bound is None:
        return Done()
    return Done(
        f"PersistentVolume {bound.name} of namespace {share.namespace} is kept because its"
        " reclaimPolicy is Retain: an admin must delete it and its volume in Trident."
    )


def phase_after(share: CacheShare, decision: Decision) -> SharePhase:
    """The phase of the share after a step."""
    match decision:
        case Published():
            return SharePhase.READY
        case Done():
            return SharePhase.FAILED if share.reason else SharePhase.GONE
        case Fail() | RemoveClaim() | Unrefer() | Forbid():
            return SharePhase.LEAVING
        case Await() | RemoveVolume() if share.reason or not share.is_wanted:
            return SharePhase.LEAVING
        case _:
            return SharePhase.ASKED
