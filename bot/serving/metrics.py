"""What /metrics shows: what was counted as it happened, and what rows say now."""

from collections.abc import Iterable, Iterator, Sequence

import structlog
from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from bot.clock import Clock
from bot.database.database import Database
from bot.errors import DatabaseError
from bot.gauges import GaugeSource, GaugeSpec, Reading

log = structlog.get_logger()

DATABASE_UP = GaugeSpec(
    "quartermaster_database_up", "1 if the database answers; metrics of rows are absent otherwise"
)


class RowMetrics(Collector):
    """Reads the metrics of rows anew each time, so that what is gone is no longer shown."""

    def __init__(self, database: Database, clock: Clock, sources: Sequence[GaugeSource]) -> None:
        self._database = database
        self._clock = clock
        self._sources = sources

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All of them; without the database, only that it does not answer."""
        try:
            readings = [each for source in self._sources for each in self._read(source)]
        except DatabaseError as error:
            log.warning("metrics could not be read", error=error.message)
            return _families((DATABASE_UP,), [DATABASE_UP.at(0)])
        gauges = [gauge for source in self._sources for gauge in source.gauges]
        return _families((DATABASE_UP, *gauges), [DATABASE_UP.at(1), *readings])

    def text(self) -> bytes:
        """All metrics of the process, as Prometheus reads them."""
        return generate_latest() + generate_latest(self)

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
