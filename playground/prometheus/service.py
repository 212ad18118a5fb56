"""The Prometheus of each cluster of a world."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from playground.cluster.cluster import Cluster
from playground.loopback import App
from playground.prometheus.app import PrometheusApp
from playground.prometheus.exporters import Exporters
from playground.prometheus.past import Past


class Prometheus:
    """One cluster's: what its GPUs do, and whether anybody looks."""

    def __init__(self, cluster: Cluster, now: Callable[[], datetime]) -> None:
        self.past = Past(lambda: now().timestamp())
        self.app = PrometheusApp(self.past)
        self._exporters = Exporters(cluster, self.past)

    def work(self, run: str, *shares: float) -> None:
        """From now on a run's GPUs are busy for these shares of the time, 0 to 1; in their order.

        The last share is that of all others: `work("lane", 0.9, 0)` has the first one work alone.
        """
        self._exporters.work(run, shares)

    def fail(self, node: str, gpu: int, xid: int) -> None:
        """The driver of a node complains about one of its GPUs."""
        self._exporters.fail(node, gpu, xid)

    def go_down(self) -> None:
        """It answers nobody and scrapes nothing any more."""
        self.past.leave()

    def come_back(self) -> None:
        """It answers and scrapes again; of the time between it knows nothing."""
        self.past.return_()


class Metrics:
    """The Prometheus of each cluster, by the cluster's name."""

    def __init__(self, clusters: Mapping[str, Cluster], now: Callable[[], datetime]) -> None:
        self.of = {name: Prometheus(cluster, now) for name, cluster in clusters.items()}
        self._urls: dict[str, str] = {}

    def serve(self, serve: Callable[[App], str]) -> None:
        """Serves each at an address of its own."""
        self._urls = {name: serve(each.app) for name, each in self.of.items()}

    def settings(self) -> dict[str, Any]:
        """What the bot is told of them."""
        return {"clusters": {name: {"prometheus": {"url": u}} for name, u in self._urls.items()}}
