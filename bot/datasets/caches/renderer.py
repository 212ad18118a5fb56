"""Renders the cards of caches."""

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.caches import fills
from bot.datasets.caches.card import cache_card
from bot.datasets.caches.tables import CACHE, Cache
from bot.datasets.wording import name_of
from bot.slack.card import Card


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
