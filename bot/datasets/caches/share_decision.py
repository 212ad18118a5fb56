"""What to do next for a share, from its row and what was seen; nothing is called here."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster import labels
from bot.cluster.claims import PersistentVolume, PersistentVolumeClaim, VolumeReference
from bot.datasets.caches.share_forms import Form, Unshareable, form_of, with_namespace
from bot.datasets.caches.share_origin import Origin
from bot.datasets.caches.tables import Share, SharePhase
from bot.durations import format_duration

LATE_AFTER, BINDS_WITHIN = timedelta(minutes=5), timedelta(minutes=30)
BOUND = "Bound"
_RETAIN = "Retain"


@dataclass(frozen=True)
class Seen:
    """One look at the cluster.

    `source` and `volume` are the PVC and the volume of the cache, `claim` is the PVC of the share
    and `bound` its volume. `own` and `reference` are the volume and the reference that are made
    for it. Those that are not ours are named in `taken`, and None. `users` are the pods that
    mount its PVC, where that matters; `obstacle` is what Kubernetes warns of.
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
class Rest:
    """Nothing is left to do."""


@dataclass(frozen=True)
class Allow:
    """Say on the cache's PVC that the namespace may share it."""


@dataclass(frozen=True)
class Refer:
    """Make the reference."""


@dataclass(frozen=True)
class MakeVolume:
    """Make the volume."""


@dataclass(frozen=True)
class MakeClaim:
    """Make the PVC."""

    form: Form


@dataclass(frozen=True)
class Ready:
    """Pods of the namespace can mount it."""


@dataclass(frozen=True)
class Wait:
    """Look again; `why` is what people must know of it."""

    why: str = ""


@dataclass(frozen=True)
class Fail:
    """It cannot be; what was made for it is removed, and sentences say why and what to do."""

    reason: str
    unblock: str = ""


@dataclass(frozen=True)
class RemoveClaim:
    """Delete the PVC."""

    uid: str


@dataclass(frozen=True)
class RemoveVolume:
    """Delete the volume that was made for it."""

    uid: str


@dataclass(frozen=True)
class Unrefer:
    """Delete the reference."""

    uid: str


@dataclass(frozen=True)
class Forbid:
    """Say on the cache's PVC that the namespace no longer shares it."""


@dataclass(frozen=True)
class Gone:
    """Nothing of it is left, but what `remains`, as a sentence says."""

    remains: str = ""


Decision = (
    Rest
    | Allow
    | Refer
    | MakeVolume
    | MakeClaim
    | Ready
    | Wait
    | Fail
    | RemoveClaim
    | RemoveVolume
    | Unrefer
    | Forbid
    | Gone
)


def decide(
    share: Share, origin: Origin, seen: Seen, drivers: Collection[str], now: datetime
) -> Decision:
    """The next step; `drivers` are those that allow two volumes of one handle."""
    if not share.is_live:
        return Rest()
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
        return Wait(_unbound(seen) if origin.is_ready else "")
    if seen.claim is not None and seen.claim.metadata.deletion_timestamp is not None:
        return Wait(f"PVC {share.claim_name} is being deleted there outside Quartermaster.")
    if seen.claim is not None and seen.claim.status.phase == BOUND:
        return Ready()
    made = _trident(share, seen) if form is Form.TRIDENT else _static(seen)
    return made or _binding(share, origin, seen, now)


def is_leaving(share: Share, origin: Origin) -> bool:
    """Whether it is to be removed: nobody wants it, it failed, or what it shows is gone."""
    return not share.is_wanted or bool(share.reason) or not origin.is_live


def _trident(share: Share, seen: Seen) -> Decision | None:
    told = seen.source.metadata.annotations.get(labels.SHARED_TO, "") if seen.source else ""
    if with_namespace(told, share.namespace) != told:
        return Allow()
    if seen.reference is None:
        return Refer()
    return MakeClaim(Form.TRIDENT) if seen.claim is None else None


def _static(seen: Seen) -> Decision | None:
    if seen.own is None:
        return MakeVolume()
    if seen.claim is not None:
        return None
    was_bound = seen.own.spec.claim_ref is not None and seen.own.spec.claim_ref.uid
    if was_bound or seen.own.metadata.deletion_timestamp is not None:
        # Its PVC was deleted by somebody: a volume is bound once only.
        return RemoveVolume(seen.own.uid) if not seen.own.metadata.deletion_timestamp else Wait()
    return MakeClaim(Form.STATIC)


def _binding(share: Share, origin: Origin, seen: Seen, now: datetime) -> Decision:
    waited = now - max(share.since, origin.ready_at or share.since)
    if waited > BINDS_WITHIN:
        return Fail(
            f"PVC {share.claim_name} was not bound within {format_duration(BINDS_WITHIN)}."
            f" {seen.obstacle}".strip(),
            "Ask a platform admin to check it, then submit again.",
        )
    if waited > LATE_AFTER:
        late = f"Late: PVC {share.claim_name} is not bound yet."
        return Wait(f"{late} {seen.obstacle}".strip())
    return Wait()


def _unbound(seen: Seen) -> str:
    if seen.source is None:
        return "The shared PVC does not exist."
    return f"The shared PVC {seen.source.name} is not bound."


def _leave(share: Share, seen: Seen) -> Decision:
    """The PVC first, then what it was bound to, then what allowed it."""
    if seen.claim is not None:
        if seen.users:
            return Wait(
                f"In namespace {share.namespace} it is mounted by {' and '.join(seen.users)}."
            )
        is_going = seen.claim.metadata.deletion_timestamp is not None
        return Wait() if is_going else RemoveClaim(seen.claim.uid)
    if seen.own is not None:
        is_going = seen.own.metadata.deletion_timestamp is not None
        return Wait() if is_going else RemoveVolume(seen.own.uid)
    bound = seen.bound
    if bound is not None and bound.spec.persistent_volume_reclaim_policy != _RETAIN:
        return Wait(f"Its PersistentVolume {bound.name} is still {bound.status.phase}.")
    if seen.reference is not None:
        return Unrefer(seen.reference.uid)
    told = seen.source.metadata.annotations.get(labels.SHARED_TO, "") if seen.source else ""
    if share.namespace in told.split(","):
        return Forbid()
    if bound is None:
        return Gone()
    return Gone(
        f"PersistentVolume {bound.name} of namespace {share.namespace} is kept because its"
        " reclaimPolicy is Retain: an admin must delete it and its volume in Trident."
    )


def phase_after(share: Share, decision: Decision) -> SharePhase:
    """How far the share is once a step was taken."""
    match decision:
        case Ready():
            return SharePhase.READY
        case Gone():
            return SharePhase.FAILED if share.reason else SharePhase.GONE
        case Fail() | RemoveClaim() | Unrefer() | Forbid():
            return SharePhase.LEAVING
        case Wait() | RemoveVolume() if share.reason or not share.is_wanted:
            return SharePhase.LEAVING
        case _:
            return SharePhase.ASKED
