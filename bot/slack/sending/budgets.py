"""Slack's rate limits: when a call may be made without being rate-limited."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom

POST = "chat.postMessage"
UPDATE = "chat.update"
HISTORY = "conversations.history"
REPLIES = "conversations.replies"
FILES = "files.getUploadURLExternal"
HOME = "views.publish"

_POST_SECONDS = 1.0
# By how much posts may follow each other sooner: Slack does not count so exactly.
_LEEWAY_SECONDS = 0.1
# A full bucket and a minute's flow together are the 50 calls that Slack allows in a minute.
_BURST = 10
_PER_SECOND = 40 / 60
# Slack allows 100 of these in a minute.
_HOME_BURST = 20
_HOME_PER_SECOND = 80 / 60
_KEPT_FOR_URGENT = 2
_FAILURES_BEFORE_A_PAUSE = 3
_LONGEST_PAUSE_SECONDS = 30.0
_chance = SystemRandom()


@dataclass(frozen=True)
class Call:
    """One call to be made; what is not urgent leaves some of the budget to what is."""

    method: str
    channel: str
    is_urgent: bool = True

    @property
    def key(self) -> str:
        """What the call shares its budget with: posts their channel, the rest the workspace."""
        return f"{self.method} {self.channel}" if self.method == POST else self.method


class Budgets:
    """Paces calls, and holds them back while Slack asks for it or does not answer."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._next_post: dict[str, float] = {}
        self._buckets: dict[str, tuple[float, float]] = {}
        self._held: dict[str, float] = {}
        self._paused_until = 0.0
        self._failures = 0

    def wait_seconds(self, call: Call) -> float:
        """How long the call has to wait, 0 when it may be made now."""
        with self._lock:
            return self._wait(call)

    def is_held(self, call: Call) -> bool:
        """Whether the call is held back by a Retry-After or an outage of Slack."""
        with self._lock:
            now = self._monotonic()
            return max(self._paused_until, self._held.get(call.key, 0.0)) > now

    def take(self, call: Call) -> bool:
        """Takes the right to make the call; False when another thread took it first."""
        with self._lock:
            if self._wait(call) > 0:
                return False
            now = self._monotonic()
            if call.method == POST:
                self._next_post[call.key] = now + _POST_SECONDS
            else:
                self._buckets[call.key] = (self._tokens(call.key, now) - 1, now)
            return True

    def begins(self, call: Call) -> None:
        """The call goes out only now, so the second after a post counts from here."""
        if call.method == POST:
            with self._lock:
                self._next_post[call.key] = self._monotonic() + _POST_SECONDS

    def ends(self, call: Call) -> None:
        """The call was answered, or given up: Slack may have seen it only now.

        One that was long on its way would else be counted together with those after it.
        """
        if call.method == POST:
            with self._lock:
                earliest = self._monotonic() + _POST_SECONDS - _LEEWAY_SECONDS
                self._next_post[call.key] = max(earliest, self._next_post.get(call.key, 0.0))

    def hold(self, call: Call, seconds: float) -> None:
        """Keeps calls like this one back, as Slack asked with Retry-After."""
        with self._lock:
            self._held[call.key] = self._monotonic() + seconds

    def failed(self) -> None:
        """Slack did not answer; after some of these in a row every call pauses."""
        with self._lock:
            self._failures += 1
            excess = self._failures - _FAILURES_BEFORE_A_PAUSE
            if excess >= 0:
                longest = min(_LONGEST_PAUSE_SECONDS, 2.0 ** min(excess, 10))
                self._pause(longest * _chance.uniform(0.5, 1.0))

    def succeeded(self) -> None:
        """Slack answered."""
        with self._lock:
            self._failures = 0
            self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Keeps every call back."""
        with self._lock:
            self._pause(seconds)

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._monotonic() + seconds)

    def _wait(self, call: Call) -> float:
        now = self._monotonic()
        until = max(self._paused_until, self._held.get(call.key, 0.0))
        if call.method == POST:
            return max(0.0, until - now, self._next_post.get(call.key, 0.0) - now)
        needed = 1 if call.is_urgent else 1 + _KEPT_FOR_URGENT
        missing = needed - self._tokens(call.key, now)
        _, per_second = _flow(call.key)
        return max(0.0, until - now, missing / per_second)

    def _tokens(self, key: str, now: float) -> float:
        burst, per_second = _flow(key)
        tokens, at = self._buckets.get(key, (float(burst), now))
        return min(burst, tokens + (now - at) * per_second)


def _flow(key: str) -> tuple[int, float]:
    """How many calls may be made at once, and how many in a second from then on."""
    return (_HOME_BURST, _HOME_PER_SECOND) if key == HOME else (_BURST, _PER_SECOND)
