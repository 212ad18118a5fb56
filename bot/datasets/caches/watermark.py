"""Which caches to evict when a storage class is too full. Pure: no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.datasets.caches.expiry import ExpiringCache, Leave
from bot.datasets.wording import capacity

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
