"""Messages in the threads of a cache's cards when its fill has ended."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from bot.datasets.caches.content import reading
from bot.datasets.caches.tables import Cache
from bot.datasets.wording import files, size
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, places_of, post_once

CHANGED = "changed"
_MOST_KEYS = 3


def filled(session: Session, cache: Cache, format_command: FormatCommand, now: datetime) -> None:
    """Reports that a cache is ready and how to use it; mentions the requester."""
    amount = f"{files(cache.objects)}, {size(cache.size_bytes)}"
    use = format_command(reading(cache.reference))
    said = [
        plain(f"{cache.reference} is cached on {cache.place}: {amount}."),
        join("Runs read it under /data: ", code(use)),
    ]
    _say(session, cache, "filled", said, now)


def failed(session: Session, cache: Cache, format_command: FormatCommand, now: datetime) -> None:
    """Reports why a cache failed and what to do; mentions the requester."""
    said = [sentence(f"{cache.reference} was not cached. {cache.reason}"
                     if cache.ready_at is None else
                     f"{cache.reference} is no longer cached. {cache.reason}")]  # fmt: skip
    if cache.keys:
        said.append(plain(f"First keys affected: {', '.join(cache.keys[:_MOST_KEYS])}."))
    if cache.unblock:
        said.append(sentence(cache.unblock))
    if cache.stage == CHANGED:
        again = format_command(f"dataset version {cache.reference.partition('@')[0]}")
        said.append(join("Its source now holds a different version: ", code(again), " records it."))
    _say(session, cache, "failed", said, now, is_bad=True)


def _say(
    session: Session,
    cache: Cache,
    purpose: str,
    said: Sequence[Markup],
    now: datetime,
    *,
    is_bad: bool = False,
) -> None:
    """Posts in the thread of every card, and mentions whom that card belongs to."""
    for place in places_of(session, cache.subject):
        owner = place.owner or cache.person
        lines = (join(person(owner), " ", said[0]), *said[1:])
        note = ThreadMessage(purpose, lines, broadcast=is_bad, owner=owner)
        post_once(session, cache.subject, place.channel, note, now)
