"""The card of `/dataset usage`. Pure: no I/O."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from bot.datasets.caches.expiry import ClassCapacity
from bot.datasets.caches.tables import Orphan
from bot.datasets.leftovers.notices import described, headings, is_removable, remove_button
from bot.datasets.usage.service import Going, Usage, by_team, data_bytes
from bot.datasets.wording import capacity, size
from bot.durations import format_duration
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, join, plain, when

_HEADER = ("Class", "Caches", "Committed", "Data", "Free", "Limit")
_MOST = 12
UNKNOWN = "unknown"


def usage_card(usage: Usage, now: datetime, *, may_clean: bool) -> Card:
    """Space committed, filled and free by class and team, and when each cache is evicted.

    Leftovers are shown only to those who may delete them: their names reveal other teams' data.
    """
    rows = tuple(_row(usage, *which, room) for which, room in sorted(usage.rooms.items()))
    first = ("Cluster",) if usage.has_clusters else ()
    facts = [
        (team, plain(f"{_caches(count)}, {capacity(committed)} committed, {size(data)} of data"))
        for team, count, committed, data in by_team(usage.caches)
    ]
    left = usage.orphans[:_MOST] if may_clean else ()
    buttons = tuple(remove_button(each) for each in left if is_removable(each))
    return Card(
        "Fast storage for datasets",
        lines=(*_lines(usage, now), *_described(usage, left, now)),
        facts=tuple(facts),
        table=Table((*first, *_HEADER), rows),
        buttons=buttons,
    )


def _described(usage: Usage, left: Sequence[Orphan], now: datetime) -> Iterator[Markup]:
    for each in left:
        yield described(each, now, each.cluster if usage.has_clusters else "")


def _row(usage: Usage, cluster: str, name: str, room: ClassCapacity) -> tuple[str, ...]:
    here = (cluster, name)
    mine = [each for each in usage.caches if (each.cluster, each.storage_class) == here]
    free = UNKNOWN if room.free is None else capacity(room.free)
    limit = UNKNOWN if room.whole is None else f"{capacity(room.whole)} ({room.source})"
    committed = sum(each.capacity_bytes for each in mine)
    data = sum(data_bytes(each) for each in mine)
    first = (cluster,) if usage.has_clusters else ()
    return (*first, name, str(len(mine)), capacity(committed), size(data), free, limit)


def _lines(usage: Usage, now: datetime) -> Iterator[Markup]:
    if not usage.caches:
        yield plain("Nothing is cached.")
    for each in usage.going[:_MOST]:
        yield _forecast(each, now)
    if len(usage.going) > _MOST:
        yield plain(f"And {len(usage.going) - _MOST} more.")
    if usage.others:
        yield plain(f"Plus {_caches(usage.others)} of other teams' datasets.")
    for heading in headings(usage.orphans):
        yield plain(heading)


def _forecast(going: Going, now: datetime) -> Markup:
    cache = going.cache
    what = f"{cache.reference} on {cache.place} ({capacity(cache.capacity_bytes)})"
    if going.at is None:
        return plain(f"{what}: {going.stays}.")
    left = format_duration(max(going.at - now, timedelta()))
    pinned = "pinned until then" if going.stays else "unless used"
    return join(
        plain(f"{what}: will be evicted in {left}, "), when(going.at), plain(f", {pinned}.")
    )


def _caches(count: int) -> str:
    return f"{count} cache{'' if count == 1 else 's'}"
