"""A rig of training with two clusters, `default` and `lab`, that share one clock."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from typing_extensions import override

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster, following
from bot.cluster.resources import Resource
from bot.cluster.view import Change
from bot.config import Settings
from bot.database.database import Database
from bot.quotas.engines.opening import unwatched_with, watched_with
from bot.reconcile import due
from bot.training.kinds import WORKLOADS
from playground.cluster.control.training import Training
from tests.bot.cluster.conftest import PATIENT
from tests.bot.ground import INSTALLATION, Outside
from tests.bot.training.rig import LIVE_TEAM, Rig, settings

TEMPLATES: dict[str, Any] = {
    "dgx": {"purpose": "our own", "gpu_type": "h100", "price_per_gpu_hour": 2, "after": "10m"},
    "burst": {"cluster": "lab", "price_per_gpu_hour": "4.5", "cpu_per_gpu": 12},
    "spot": {"queue": "spot", "after": "5m"},
    "others": {"teams": ["team-b"]},
}
BOTH = ("dgx", "burst")


def policy(templates: dict[str, Any] | None = None, engine: str = "kueue", **more: Any) -> Settings:
    """Team-a with both clusters, and these templates; `engine` is that of `lab`."""
    plain = settings().model_dump(mode="json", exclude_unset=True)
    teams = {**plain["teams"], "team-a": {"channels": ["C0TEAMA"], **LIVE_TEAM,
                                         "clusters": ["default", "lab"]}}  # fmt: skip
    clusters: dict[str, Any] = {"default": {}, "lab": {"engine": engine}}
    found = TEMPLATES if templates is None else templates
    whole = plain | {"teams": teams, "clusters": clusters, "templates": found} | more
    return Settings.model_validate(whole)


class TwoClusters(Rig):
    """Training on two clusters with Kueue; `lab` is the second, served by `other`."""

    fill_id = ""

    def __init__(
        self, database: Database, outside: Outside, other: Outside, policy: Settings
    ) -> None:
        self.other = other
        self.of_lab = watched_with(policy.clusters["lab"].engine)
        connection = Connection.to(str(other.kubeconfig), timeouts=PATIENT)
        unwatched = unwatched_with(policy.clusters["lab"].engine)
        watched = following("lab", connection, self.of_lab, unwatched)
        self.lab = Cluster.of(watched, INSTALLATION, WORKLOADS)
        super().__init__(database, outside, policy)

    @override
    def restart(self) -> None:
        self.clusters["lab"] = self.lab
        super().restart()

    @override
    def look(self) -> None:
        self.other.cluster.settle()
        super().look()
        changes = self._changes_in_lab()
        self.do(lambda session: self._wake(session, changes))

    @override
    def refresh(self, resource: Resource[Any], selector: str = "") -> list[Change]:
        return [] if self.world.faults.unavailable else super().refresh(resource, selector)

    def lose_lab(self) -> None:
        """A new process, to which `lab` has not answered yet."""
        self.other.cluster.faults.unavailable = True
        self.forget_view()
        for kind in (*self.of_lab, *WORKLOADS):
            self.lab.view.store(kind).synced = False
        self.restart()

    def _changes_in_lab(self) -> list[Change]:
        if self.other.cluster.faults.unavailable:
            return []
        here = (self.cluster, self.world)
        self.cluster, self.world = self.lab, self.other.cluster
        found: list[Change] = []
        try:
            for kind in {**self.of_lab, **dict.fromkeys(WORKLOADS, "")}.items():
                found += super().refresh(*kind)
        finally:
            self.cluster, self.world = here
        return [replace(each, cluster="lab") for each in found]

    @override
    def pass_time(self, **length: float) -> None:
        """Moves from one due time to the next, in both clusters."""
        end = self.outside.clock.moment + timedelta(**length)
        while True:
            self.run()
            nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
            events = (self.world.next_event(), self.other.cluster.next_event())
            moment = min([*(each for each in (nearest, *events) if each is not None), end])
            self.outside.clock.moment = max(self.outside.clock.moment, moment)
            if moment >= end:
                self.run()
                return

    def fill(self, name: str = "fills", gpus: int = 8) -> str:
        """A run of team-a that keeps the GPUs of `default` for hours; its id."""
        self.world.behaviours["long"] = Training(seconds_per_epoch=7200)
        run_id = self.submit(name, gpus=gpus, image="ghcr.io/acme/long:1.0")
        self.pass_time(seconds=20)
        self.fill_id = run_id
        return run_id

    def waiting(self, name: str = "wide", on: tuple[str, ...] = BOTH, **more: Any) -> str:
        """A run that waits on the first of its templates, as `default` is full; its id."""
        self.fill()
        run_id = self.submit(name, **{"gpus": 8, "templates": on, **more})
        self.pass_time(seconds=40)
        return run_id

    def jobs(self, name: str) -> list[str]:
        """In which clusters a Job of this run exists."""
        worlds = {"default": self.world, "lab": self.other.cluster}
        found = {key: world.list("jobs", "team-a") for key, world in worlds.items()}
        return [
            key
            for key, jobs in found.items()
            if any(each["metadata"]["name"].startswith(f"{name}-") for each in jobs)
        ]

    def requests_of(self, cluster: Outside) -> list[str]:
        """Every request with an effect that reached a cluster, in order."""
        return [each.name for each in cluster.ledger.requests if each.number is not None]
