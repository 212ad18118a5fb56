"""Messages about evictions, announced, cancelled or done: one each, in the thread of the card."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.datasets.caches.tables import Cache
from bot.datasets.wording import capacity, files, size
from bot.durations import format_duration
from bot.slack.card import Button, Confirm
from bot.slack.markup import Markup, join, person, plain, sentence, when
from bot.slack.messages import ThreadMessage, post_once

EXTEND, PIN, EVICT = "dataset.extend", "dataset.pin", "dataset.evict"
DAY = timedelta(days=1)
PINNED_FOR = timedelta(days=7)
_HOW_TO_KEEP = (
    "To keep it, use it before then, extend it or pin it. Eviction costs only the time to copy it"
    " again: the catalogue and the source stay."
)


def noticed(session: Session, cache: Cache, channels: Sequence[str], now: datetime) -> None:
    """Announces an eviction: when, why, and how to prevent it."""
    if cache.leaves_at is None:
        return
    left = format_duration(cache.leaves_at - now)
    said = join(plain(f"{cache.reference} on {cache.place} will be evicted in {left}, "),
                when(cache.leaves_at), ". ", sentence(cache.evict_why))  # fmt: skip
    for place in channels:
        buttons = (keep_buttons(cache, cache.leaves_at) if place != cache.channel
                   else (*keep_buttons(cache, cache.leaves_at), evict_button(cache)))  # fmt: skip
        whose = join(person(cache.person), " ", said) if place == cache.channel else said
        lines = (whose, plain(_HOW_TO_KEEP))
        note = ThreadMessage(_purpose("notice", cache), lines, broadcast=True,
                             owner=cache.person, buttons=buttons)  # fmt: skip
        post_once(session, cache.subject, place, note, now)


def withdrawn(session: Session, cache: Cache, channels: Sequence[str], now: datetime) -> None:
    """Reports that an announced eviction will not happen, and why."""
    line = sentence(f"{cache.reference} stays on {cache.place}. {cache.called_off or ''}")
    for place in channels:
        note = ThreadMessage(_purpose("withdrawn", cache), (line,), owner=cache.person)
        post_once(session, cache.subject, place, note, now)


def called_off(session: Session, cache: Cache, now: datetime) -> None:
    """Reports that an eviction was cancelled, and what uses the cache."""
    at = int((cache.evict_at or now).timestamp())
    line = sentence(f"{cache.reference} stays on {cache.place}. {cache.called_off or ''}")
    note = ThreadMessage(f"called-off-{at}", (line,), owner=cache.person)
    post_once(session, cache.subject, cache.channel, note, now)


def evicted(session: Session, cache: Cache, now: datetime) -> None:
    """Reports that a cache was evicted, and how much space that freed."""
    line = sentence(f"Evicted {cache.reference} from {cache.place}. {cache.reason}")
    note = ThreadMessage("evicted", (line,), owner=cache.person)
    post_once(session, cache.subject, cache.channel, note, now)


def outcome(cache: Cache, retained: str) -> str:
    """How much space an eviction freed, as sentences; if unknown, `retained` says why."""
    if cache.freed_bytes is None:
        return f"The amount of space freed is unknown. {retained}"
    if retained:
        return (
            f"Its volume {retained} is kept because its reclaimPolicy is Retain:"
            f" {capacity(cache.capacity_bytes)} are freed only when an admin deletes it."
        )
    if not cache.freed_bytes:
        return "It had no volume yet, so no space was freed."
    return f"Freed {capacity(cache.freed_bytes)}."


def keep_buttons(cache: Cache, leaves_at: datetime) -> tuple[Button, ...]:
    """The buttons that keep a cache; clicking Extend twice extends it once."""
    until = int((leaves_at + DAY).timestamp())
    return (
        Button(EXTEND, "Extend 1d", f"{cache.id} {until}"),
        Button(PIN, "Pin for 7d", f"{cache.id} {int((leaves_at + PINNED_FOR).timestamp())}"),
    )


def evict_button(cache: Cache, label: str = "Evict now") -> Button:
    """The button that evicts a cache now, after a confirmation."""
    freed = f"{capacity(cache.capacity_bytes)} of {cache.place}"
    text = (
        f"Deletes {size(cache.size_bytes)} in {files(cache.objects)} and frees {freed}."
        " Caching it again copies everything again."
    )
    confirm = Confirm(f"Evict {cache.reference}?", text, "Evict")
    return Button(EVICT, label, cache.id, style="danger", confirm=confirm)


def again(cache: Cache, words: str) -> Markup:
    """How to undo an eviction; `words` is the command."""
    return join("To cache it again, use `", plain(words), f"`. {cache.reference} and its"
                " manifest stay in the catalogue.")  # fmt: skip


def _purpose(what: str, cache: Cache) -> str:
    return f"{what}-{int(cache.noticed_at.timestamp()) if cache.noticed_at else 0}"
