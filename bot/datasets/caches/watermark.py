"""Which caches are to go so that a storage class has room again. Pure: no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.datasets.caches.expiry import Found, Leave
from bot.datasets.wording import capacity

_SPARED = timedelta(days=1)


@dataclass(frozen=True)
class Room:
    """What a class has for caches: bytes in all (None where nobody knows), and bytes taken.

    `leaving` of those are of caches that are being evicted. `source` says who knows the whole.
    """

    whole: int | None
    taken: int
    leaving: int = 0
    source: str = ""

    @property
    def free(self) -> int | None:
        """Bytes that are left; None where nobody knows."""
        return None if self.whole is None else max(self.whole - self.taken, 0)


def crowded(
    found: Sequence[Found],
    rooms: Mapping[str, Room],
    percents: Mapping[str, int],
    now: datetime,
) -> dict[str, Leave]:
    """The caches that go because their class is too full, by their ids.

    `percents` are the watermarks of classes. Those go that were not used for longest, until
    what is left is below the watermark; those that people were told of already go first, at the
    moment they were told. What somebody has extended stays until that ends, and what turned out
    to be needed when it was to go is left alone for a day.
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


def _may_go(found: Found, storage_class: str, now: datetime) -> bool:
    cache = found.cache
    is_extended = cache.expires_after is not None and cache.expires_after > now
    is_spared = cache.called_off is not None and now - cache.used_at < _SPARED
    is_wanted = is_extended or is_spared
    return cache.storage_class == storage_class and found.is_free and not is_wanted


def _least_used(found: Iterable[Found], excess: int) -> Iterable[Found]:
    for each in sorted(found, key=_order):
        if excess <= 0:
            return
        yield each
        excess -= each.cache.capacity_bytes


def _order(found: Found) -> tuple[bool, datetime, str]:
    cache = found.cache
    return cache.noticed_at is None, cache.last_used_at, cache.id
