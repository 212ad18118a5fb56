"""Slack's rate limits, on real time."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """At most `count` requests in any `seconds`."""

    count: int
    seconds: float


TIER_1 = Limit(1, 60)
TIER_2 = Limit(20, 60)
TIER_3 = Limit(50, 60)
TIER_4 = Limit(100, 60)
# About one a second in each channel, with a small burst; Slack does not count milliseconds.
POSTING = Limit(4, 3.9)
UNLIMITED = Limit(1_000_000, 60)


class Rates:
    """Counts requests in sliding windows, one for each key."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._taken: defaultdict[Hashable, deque[float]] = defaultdict(deque)
        self._held_until = 0.0

    @property
    def is_holding(self) -> bool:
        """Whether somebody was told to wait, and the wait is not over."""
        return self._now() < self._held_until

    def take(self, key: Hashable, limit: Limit) -> int:
        """Takes one request; returns 0, or the whole seconds to wait when there is none left."""
        window, now = self._taken[key], self._now()
        while window and window[0] <= now - limit.seconds:
            window.popleft()
        if len(window) >= limit.count:
            wait = max(1, math.ceil(window[0] + limit.seconds - now))
            self._held_until = max(self._held_until, now + wait)
            return wait
        window.append(now)
        return 0
