"""The request for a copy of a PVC, and what it does and costs. Pure: no I/O."""

from dataclasses import dataclass

import msgspec

from bot.cluster.types.claims import PersistentVolumeClaim
from bot.database.columns import WholeNumber
from bot.errors import UsageError
from bot.snapshots.classes import READ_WRITE_MANY, Problem
from bot.snapshots.copies.tables import CopySource

ONE_POD = "ReadWriteOncePod"
MOST_BYTES = 2**63 - 1
_LONGEST_NAME = 63


class CopyRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A requested copy. It is the value of a button, so its keys are short.

    `storage_class` is None for the only class that fits, `size_bytes` 0 for the size of the source.
    """

    team: str = msgspec.field(name="t")
    cluster: str = msgspec.field(name="c")
    claim: str = msgspec.field(name="p")
    uid: str = msgspec.field(name="u")
    target: str = msgspec.field(name="a")
    storage_class: str | None = msgspec.field(name="k", default=None)
    size_bytes: WholeNumber = msgspec.field(name="s", default=0)
    reads: CopySource = msgspec.field(name="r", default=CopySource.IDLE)


@dataclass(frozen=True)
class CopyPlan:
    """What a copy does; costs are monthly, None if unknown.

    `resumed_uid` is the uid of the PVC that an earlier copy left, with which this one goes on.
    `can_clone`: both are of one class, whose driver may clone the source, without a Job.
    """

    claim: PersistentVolumeClaim
    storage_class: str
    size_bytes: int
    cost: float | None
    source_cost: float | None
    snapshot_class: str = ""
    resumed_uid: str | None = None
    can_clone: bool = False
    needs_approval: bool = False


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(CopyRequest)


def written(asked: CopyRequest) -> str:
    """The value of a button."""
    return msgspec.json.encode(asked).decode()


def read(value: str) -> CopyRequest:
    """Decodes the value of a button; raises UsageError if its format is outdated."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        again = "Request it again: `/pvc copy PVC`."
        raise UsageError("This button is out of date.", again) from None


def usual_name(claim: str) -> str:
    """The name of the new PVC if none was given."""
    return f"{claim[: _LONGEST_NAME - 4].rstrip('-.').replace('.', '-')}-rwx"


def source_of(*, is_live: bool, is_snapshot: bool) -> CopySource:
    """What is read; UsageError if both were asked for."""
    if is_live and is_snapshot:
        raise UsageError(
            "--live and --snapshot cannot both be given.",
            "--snapshot copies one moment of a PVC in use; --live reads it while it changes.",
        )
    if is_live:
        return CopySource.LIVE
    return CopySource.SNAPSHOT if is_snapshot else CopySource.IDLE


def hindrance(claim: PersistentVolumeClaim) -> Problem | None:
    """Why a PVC is not copied to one that many pods can mount; None if it can be."""
    name = claim.name
    if claim.metadata.deletion_timestamp is not None:
        return Problem(f"PVC {name} is being deleted.", "Name another PVC.")
    if claim.status.phase != "Bound":
        return Problem(
            f"PVC {name} has no volume yet, so there is nothing to copy.",
            "Most PVCs get their volume when the first run mounts them.",
        )
    if claim.spec.volume_mode == "Block":
        return Problem(f"PVC {name} is a block device, which has no files.", "Name another PVC.")
    modes = claim.status.access_modes or claim.spec.access_modes
    if READ_WRITE_MANY in modes:
        return Problem(
            f"Many pods can already mount PVC {name}: its access mode is ReadWriteMany.",
            f"Mount it in each of them, for example `--pvc {name}:/data`.",
        )
    return None
