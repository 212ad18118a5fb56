"""What the service answers to a request for a cache."""

from dataclasses import dataclass

from bot.datasets.caches.fills import Foreseen
from bot.datasets.caches.plan import CachePlan, Estimate
from bot.datasets.caches.tables import Cache
from bot.datasets.manifest import ManifestTotals
from bot.datasets.tables import Version


@dataclass(frozen=True)
class CacheOffer:
    """A cache that could be created, and what it costs; nothing is created yet."""

    plan: CachePlan
    estimate: Estimate
    boost: Foreseen | None = None


@dataclass(frozen=True)
class CacheFound:
    """A cache that exists or was just requested; `added` are teams that may use it from now on."""

    cache: Cache
    added: tuple[str, ...] = ()
    is_new: bool = False


@dataclass(frozen=True)
class UncountedPart:
    """Folders of a version that no cache of their own holds; their size is not known yet.

    `held_by` is a cache that holds them among other files.
    """

    version: Version
    folders: tuple[str, ...]
    held_by: Cache | None


@dataclass(frozen=True)
class HeldPart:
    """Folders of a version that a cache holds among other files."""

    cache: Cache
    reference: str
    totals: ManifestTotals
