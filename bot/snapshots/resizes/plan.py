"""What a resize does and costs, and what makes one impossible. Pure: no I/O."""

from dataclasses import dataclass

import msgspec

from bot.cluster.types.claims import PersistentVolumeClaim, StorageClass
from bot.cluster.types.quantities import parse_quantity
from bot.database.columns import WholeNumber
from bot.errors import UsageError
from bot.snapshots.classes import Problem
from bot.volumes.wording import GIB, capacity

_MOST_BYTES = 2**63 - 1


class ResizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested resize. It is the value of a button, so its keys are short."""

    team: str = msgspec.field(name="t")
    cluster: str = msgspec.field(name="c")
    claim: str = msgspec.field(name="p")
    size_bytes: WholeNumber = msgspec.field(name="s")


@dataclass(frozen=True)
class ResizePlan:
    """What a resize does; `cost` and `cost_before` are monthly, None if unknown."""

    claim: PersistentVolumeClaim
    from_bytes: int
    cost_before: float | None
    cost: float | None
    needs_approval: bool


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(ResizeRequest)


def written(asked: ResizeRequest) -> str:
    """The value of a button."""
    return msgspec.json.encode(asked).decode()


def read(value: str) -> ResizeRequest:
    """Decodes the value of a button; raises UsageError if its format is outdated."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        again = "Request it again: `/pvc resize PVC SIZE`."
        raise UsageError("This button is out of date.", again) from None


def bytes_of(size: str) -> int:
    """The bytes of a size such as 2Ti."""
    return int(parse_quantity(size))


def hindrance(
    claim: PersistentVolumeClaim, kind: StorageClass | None, size_bytes: int
) -> Problem | None:
    """Why Kubernetes would not let the PVC grow to that size; None if it would."""
    name, has = claim.name, claim.size_bytes or 0
    if size_bytes > _MOST_BYTES:
        return Problem(f"A PVC can have at most {capacity(_MOST_BYTES)}.", "Ask for less.")
    if claim.metadata.deletion_timestamp is not None:
        return Problem(f"PVC {name} is being deleted.", "Name another PVC.")
    if claim.status.phase != "Bound":
        return Problem(
            f"PVC {name} has no volume yet, and only PVCs with a volume can grow.",
            "Most PVCs get their volume when the first run mounts them.",
        )
    if size_bytes == has:
        return Problem(f"PVC {name} already has {capacity(has)}. Nothing was changed.", "")
    if size_bytes < has:
        return Problem(f"PVC {name} has {capacity(has)}, and PVCs cannot shrink.", _larger(claim))
    if kind is None or not kind.allow_volume_expansion:
        return Problem(
            f"Storage class {claim.spec.storage_class_name or 'none'} does not allow PVCs to grow.",
            "A platform admin can set allowVolumeExpansion: true in it.",
        )
    wants = claim.requested_bytes or 0
    if wants > has:
        return Problem(
            f"PVC {name} is already growing from {capacity(has)} to {capacity(wants)}.",
            "`/pvc show` tells what it waits for.",
        )
    return None


def _larger(claim: PersistentVolumeClaim) -> str:
    gibibytes = -(-(claim.size_bytes or 0) // GIB) * 2
    size = f"{gibibytes // 1024}Ti" if gibibytes % 1024 == 0 else f"{gibibytes}Gi"
    return f"Ask for more, for example `/pvc resize {claim.name} {size}`."
