"""The refresh interval of the cards of live runs, without counting the runs each time."""

import time
from collections.abc import Callable
from datetime import timedelta

from sqlmodel import Session

from bot.slack.messages import refresh_interval

FRESH_SECONDS = 5.0


class Pace:
    """Caches the refresh interval of live cards for a few seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known: tuple[float, timedelta] | None = None

    def interval(self, session: Session) -> timedelta:
        """How long to wait between two refreshes of a card."""
        now, known = self._monotonic(), self._known
        if known is None or now - known[0] >= FRESH_SECONDS:
            self._known = known = (now, refresh_interval(session))
        return known[1]
