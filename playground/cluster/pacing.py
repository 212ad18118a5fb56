"""Keeps the cluster at the present of a clock, and wakes who waits for a change."""

import asyncio
from collections.abc import Callable

from playground.clock import VirtualClock
from playground.cluster.inside import Inside
from playground.cluster.objects.store import Change

LONG_SECONDS = 3600.0


class Pacing:
    """Settles when the clock moves and when the next event comes by itself."""

    def __init__(self, inside: Inside, clock: VirtualClock) -> None:
        self._inside = inside
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._replan: asyncio.Event | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        inside.store.listeners.append(self._heard)

    def start(self) -> None:
        """Begins to keep time in the running event loop."""
        self._home = asyncio.get_running_loop()
        self._replan = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._follow_clock()),
            asyncio.create_task(self._follow_agenda()),
        ]

    async def stop(self) -> None:
        """Stops keeping time."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def until(self, holds: Callable[[], bool], timeout_seconds: float) -> bool:
        """Whether something came to hold in (real) time; looked at after every change."""
        woken = asyncio.Event()
        waiter = (asyncio.get_running_loop(), woken)
        self._waiters.add(waiter)
        try:
            async with asyncio.timeout(timeout_seconds):
                while not self._holds(holds):
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            return self._holds(holds)
        finally:
            self._waiters.discard(waiter)
        return True

    def _holds(self, holds: Callable[[], bool]) -> bool:
        with self._inside.lock:
            return holds()

    def _heard(self, change: Change) -> None:
        del change
        for loop, woken in list(self._waiters):
            loop.call_soon_threadsafe(woken.set)
        if self._home is not None and self._replan is not None and not self._home.is_closed():
            self._home.call_soon_threadsafe(self._replan.set)

    async def _follow_clock(self) -> None:
        known = self._clock.offset
        while True:
            offset = await self._clock.offset_after(known, LONG_SECONDS)
            if offset != known:
                known = offset
                self._inside.settle()
                self._nudge()

    async def _follow_agenda(self) -> None:
        replan = self._replan or asyncio.Event()
        while True:
            replan.clear()
            self._inside.settle()
            with self._inside.lock:
                upcoming = self._inside.loop.next_event()
            left = LONG_SECONDS
            if upcoming is not None:
                left = max(0.0, (upcoming - self._clock.now()).total_seconds())
            try:
                async with asyncio.timeout(left):
                    await replan.wait()
            except TimeoutError:
                continue

    def _nudge(self) -> None:
        if self._replan is not None:
            self._replan.set()
