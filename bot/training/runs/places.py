"""Positions in the queue, read from the quota engine for a whole queue at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from threading import Lock

from bot.quotas import Engine

POLL = timedelta(seconds=15)
# Rows that look every 15 s meet an answer that is a moment younger.
_FRESH = timedelta(seconds=14)


@dataclass(frozen=True)
class QueuePosition:
    """A position in a queue, from 1, and the GPUs requested by all workloads ahead."""

    number: int
    gpus_ahead: int
    polled_at: datetime


@dataclass(frozen=True)
class _Poll:
    at: datetime
    places: Mapping[tuple[str, str], QueuePosition]


class Places:
    """Caches the order of each queue for 15 s, so that many waiting runs cost one request."""

    def __init__(self) -> None:
        self._polls: dict[tuple[str, str], _Poll] = {}
        self._lock = Lock()

    def of(
        self, engine: Engine, queue: str, namespace: str, name: str, now: datetime
    ) -> QueuePosition | None:
        """The position of a workload; None if unknown."""
        return self._poll(engine, queue, now).places.get((namespace, name))

    def _poll(self, engine: Engine, queue: str, now: datetime) -> _Poll:
        key = (engine.cluster, queue)
        with self._lock:
            last = self._polls.get(key)
        if last is not None and timedelta(0) <= now - last.at < _FRESH:
            return last
        poll = _Poll(now, _places(engine, queue, now))
        with self._lock:
            self._polls[key] = poll
        return poll


def _places(engine: Engine, queue: str, now: datetime) -> Mapping[tuple[str, str], QueuePosition]:
    order = engine.runs.order(queue)
    waiting = engine.queues.waiting(queue) if order else None
    items = waiting.items if waiting else ()
    known = {(each.namespace, each.own_name): each.gpus for each in items}
    found, ahead = {}, Decimal(0)
    for number, work in enumerate(order, start=1):
        found[work] = QueuePosition(number, ceil(ahead), now)
        ahead += known.get(work, Decimal(0))
    return found
