"""A request for a cache: as typed, as it would be carried out, and its cost in space and time."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Literal

import msgspec

from bot.cluster.types.quantities import format_quantity
from bot.config import CacheClass
from bot.database.columns import WholeNumber
from bot.datasets.caches.content import CacheContent, PlannedPart
from bot.datasets.caches.expiry import ClassCapacity
from bot.datasets.caches.tables import Cache
from bot.datasets.finding import Reference
from bot.datasets.tables import Version
from bot.datasets.wording import capacity, files, size
from bot.errors import ConflictError, LimitError, UsageError

GIB, _MIB, _TIB = 2**30, 2**20, 2**40
_SPARE = Decimal("1.1")
# Assumed if the throughput of a class is unknown; slower ones are of no use for training.
_USUAL_BYTES_PER_SECOND = 20e6
_LEAST_PATIENCE, _LEAST_MARGIN = timedelta(hours=12), timedelta(hours=1)


@dataclass(frozen=True)
class Estimate:
    """What people are shown before they confirm.

    `free` and `whole` are bytes of the storage class, None if unknown; `source` is where the
    figures come from. `best` is how long the fill takes if the volume is the only limit, None if
    unknown. `is_imported` means that a file system imports the bucket instead of being copied to.
    `cluster` is named only if there are several; `section` has the class in the settings.
    """

    content: CacheContent
    storage_class: str
    capacity_bytes: int
    free: int | None
    whole: int | None
    source: str
    best: timedelta | None
    is_imported: bool = False
    cluster: str = ""
    section: str = "datasets.classes"

    @property
    def place(self) -> str:
        """The storage class, with the cluster if there are several."""
        return (
            f"{self.storage_class} of cluster {self.cluster}"
            if self.cluster
            else (self.storage_class)
        )


@dataclass(frozen=True)
class CacheRequest:
    """The arguments of `/dataset cache`; without a size the smallest that fits is used.

    `keep` is how long the cache is kept unused, None if not given. `teams` will use it besides
    the caller's team. `is_boosted` raises the throughput of its volume during the fill. `is_meant`
    skips the confirmation. Without a `cluster`, it is the team's.
    """

    reference: Reference
    storage_class: str | None = None
    size: int | None = None
    teams: tuple[str, ...] = ()
    keep: timedelta | Literal["off"] | None = None
    layout: str | None = None
    is_boosted: bool = False
    is_meant: bool = False
    team: str | None = None
    cluster: str | None = None

    @property
    def keep_seconds(self) -> int | None:
        """How long the cache is kept unused; None for ever, or if not given."""
        return round(self.keep.total_seconds()) if isinstance(self.keep, timedelta) else None


@dataclass(frozen=True)
class Keeping:
    """How long a cache is kept unused, None for ever; `is_told` if a person chose that."""

    seconds: int | None
    is_told: bool

    def longer(self, other: int | None) -> int | None:
        """The longer of both."""
        return None if None in {self.seconds, other} else max(self.seconds or 0, other or 0)


class CachePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is created on confirmation: the value of a button, so its keys are short.

    Without a `cluster`, it is that of `datasets.cluster`; without a `part`, the whole version.
    """

    version_id: str = msgspec.field(name="v")
    storage_class: str = msgspec.field(name="c")
    capacity_bytes: WholeNumber = msgspec.field(name="b")
    team: str = msgspec.field(name="t")
    teams: tuple[str, ...] = msgspec.field(name="f", default=())
    keep_seconds: WholeNumber | None = msgspec.field(name="k", default=None)
    layout: str = msgspec.field(name="l", default="")
    is_boosted: bool = msgspec.field(name="o", default=False)
    growth_bytes: WholeNumber = msgspec.field(name="g", default=0)
    cluster: str = msgspec.field(name="u", default="")
    part: PlannedPart | None = msgspec.field(name="p", default=None)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_DECODER = msgspec.json.Decoder(CachePlan)
_LONGEST = 1900


def written(plan: CachePlan) -> str:
    """The plan as the value of a button; UsageError if it is too long for Slack."""
    text = msgspec.json.encode(plan).decode()
    if len(text) > _LONGEST:
        raise UsageError("Too many teams at once.", "Name fewer teams, and add the others later.")
    return text


def read(value: str) -> CachePlan:
    """The plan in the value of a button; UsageError if an earlier release wrote it."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError(
            "This button is out of date.", "Run the command again to see the current cost."
        ) from None


def volume_bytes(content: CacheContent, asked: int | None, kind: CacheClass) -> int:
    """Bytes of the volume for what is copied; UsageError if the requested size is too small."""
    needed = math.ceil(content.size_bytes * _SPARE)
    least = kind.least_size or 0
    if asked is None:
        return max(math.ceil(needed / GIB) * GIB, least, GIB)
    auto = "Leave out --size to use the smallest volume that fits."
    if asked < needed:
        raise UsageError(
            f"{capacity(asked)} is too small: {content.reference} has"
            f" {files(content.objects)}, {size(content.size_bytes)}. With a tenth more"
            f" kept free, it needs {capacity(math.ceil(needed / GIB) * GIB)}.",
            auto,
        )
    if asked < least:
        raise UsageError(
            f"{capacity(asked)} is too small: the smallest volume of this class is"
            f" {capacity(least)}.",
            auto,
        )
    return asked


def best_time(size_bytes: int, capacity_bytes: int, kind: CacheClass) -> timedelta | None:
    """How long a fill takes at the volume's throughput; None if that is not configured."""
    if kind.throughput_mib_per_tib is None:
        return None
    rate = kind.throughput_mib_per_tib * _MIB * capacity_bytes / _TIB
    return timedelta(seconds=size_bytes / rate)


def longest_time(size_bytes: int, best: timedelta | None) -> timedelta:
    """The time after which a fill is given up."""
    return _LEAST_PATIENCE + 3 * (best or _usual(size_bytes))


def late_after(size_bytes: int, best: timedelta | None) -> timedelta:
    """The time after which a fill counts as late."""
    return _LEAST_MARGIN + 1.5 * (best or _usual(size_bytes))


def left(room: ClassCapacity, caches: Sequence[Cache], storage_class: str) -> int | None:
    """Free bytes of a class, without those reserved for caches whose PVC does not exist yet."""
    if room.free is None or room.source == "budget":
        return room.free
    coming = (
        each.capacity_bytes
        for each in caches
        if each.storage_class == storage_class and each.is_live and each.claim_uid is None
    )
    return max(room.free - sum(coming), 0)


def without(estimate: Estimate, cluster: str, others: Iterable[CachePlan]) -> Estimate:
    """The estimate if other caches are created too, which reduces the free space there."""
    here = estimate.storage_class, cluster
    alike = (each for each in others if (each.storage_class, each.cluster) == here)
    taken = sum(each.capacity_bytes for each in alike)
    if estimate.free is None:
        return estimate
    return replace(estimate, free=max(estimate.free - taken, 0))


def refuse_crowded(estimate: Estimate, usage: str) -> None:
    """LimitError with the figures if the free space does not suffice; `usage` is a command."""
    if estimate.free is None or estimate.capacity_bytes <= estimate.free:
        return
    whole = f" of {capacity(estimate.whole)}" if estimate.whole is not None else ""
    raise LimitError(
        f"{estimate.content.reference} needs {capacity(estimate.capacity_bytes)} on"
        f" {estimate.place}, but only {capacity(estimate.free)}{whole} are free"
        f" ({said_by(estimate.source)}).",
        f"`{usage}` shows what is cached there and what can be evicted.",
    )


def refuse_unused(request: CacheRequest, folders: str, held_by: Cache) -> None:
    """UsageError for options of a cache that is not created, as another one holds the folders."""
    options = {
        "--size": request.size is not None,
        "--for": bool(request.teams),
        "--ttl": request.keep is not None,
        "--boost": request.is_boosted,
    }
    given = [name for name, is_given in options.items() if is_given]
    if given:
        raise UsageError(
            f"{held_by.reference} on {held_by.place} holds {folders} already, so"
            f" {' and '.join(given)} {'has' if len(given) == 1 else 'have'} no effect.",
            f"Use these options with {held_by.reference}, or name another class with --class.",
        )


def refuse_unfit(version: Version) -> None:
    """ConflictError if some objects of a version cannot be stored as files."""
    if not version.problems:
        return
    keys = f"{version.problems:,} key{'' if version.problems == 1 else 's'}"
    named = f": {', '.join(version.keys)}" if version.keys else ""
    more = " and others" if version.problems > len(version.keys) > 0 else ""
    raise ConflictError(
        f"{keys} of {version.reference} cannot be stored as files{named}{more}.",
        "Rename or remove these objects, then record a new version; the manifest"
        f" ({version.manifest}index.json) lists what is wrong with each.",
    )


def said_by(source: str) -> str:
    """Where the figures of free space come from, in words."""
    return "budget in quartermaster.yaml" if source == "budget" else source


def quantity(count: int) -> str:
    """Bytes as Kubernetes writes them: 300Gi."""
    return format_quantity(Decimal(count), binary=True)


def _usual(size_bytes: int) -> timedelta:
    return timedelta(seconds=size_bytes / _USUAL_BYTES_PER_SECOND)
