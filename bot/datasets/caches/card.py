"""Builds the cards of caches, and a line about each for lists. Only the renderer reads rows."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.caches import fills
from bot.datasets.caches.expiry import expires_at
from bot.datasets.caches.notices import CHANGED
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase
from bot.datasets.versions.notices import RECORD
from bot.datasets.wording import capacity, name_of, size, verified
from bot.durations import format_duration
from bot.slack.card import Button, Card, Progress, Tone
from bot.slack.markup import Markup, code, join, plain, sentence, when

_TONES = {
    CachePhase.ASKED: Tone.WAITING,
    CachePhase.STARTING: Tone.WAITING,
    CachePhase.FILLING: Tone.WORKING,
    CachePhase.ARRANGING: Tone.WORKING,
    CachePhase.READY: Tone.GOOD,
    CachePhase.EVICTING: Tone.WORKING,
    CachePhase.EVICTED: Tone.QUIET,
    CachePhase.FAILED: Tone.BAD,
}
# On FSx the names are imported first; the files are loaded when they are read.
_DOING = {"importing": "Importing names", "verifying": "Reading"}
_MOST_KEYS = 10
_STATES = {
    CachePhase.ASKED: "starting",
    CachePhase.STARTING: "starting",
    CachePhase.FILLING: "copying",
    CachePhase.ARRANGING: "arranging files",
    CachePhase.READY: "ready",
    CachePhase.EVICTING: "evicting",
}


class CacheRenderer:
    """Renders caches."""

    kind = CACHE

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a cache, which is the same in every channel."""
        del channel
        cache = session.get(Cache, subject_id)
        if cache is None:
            return None
        person = name_of(session, cache.workspace_id, cache.person)
        return cache_card(cache, person, self._clock.now(), fills.boost_of(session, cache))


def cache_card(cache: Cache, person: str, now: datetime, boost: Markup | None = None) -> Card:
    """The card of a cache as it is now; `person` is the name of the requester.

    `boost` is the progress of the boost of its volume, if one was requested.
    """
    phase = CachePhase(cache.phase)
    is_hindered = cache.is_live and bool(cache.trouble or cache.obstacle or cache.is_late)
    return Card(
        title=f"{cache.reference} on {cache.place}",
        state=_state(cache, phase, now),
        tone=Tone.WARNING if is_hindered else _TONES[phase],
        lines=tuple(_lines(cache)),
        facts=tuple(_facts(cache, person, boost)),
        progress=_progress(cache) if phase is CachePhase.FILLING else None,
        buttons=tuple(_buttons(cache)),
    )


def _state(cache: Cache, phase: CachePhase, now: datetime) -> str:
    lasted = format_duration(max(now - cache.since, timedelta()))
    match phase:
        case CachePhase.ASKED | CachePhase.STARTING:
            return "Starting"
        case CachePhase.FILLING:
            return f"{_DOING.get(cache.stage, 'Copying')} for {lasted}"
        case CachePhase.ARRANGING:
            return f"Copied, arranging files for {lasted}"
        case CachePhase.READY:
            return "Ready" if cache.wanted == CacheIntent.READY else "Ready, eviction pending"
        case CachePhase.EVICTING:
            return "Evicting"
        case CachePhase.EVICTED:
            return "Evicted"
        case CachePhase.FAILED:
            return "Not cached" if cache.ready_at is None else "No longer cached"


def _progress(cache: Cache) -> Progress:
    if cache.stage == "importing":
        return Progress(cache.files_done, cache.objects, "file names")
    unit = f"files, {size(cache.bytes_done)} of {size(cache.size_bytes)}"
    return Progress(cache.files_done, cache.objects, unit)


def _lines(cache: Cache) -> Iterator[Markup]:
    for line in (cache.evict_why, cache.reason, cache.unblock, cache.obstacle):
        if line:
            yield sentence(line)
    if cache.is_live and cache.called_off:
        yield sentence(cache.called_off)
    if cache.is_ready and cache.leaves_at is not None:
        yield join("Unless it is used, it will be evicted ", when(cache.leaves_at), ".")
    if cache.keys:
        shown = (join(", " if number else "", code(key))
                 for number, key in enumerate(cache.keys[:_MOST_KEYS]))  # fmt: skip
        yield join("First keys: ", *shown)
    if cache.trouble:
        yield sentence(f"{cache.trouble} Retrying.")


def _facts(cache: Cache, person: str, boost: Markup | None) -> Iterator[tuple[str, Markup]]:
    yield "Files", plain(f"{cache.objects:,}")
    yield "Size", plain(f"{size(cache.size_bytes)} ({cache.size_bytes:,} bytes)")
    yield "Volume", plain(f"{capacity(cache.capacity_bytes)} on {cache.place}")
    yield "Teams", plain(", ".join((cache.team, *cache.teams)))
    yield "Requested by", plain(person)
    yield "Requested", when(cache.asked_at)
    if cache.phase == CachePhase.FILLING:
        yield from _speed(cache)
    if boost is not None:
        yield "Boost", boost
    if cache.ready_at is not None and cache.started_at is not None:
        yield "Duration", plain(format_duration(cache.ready_at - cache.started_at))
    if cache.ready_at is not None:
        yield "Verified", plain(_verified(cache))
    if cache.is_live:
        yield "Kept", plain(kept(cache.keep_seconds))
    yield "Digest", code(cache.digest)


def kept(keep_seconds: int | None) -> str:
    """How long a cache is kept, in words."""
    if keep_seconds is None:
        return "until it is evicted"
    return f"{format_duration(timedelta(seconds=keep_seconds))} after its last use"


def _speed(cache: Cache) -> Iterator[tuple[str, Markup]]:
    rate, left = cache.bytes_per_second, cache.size_bytes - cache.bytes_done
    if cache.stage == "finishing":
        yield "Stage", plain("all files are copied and verified; making them visible")
    elif rate:
        yield "Rate", plain(f"{size(round(rate))}/s")
        yield "Left", plain(f"about {format_duration(timedelta(seconds=left / rate))}")


def _verified(cache: Cache) -> str:
    """How the files were compared; files of an interrupted attempt are counted too."""
    said = verified(cache.verified_by, cache.verified_bytes, cache.size_bytes)
    earlier = cache.objects - sum(cache.verified_by.values())
    if said and earlier > 0:
        said += f", {earlier:,} in an earlier attempt"
    return f"all {cache.objects:,}: {said}" if said else f"all {cache.objects:,}"


def _buttons(cache: Cache) -> Iterator[Button]:
    if cache.phase == CachePhase.FAILED and cache.stage == CHANGED:
        yield Button(RECORD, "Record a new version", cache.dataset_id)


def described(cache: Cache, now: datetime) -> Markup:
    """One line about a cache: state, size, teams, last use, and when it expires."""
    state = _STATES.get(CachePhase(cache.phase), cache.phase)
    if cache.phase == CachePhase.READY and cache.wanted != CacheIntent.READY:
        state = "eviction pending"
    said = plain(
        f"{cache.reference} on {cache.place}: {state}, {capacity(cache.capacity_bytes)},"
        f" for {', '.join((cache.team, *cache.teams))}"
    )
    if not cache.is_ready:
        return join(said, ".")
    expires = cache.leaves_at or expires_at(cache)
    goes = join("; unless used, it will be evicted ", when(expires), ".") if expires else plain(".")
    return join(said, plain(f", last used {last_use(cache, now)}"), goes)


def last_use(cache: Cache, now: datetime) -> str:
    """When a cache was last used, and by what: `2h ago by run lane of team-a`."""
    ago = format_duration(max(now - cache.last_used_at, timedelta()))
    is_seen = cache.seen_used_at is not None and cache.seen_used_at >= cache.used_at
    return f"{ago} ago by {cache.used_by}" if cache.used_by and is_seen else f"{ago} ago"


def where(caches: Iterable[Cache]) -> str:
    """The classes on which a dataset is cached, with versions: `v3 on premium (ready)`."""
    return ", ".join(
        f"{each.reference.partition('@')[2]} on {each.place}"
        f"{'' if each.is_ready else f' ({_STATES.get(CachePhase(each.phase), each.phase)})'}"
        for each in caches
    )
