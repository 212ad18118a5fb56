"""The bot's side of a playground's clock: follows its offset, and says when it is quiet."""

import json
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from bot.clock import Clock
from bot.threads import EssentialThread

log = structlog.get_logger()

_ANSWER_SECONDS = 30.0
_RETRY_SECONDS = 0.5


class ClockFollower:
    """Keeps the clock at the offset that the playground gives; `moved` is called after a shift."""

    def __init__(self, url: str, clock: Clock, moved: Callable[[], None]) -> None:
        self._url = url
        self._clock = clock
        self._moved = moved
        self._thread = EssentialThread("clock", self._pass)
        self.threads = (self._thread,)

    def start(self) -> None:
        """Takes the offset once, then follows it."""
        self._take(after=-1.0)
        self._thread.start()

    def stop(self) -> None:
        """Follows no more; the request under way is left to its time-out."""
        self._thread.stop()

    def _pass(self) -> None:
        try:
            self._take(self._clock.offset.total_seconds())
        except (OSError, ValueError) as error:
            log.info("the playground's clock did not respond", error=str(error))
            self._thread.stopping.wait(_RETRY_SECONDS)

    def _take(self, after: float) -> None:
        url = f"{self._url}?after={after}"
        with urllib.request.urlopen(url, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310  # loopback http, checked by the configuration
            offset = timedelta(seconds=json.load(answer)["offset_seconds"])
        if offset != self._clock.offset:
            self._clock.shift(offset)
            self._moved()


def pulse(
    clock: Clock,
    is_quiet: Callable[[datetime], bool],
    next_due: Callable[[], datetime | None],
) -> dict[str, object]:
    """What a playground needs to know before it moves the clock."""
    offset = clock.offset.total_seconds()
    due = next_due()
    return {
        "quiet": is_quiet(clock.now()),
        "next_due": due.isoformat() if due else None,
        "offset_seconds": offset,
    }
