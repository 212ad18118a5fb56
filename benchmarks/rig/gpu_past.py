"""A past of a large cluster's GPUs: who held them every minute, and what they did."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import insert, text
from sqlmodel import Session

from bot.database.database import Database
from bot.gpus.amounts import WHOLE, Amounts
from bot.gpus.minutes import PER_HOUR, minute_of
from bot.gpus.samples import rollup
from bot.gpus.tables import Series, What

GPUS, TEAMS = 512, 40
END = datetime(2026, 12, 1, tzinfo=UTC)
_CLUSTER = "default"
_SIZES = (1, 1, 2, 4, 8, 8, 16)
_LONGEST_HOURS = 24
# PostgreSQL does not see that ids were given out.
_COUNT_ON = text("SELECT setval('gpu_series_id_seq', (SELECT max(id) FROM gpu_series))")
# A server that lives a minute longer has looked at its tables by itself.
_ANALYZE = text("ANALYZE")
_MEMORY_MIB = 80 * 1024


@dataclass
class _Held:
    """A run that holds GPUs until an hour, and how busy it keeps them."""

    series: int
    gpus: int
    until: int
    busy: float


class Past:
    """Runs that come and go, so that every GPU is always held by one of them."""

    def __init__(self, days: int) -> None:
        self._chance = random.Random(512)  # noqa: S311  # the same past every time
        self._held: list[_Held] = []
        self._made: list[dict[str, object]] = []
        self.days = days
        self.first = minute_of(END - timedelta(days=days)) // PER_HOUR

    def write(self, database: Database) -> None:
        """Keeps all of it, an hour in each transaction, as the bot would."""
        for hour in range(self.first, minute_of(END) // PER_HOUR):
            self._fill(hour)
            database.transaction(partial(self._write, hour=hour))
        if not database.is_sqlite:
            database.transaction(lambda session: session.connection().execute(_COUNT_ON))
            database.transaction(lambda session: session.connection().execute(_ANALYZE))

    def _write(self, session: Session, hour: int) -> None:
        if self._made:
            session.connection().execute(insert(Series), self._made)
            self._made = []
        state = rollup.begin(session, _CLUSTER, self.first * PER_HOUR)
        for minute in range(hour * PER_HOUR, (hour + 1) * PER_HOUR):
            rollup.keep(session, _CLUSTER, minute, dict(self._entries()), is_measured=True)
        state.measured = (hour + 1) * PER_HOUR
        rollup.roll_up(session, state, hour + 1)

    def _fill(self, hour: int) -> None:
        """Lets runs end, and others begin on what they held."""
        if hour == self.first:
            self._made += [_series(1, What.SAMPLED), _series(2, What.NODES)]
            self._next = 3
        self._held = [each for each in self._held if each.until > hour]
        free = GPUS - sum(each.gpus for each in self._held)
        while free:
            gpus = min(self._chance.choice(_SIZES), free)
            until = hour + self._chance.randint(1, _LONGEST_HOURS)
            self._held.append(_Held(self._next, gpus, until, self._chance.random()))
            self._made.append(_series(self._next, What.RUN))
            self._next += 1
            free -= gpus

    def _entries(self) -> Iterator[tuple[int, Amounts]]:
        yield 1, Amounts(WHOLE, WHOLE)
        yield 2, Amounts(GPUS * WHOLE)
        for each in self._held:
            held = each.gpus * WHOLE
            busy = int(held * each.busy * self._chance.uniform(0.8, 1.0))
            memory = each.gpus * _MEMORY_MIB
            used = int(memory * each.busy * self._chance.uniform(0.95, 1.0))
            yield each.series, Amounts(held, held, busy, 0, used, memory)


def _series(number: int, what: What) -> dict[str, object]:
    team = f"team-{number % TEAMS}" if what is What.RUN else ""
    return {
        "id": number,
        "what": what,
        "cluster": _CLUSTER,
        "key": str(number),
        "team": team,
        "person": f"U{number % (4 * TEAMS)}" if team else "",
        "run_id": f"{number:032x}" if team else "",
        "namespace": team,
        "name": f"run-{number}" if team else "",
        "gpu_type": "h100",
        "pool": "pool-a",
        "datasets": "",
        "idle_since": None,
    }
