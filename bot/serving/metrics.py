"""What /metrics shows: what was counted as it happened, and what rows say now."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future

import structlog
from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from bot.clock import Clock
from bot.database.database import Database
from bot.errors import DatabaseError
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.threads import in_thread

log = structlog.get_logger()

DATABASE_UP = GaugeSpec(
    "quartermaster_database_up", "1 if the database answers; metrics of rows are absent otherwise"
)


_PATIENCE_SECONDS = 5.0  # Prometheus waits 10 s, and then has no metrics at all
_SLOW = "The database does not answer in time."


class RowMetrics(Collector):
    """Reads the metrics of rows anew each time, so that what is gone is no longer shown.

    `count` counts other rows before that. While the database hangs, one look waits for it.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        sources: Sequence[GaugeSource],
        count: Callable[[], object] = lambda: None,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._sources = sources
        self._count = count
        self._patience_seconds = patience_seconds
        self._lock = threading.Lock()
        self._look: Future[list[Reading]] | None = None

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All of them; without the database, only that it does not answer."""
        try:
            readings = self._latest_look().result(self._patience_seconds)
        except (DatabaseError, TimeoutError) as error:
            told = error.message if isinstance(error, DatabaseError) else _SLOW
            log.warning("metrics could not be read", error=told)
            return _families((DATABASE_UP,), [DATABASE_UP.at(0)])
        gauges = [gauge for source in self._sources for gauge in source.gauges]
        return _families((DATABASE_UP, *gauges), [DATABASE_UP.at(1), *readings])

    def text(self) -> bytes:
        """All metrics of the process, as Prometheus reads them."""
        rows = generate_latest(self)
        return generate_latest() + rows

    def _latest_look(self) -> Future[list[Reading]]:
        """The look that is under way, else a new one."""
        with self._lock:
            if self._look is None or self._look.done():
                self._look = in_thread(self._read_all)
            return self._look

    def _read_all(self) -> list[Reading]:
        self._count()
        return [each for source in self._sources for each in self._read(source)]

    def _read(self, source: GaugeSource) -> list[Reading]:
        """What one source says; requests of people come first."""
        self._database.gate.yield_to_foreground()
        now = self._clock.now()
        return self._database.read(lambda session: list(source.read(session, now)))


def _families(
    gauges: Iterable[GaugeSpec], readings: Iterable[Reading]
) -> Iterator[GaugeMetricFamily]:
    families = {
        each: GaugeMetricFamily(each.name, each.help, labels=each.labels) for each in gauges
    }
    for reading in readings:
        families[reading.gauge].add_metric(reading.labels, reading.value)
    return iter(families.values())
