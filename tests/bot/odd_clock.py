"""A clock with which what a thread does first breaks."""

from datetime import datetime

from typing_extensions import override

from bot.clock import Clock


class OddClock(Clock):
    """A clock that breaks the first time it is asked."""

    asked = 0

    @override
    def now(self) -> datetime:
        self.asked += 1
        if self.asked == 1:
            raise RuntimeError("can't start new thread")
        return super().now()
