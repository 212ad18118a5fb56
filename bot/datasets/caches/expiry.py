"""Which caches to evict: the unused, and the idlest of a storage class that is too full. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from bot.datasets.caches.tables import Cache
from bot.datasets.wording import capacity
from bot.durations import format_duration

# A sweep runs every five minutes; after a longer pause people may not have seen the notices.
LONGEST_PAUSE = timedelta(hours=1)
_CLOCKS_DIFFER = timedelta(minutes=1)
_SPARED = timedelta(days=1)


@dataclass(frozen=True)
class ClassCapacity:
    """The capacity of a class for caches: bytes in total (None if unknown), and bytes used.

    `leaving` is the part used by caches that are being evicted. `source` names where the total
    comes from.
    """

    whole: int | None
    taken: int
    leaving: int = 0
    source: str = ""

    @property
    def free(self) -> int | None:
        """Free bytes; None if the total is unknown."""
        return None if self.whole is None else max(self.whole - self.taken, 0)


@dataclass(frozen=True)
class ExpiringCache:
    """A ready cache in a sweep; `users` and `pins` are sentences about what needs it."""

    cache: Cache
    users: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether nothing uses or pins it."""
        return not (self.users or self.pins)


@dataclass(frozen=True)
class Leave:
    """A reason to evict a cache at `at` or later, as a sentence."""

    at: datetime
    why: str


@dataclass(frozen=True)
class Announce:
    """Announce that the cache will be evicted at `at`."""

    at: datetime
    why: str


@dataclass(frozen=True)
class Withdraw:
    """Cancel the announced eviction."""

    why: str


@dataclass(frozen=True)
class Evict:
    """Evict the cache: its notice has ended."""


Action = Announce | Withdraw | Evict | None


def expires_at(cache: Cache) -> datetime | None:
    """When a cache expires if it stays unused; None if it never does."""
    if cache.keep_seconds is None:
        return None
    expires = cache.last_used_at + timedelta(seconds=cache.keep_seconds)
    return max(expires, cache.expires_after or expires)


def lead(cache: Cache, notice: timedelta) -> timedelta:
    """How long before its expiry a cache is announced: at most half of the time it is kept."""
    if cache.keep_seconds is None:
        return notice
    return min(notice, timedelta(seconds=cache.keep_seconds) / 2)


def expiring(found: Sequence[ExpiringCache], notice: timedelta, now: datetime) -> dict[str, Leave]:
    """The caches that have expired or will within the notice, by their ids."""
    leaves = {}
    for each in found:
        expires = expires_at(each.cache)
        if expires is not None and now >= expires - lead(each.cache, notice):
            leaves[each.cache.id] = Leave(expires, _unused(each.cache, now))
    return leaves


def soonest(*reasons: Mapping[str, Leave]) -> dict[str, Leave]:
    """The earliest of several reasons for each cache, by id."""
    found: dict[str, Leave] = {}
    for cache_id, leave in chain.from_iterable(each.items() for each in reasons):
        found[cache_id] = min(found.get(cache_id, leave), leave, key=lambda each: each.at)
    return found


def is_after_a_pause(swept_at: datetime | None, now: datetime) -> bool:
    """Whether the last sweep is missing or too long ago, or the clock jumped since then."""
    if swept_at is None:
        return True
    return not -_CLOCKS_DIFFER <= now - swept_at <= LONGEST_PAUSE


def action(
    found: ExpiringCache, leave: Leave | None, notice: timedelta, *, anew: bool, now: datetime
) -> Action:
    """What to do about a cache; with `anew` it is announced again before it is evicted."""
    cache = found.cache
    if leave is None or not found.is_free:
        return Withdraw(_why_it_stays(found)) if cache.noticed_at is not None else None
    earliest = max(leave.at, now + lead(cache, notice))
    if cache.noticed_at is None or cache.leaves_at is None or leave.at > cache.leaves_at:
        return Announce(earliest, leave.why)
    if anew:
        return Announce(max(earliest, cache.leaves_at), f"{leave.why} {_ANEW}")
    return Evict() if now >= cache.leaves_at else None


def capped(actions: Mapping[str, Action], found: Sequence[ExpiringCache], most: int) -> set[str]:
    """The ids of caches to evict in one sweep: at most so many, the longest overdue first."""
    due = [each.cache for each in found if isinstance(actions.get(each.cache.id), Evict)]
    due.sort(key=lambda cache: (cache.leaves_at or cache.since, cache.id))
    return {each.id for each in due[:most]}


_ANEW = "The bot did not check for a while, so this notice is posted again."


def _unused(cache: Cache, now: datetime) -> str:
    unused = format_duration(max(now - cache.last_used_at, timedelta()))
    keep = format_duration(timedelta(seconds=cache.keep_seconds or 0))
    put_off = " and its extension ends" if cache.expires_after is not None else ""
    return f"It has been unused for {unused}{put_off}; it is kept {keep} after its last use."


def _why_it_stays(found: ExpiringCache) -> str:
    return next(
        iter((*found.users, *found.pins)),
        "It was extended or used, or there is enough free space again.",
    )


def crowded(
    found: Sequence[ExpiringCache],
    rooms: Mapping[str, ClassCapacity],
    percents: Mapping[str, int],
    now: datetime,
) -> dict[str, Leave]:
    """The caches to evict because their class is too full, by their ids.

    `percents` are the watermarks of classes. The longest unused caches are chosen until usage is
    below the watermark, those that are announced already first. A cache that was extended is kept
    until then, and one whose eviction was cancelled because of its use is spared for a day.
    """
    leaves = {}
    for name, percent in percents.items():
        room = rooms.get(name)
        if room is None or not room.whole:
            continue
        limit = room.whole * percent // 100
        why = (
            f"{name} is {100 * room.taken // room.whole} % full ({capacity(room.taken)} of"
            f" {capacity(room.whole)}). Above {percent} %, the longest unused caches are evicted."
        )
        of_class = [each for each in found if _may_go(each, name, now)]
        for each in _least_used(of_class, room.taken - room.leaving - limit):
            leaves[each.cache.id] = Leave(each.cache.noticed_at or now, why)
    return leaves


def _may_go(found: ExpiringCache, storage_class: str, now: datetime) -> bool:
    cache = found.cache
    is_extended = cache.expires_after is not None and cache.expires_after > now
    is_spared = cache.called_off is not None and now - cache.used_at < _SPARED
    is_wanted = is_extended or is_spared
    return cache.storage_class == storage_class and found.is_free and not is_wanted


def _least_used(found: Iterable[ExpiringCache], excess: int) -> Iterable[ExpiringCache]:
    for each in sorted(found, key=_order):
        if excess <= 0:
            return
        yield each
        excess -= each.cache.capacity_bytes


def _order(found: ExpiringCache) -> tuple[bool, datetime, str]:
    cache = found.cache
    return cache.noticed_at is None, cache.last_used_at, cache.id
