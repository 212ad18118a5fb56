"""The health of the running bot: readiness with reasons, metrics, and whether it is quiet."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from prometheus_client import Gauge

from bot.clock import Clock
from bot.cluster.api.watch import WatchState
from bot.cluster.cluster import Cluster
from bot.database.database import Database
from bot.errors import DatabaseError
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeups
from bot.serving.http import Condition
from bot.slack.home.publisher import HomePublisher
from bot.slack.receiving.transports import Transport
from bot.slack.sending.sender import Sender
from bot.threads import EssentialThread, troubles

_OLDEST_VIEW_SECONDS = 600.0

WATCH_AGE = Gauge(
    "quartermaster_watch_age_seconds",
    "Time since a watch last received data",
    ["cluster", "resource"],
)


@dataclass(frozen=True)
class Health:
    """The parts whose health is checked."""

    database: Database
    clock: Clock
    clusters: Mapping[str, Cluster]
    loop: Loop
    wakeups: Wakeups
    sender: Sender
    transport: Transport
    next_slot: Callable[[], datetime | None]
    threads: Callable[[], Iterable[EssentialThread]] = tuple
    homes: HomePublisher | None = None

    def dead(self) -> dict[str, str]:
        """The problem of each essential thread that does not work, by name."""
        return troubles(self.threads())

    def conditions(self) -> dict[str, Condition]:
        """The conditions of readiness; each returns its problem or None."""
        watches = {f"cluster {name}": partial(self._watching, name) for name in self.clusters}
        return {
            "database": self._reachable,
            "slack": self.transport.health,
            "sender": self.sender.health,
            **watches,
        }

    def troubles(self) -> dict[str, Condition]:
        """The problems of each cluster, even those that do not stop the bot from working."""
        return {
            f"cluster {name}": partial(_trouble, cluster) for name, cluster in self.clusters.items()
        }

    def refresh_metrics(self) -> None:
        """Updates the metrics that are neither counted as events happen nor read from rows."""
        for name, cluster in self.clusters.items():
            for watch in cluster.watches():
                if watch.served:
                    WATCH_AGE.labels(name, watch.resource).set(watch.age_seconds)

    def is_quiet(self, now: datetime) -> bool:
        """Whether nothing is due, in progress, being looked up or unsent."""
        # A change becomes a due row, that a step, and that a message: asked in this order, nothing
        # slips through between.
        return (
            self.wakeups.is_quiet()
            and not self._has_due(now)
            and self.loop.is_idle()
            and self.transport.is_quiet
            and self.sender.is_quiet()
            and (self.homes is None or self.homes.is_quiet())
        )

    def next_due(self) -> datetime | None:
        """When something happens by itself next."""
        moments = (self.next_row(), self.next_slot())
        return min((moment for moment in moments if moment), default=None)

    def next_row(self) -> datetime | None:
        """When the next row is due."""
        return self.database.read(lambda session: due.earliest(session, self.loop.kinds))

    def _has_due(self, now: datetime) -> bool:
        following = self.next_row()
        return following is not None and following <= now

    def _reachable(self) -> str | None:
        try:
            self.next_row()
        except DatabaseError as error:
            return error.message
        return None

    def _watching(self, name: str) -> str | None:
        """A cluster that fails is no reason to stop serving those of the others."""
        lagging = _lagging(self.clusters[name])
        others = (cluster for other, cluster in self.clusters.items() if other != name)
        if lagging is not None and lagging.error and not all(map(_lagging, others)):
            return None
        return _trouble(self.clusters[name])


def _lagging(cluster: Cluster) -> WatchState | None:
    """A watch that has received no data for too long."""
    for watch in cluster.watches():
        if watch.served and (not watch.synced or watch.age_seconds > _OLDEST_VIEW_SECONDS):
            return watch
    return None


def _trouble(cluster: Cluster) -> str | None:
    watch = _lagging(cluster)
    return f"{watch.resource}: {watch.error or 'not read yet'}" if watch else None
