"""Fast storage used by caches: by class, by team, and when each cache is evicted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot import holds
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import ALLOWANCES
from bot.config import Datasets, Settings
from bot.datasets.caches.classes import kept, rooms
from bot.datasets.caches.expiry import ClassCapacity, expires_at
from bot.datasets.caches.tables import CACHE, ORPHAN, Cache, CachePhase, Orphan
from bot.datasets.leftovers import controller
from bot.datasets.leftovers.controller import present
from bot.datasets.tables import Dataset
from bot.errors import ConflictError, NotFoundError
from bot.people.access import Caller
from bot.volumes.pools.capacity import pool_rooms


@dataclass(frozen=True)
class Going:
    """A cache that the caller may see; `at` is when it is evicted, None if that is not known."""

    cache: Cache
    at: datetime | None
    stays: str = ""


@dataclass(frozen=True)
class Usage:
    """Usage of fast storage; `others` counts caches that the team may not use.

    `rooms` are the capacities of classes, by their clusters and names.
    """

    rooms: Mapping[tuple[str, str], ClassCapacity]
    caches: Sequence[Cache]
    going: Sequence[Going]
    others: int
    orphans: Sequence[Orphan]

    @property
    def has_clusters(self) -> bool:
        """Whether the classes are in several clusters."""
        return len({cluster for cluster, _ in self.rooms}) > 1


class UsageService:
    """What handlers call. It reads the database and the cluster view only."""

    def __init__(self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters

    def usage(self, session: Session, team: str | None, now: datetime) -> Usage:
        """The usage as a team sees it: only caches that it may use, by name; None sees all."""
        datasets = self._settings().datasets
        if datasets is None or not datasets.caching:
            raise ConflictError(
                "Caching is not set up here: no storage classes are configured.",
                "A platform admin can add `datasets.classes`; see docs/datasets.md.",
            )
        caches = [each for cluster in datasets.everywhere for each in kept(session, cluster)]
        live = [each for each in caches if each.is_live]
        seen = [each for each in live if team is None or _is_for(session, each, team)]
        going = sorted((_going(session, each, now) for each in seen), key=_order)
        return Usage(
            {
                (cluster, name): room
                for cluster in datasets.everywhere
                for name, room in self._rooms(session, datasets.at(cluster), caches, now).items()
            },
            caches,
            going,
            len(live) - len(seen),
            self.orphans(session),
        )

    def _rooms(
        self, session: Session, datasets: Datasets, caches: Sequence[Cache], now: datetime
    ) -> Mapping[str, ClassCapacity]:
        """The capacity of the classes of one cluster; `caches` are those of all."""
        cluster = self._clusters[datasets.cluster]
        allowances = cluster.view.all(ALLOWANCES, datasets.namespace)
        pools = pool_rooms(session, self._settings(), cluster, now)
        here = [each for each in caches if each.cluster == cluster.name]
        return rooms(here, allowances, pools, datasets)

    def unused(self, session: Session, team: str, now: datetime) -> Sequence[Cache]:
        """The ready caches of a team that no run holds and that are not pinned."""
        datasets, held = self._settings().datasets, holds.held(session, CACHE, now)
        return [
            each
            for cluster in (datasets.everywhere if datasets is not None else ())
            for each in kept(session, cluster)
            if each.team == team and each.is_live and each.phase == CachePhase.READY
            if each.id not in held
        ]

    def orphans(self, session: Session) -> Sequence[Orphan]:
        """The leftover objects that are known."""
        datasets = self._settings().datasets
        there = datasets.everywhere if datasets is not None else ()
        return [each for cluster in there for each in present(session, cluster)]

    def orphan(self, session: Session, orphan_id: str) -> Orphan:
        """A leftover object by its id; NotFoundError if it is gone."""
        orphan = session.get(Orphan, orphan_id)
        if orphan is None or orphan.gone_at is not None:
            raise NotFoundError("It no longer exists.")
        return orphan

    def remove(self, session: Session, caller: Caller, orphan_id: str, now: datetime) -> Orphan:
        """Requests the deletion of a leftover object; users are checked before it is deleted."""
        orphan = self.orphan(session, orphan_id)
        orphan.wanted_by, orphan.wanted_at, orphan.trouble = caller.person, now, ""
        session.add(orphan)
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        facts = {"kind": orphan.kind, "namespace": orphan.namespace, "name": orphan.name}
        record(session, actor, "dataset.clean", (ORPHAN, orphan.id), facts, at=now)
        controller.look_for_orphans(self._settings(), session, now)
        return orphan


def _is_for(session: Session, cache: Cache, team: str) -> bool:
    dataset = session.get(Dataset, cache.dataset_id)
    return dataset is not None and dataset.is_for(team)


def _going(session: Session, cache: Cache, now: datetime) -> Going:
    on = holds.on(session, CACHE, cache.id, now)
    runs = [each for each in on if each.until is None]
    if runs:
        return Going(cache, None, f"used by {runs[0].why}")
    if cache.phase != CachePhase.READY:
        return Going(cache, None, "copying")
    expires = cache.leaves_at or expires_at(cache)
    if expires is None:
        return Going(cache, None, "does not expire")
    until = max((each.until for each in on if each.until is not None), default=expires)
    return Going(cache, max(expires, until), "pinned" if until > expires else "")


def _order(going: Going) -> tuple[bool, datetime, str]:
    return going.at is None, going.at or going.cache.asked_at, going.cache.id


def by_team(caches: Sequence[Cache]) -> Iterator[tuple[str, int, int, int]]:
    """For each team: its caches, bytes committed for them, bytes of data in them."""
    for team in sorted({each.team for each in caches}):
        mine = [each for each in caches if each.team == team]
        committed = sum(each.capacity_bytes for each in mine)
        yield team, len(mine), committed, sum(data_bytes(each) for each in mine)


def data_bytes(cache: Cache) -> int:
    """Bytes of data copied to the volume so far."""
    return cache.size_bytes if cache.ready_at is not None else cache.bytes_done
