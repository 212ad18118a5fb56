"""What can be removed: how it is found and checked, and what removes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlmodel import Session

from bot.config import Settings
from bot.datasets.caches.lifecycle.service import KeepingService
from bot.datasets.caches.tables import Orphan
from bot.datasets.usage.service import UsageService
from bot.leftovers.removals.tables import RemovalKind
from bot.people.access import Access, Caller, Right
from bot.snapshots.claims.reads import ClaimReads
from bot.snapshots.deletions import service as deletions
from bot.snapshots.snapshots.service import SnapshotService


@dataclass(frozen=True)
class Thing:
    """Something that may be removed; `key` identifies it, None is an unknown size or cost.

    `title` names it with its kind, `place` is where it is.
    """

    key: str
    title: str
    place: str
    size_bytes: int | None
    cost: float | None


class Removable(Protocol):
    """A kind of thing that people remove with a button."""

    right: Right
    """The right to remove it."""

    def find(self, session: Session, caller: Caller, value: str, now: datetime, /) -> Thing:
        """The thing of a button's value; UserError if it is gone, needed, or not the caller's."""

    def remove(self, session: Session, caller: Caller, value: str, now: datetime, /) -> None:
        """Removes it, after the checks of its area."""


@dataclass(frozen=True)
class Claims:
    """PVCs of teams."""

    access: Access
    claims: ClaimReads
    deletions: deletions.DeletionService
    right = Right.PVC_DELETE

    def find(self, session: Session, caller: Caller, value: str, now: datetime, /) -> Thing:
        """The PVC, as watches and rows show it."""
        asked = deletions.read(value)
        name, team = self.access.require_team(caller, asked.cluster)
        found = self.claims.find(name, team, asked.claim, asked.cluster)
        self.deletions.check(session, caller, asked, found, now)
        place = f"namespace {found.claim.namespace} of cluster {found.cluster}"
        title, size = f"PVC {asked.claim}", found.claim.size_bytes
        return Thing(asked.uid, title, place, size, found.cost)

    def remove(self, session: Session, caller: Caller, value: str, now: datetime, /) -> None:
        """Begins its deletion."""
        asked = deletions.read(value)
        name, team = self.access.require_team(caller, asked.cluster)
        found = self.claims.find(name, team, asked.claim, asked.cluster)
        self.deletions.begin(session, caller, asked, found, now)


@dataclass(frozen=True)
class Snapshots:
    """Snapshots of PVCs; they hold at most what their PVC did."""

    snapshots: SnapshotService
    right = Right.SNAPSHOT_CREATE

    def find(self, session: Session, caller: Caller, value: str, now: datetime, /) -> Thing:
        """The snapshot, as rows show it."""
        row = self.snapshots.get(session, value)
        self.snapshots.refuse_deleting(session, caller, row, now)
        place = f"namespace {row.namespace} of cluster {row.cluster}"
        return Thing(row.id, f"snapshot {row.name}", place, row.capacity_bytes, None)

    def remove(self, session: Session, caller: Caller, value: str, now: datetime, /) -> None:
        """Marks it for deletion."""
        self.snapshots.delete(session, caller, self.snapshots.get(session, value), now)


@dataclass(frozen=True)
class Caches:
    """Caches of datasets."""

    settings: Callable[[], Settings]
    keeping: KeepingService
    right = Right.DATASET_EVICT

    def find(self, session: Session, caller: Caller, value: str, _now: datetime, /) -> Thing:
        """The cache, as rows show it."""
        cache = self.keeping.get(session, caller, value)
        self.keeping.refuse_evicting(caller, cache)
        datasets = self.settings().datasets
        classes = datasets.at(cache.cluster).classes if datasets is not None else {}
        kind = classes.get(cache.storage_class)
        price = kind.monthly_price(cache.capacity_bytes) if kind is not None else None
        place = f"class {cache.place}"
        return Thing(cache.id, f"cache {cache.reference}", place, cache.capacity_bytes, price)

    def remove(self, session: Session, caller: Caller, value: str, now: datetime, /) -> None:
        """Marks it for eviction."""
        self.keeping.evict(session, caller, self.keeping.get(session, caller, value), now)


@dataclass(frozen=True)
class Objects:
    """Leftover objects of datasets in clusters; a Job holds nothing."""

    usage: UsageService
    right = Right.DATASET_CLEAN

    def find(self, session: Session, _caller: Caller, value: str, _now: datetime, /) -> Thing:
        """The object, as the last search found it."""
        found = self.usage.orphan(session, value)
        size, cost = _measured(found)
        place = f"namespace {found.namespace} of cluster {found.cluster}"
        return Thing(found.id, f"{found.kind} {found.name}", place, size, cost)

    def remove(self, session: Session, caller: Caller, value: str, now: datetime, /) -> None:
        """Requests its deletion, before which the cluster is asked what needs it."""
        self.usage.remove(session, caller, value, now)


Things = Mapping[RemovalKind, Removable]


def _measured(found: Orphan) -> tuple[int | None, float | None]:
    return (0, 0.0) if found.kind == "Job" else (found.size_bytes, found.monthly_price)
