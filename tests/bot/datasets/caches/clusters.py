"""A rig of caches in two clusters, `default` and `east`, that share one clock."""

from datetime import timedelta
from typing import Any

from typing_extensions import override

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster, following
from bot.cluster.resources import ALLOWANCES, JOBS, PVCS, STORAGE_CLASSES, VOLUMES, Resource
from bot.cluster.view import Change
from bot.config import Settings
from bot.database.database import Database, Session
from bot.datasets.caches.evictions.controller import SweepController
from bot.datasets.caches.lifecycle.service import KeepingService
from bot.datasets.caches.shares.controller import ShareController
from bot.datasets.leftovers.controller import OrphanController
from bot.datasets.pushes.controller import PushController
from bot.datasets.usage.service import UsageService
from bot.quotas.engines.opening import unwatched_with, watched_with
from bot.reconcile import due
from bot.reconcile.controller import Controller
from bot.reconcile.loop import Loop
from bot.training.kinds import WORKLOADS
from bot.training.records.makers import makers_of
from playground.cluster.cluster import Cluster as World
from playground.cluster.story import storage_class
from tests.bot.cluster.conftest import PATIENT
from tests.bot.datasets.caches.filling import CLASSES, Filling
from tests.bot.datasets.rig import IMAGE, SETTINGS
from tests.bot.ground import INSTALLATION, Outside

EAST: dict[str, Any] = {
    "namespace": "datasets-east",
    "service_account": "fills",
    "classes": {"standard": {"budget": "400Gi"}, "fast": {}},
    "default_class": "standard",
}


def policy(**more: Any) -> Settings:
    """Caches in both clusters; team-a has both, team-b has only `east`."""
    told = SETTINGS.model_dump(exclude_unset=True)
    told["datasets"] |= CLASSES | {"clusters": {"east": EAST}} | more
    told["clusters"] = {"default": {}, "east": {}}
    own = told["teams"]
    told["teams"] = {
        "team-a": own["team-a"] | {"clusters": ["default", "east"]},
        "team-b": own["team-b"] | {"clusters": ["east"]},
    }
    return Settings.model_validate(told)


class TwoCaching(Filling):
    """Everything that fills, uses and evicts caches, on two clusters."""

    def __init__(self, database: Database, outside: Outside, other: Outside) -> None:
        self.other: World = other.cluster
        connection = Connection.to(str(other.kubeconfig), timeouts=PATIENT)
        watched = following("east", connection, watched_with("kueue"), unwatched_with("kueue"))
        self.east = Cluster.of(watched, INSTALLATION, WORKLOADS)
        self.other.create("namespaces", {"metadata": {"name": "datasets-east"}})
        account = {"metadata": {"name": "fills"}}
        self.other.create("serviceaccounts", account, "datasets-east")
        for store in ("lake", "state"):
            secret = {"metadata": {"name": f"{store}-keys"}, "stringData": {"access-key-id": "a"}}
            self.other.create("secrets", secret, "datasets-east")
        self.other.create("storageclasses", storage_class("fast"))
        self._heard_in_east = dict[str, str]()
        super().__init__(database, outside)
        self.policy = policy()
        self.keeping = KeepingService(self.settings, self.words)
        self.usage = UsageService(self.settings, self.clusters)

    @override
    def restart(self) -> None:
        self.clusters["east"] = self.east
        super().restart()
        sweeps, orphans = SweepController(self.context), OrphanController(self.context)
        every: list[Controller] = [self.controller, self.keeper, sweeps, orphans]
        every += [ShareController(self.context), PushController(self.context, makers_of)]
        self.loop = Loop(self.database, self.clock, every)

    @override
    def fills(self, **more: Any) -> None:
        super().fills(**more)
        self.other.behaviours[IMAGE] = self.world.behaviours[IMAGE]

    @override
    def view(self) -> None:
        super().view()
        if not self.other.faults.unavailable:
            found = self.east.list(STORAGE_CLASSES)
            self.east.view.store(STORAGE_CLASSES).replace(found)
            self.east.view.store(ALLOWANCES).replace([])

    @override
    def look(self) -> None:
        self.other.settle()
        super().look()
        if not self.other.faults.unavailable:
            self.do(self._hear_east)

    @override
    def pass_time(self, **length: float) -> None:
        """Moves from one due time to the next, in both clusters."""
        end = self.outside.clock.moment + timedelta(**length)
        while True:
            self.run()
            nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
            events = (nearest, self.world.next_event(), self.other.next_event())
            moment = min([*(each for each in events if each is not None), end])
            self.outside.clock.moment = max(self.outside.clock.moment, moment)
            if moment >= end:
                self.run()
                return

    def hear_claims(self) -> None:
        """Takes the PVCs of `east` into its view, as watches do."""
        kinds: tuple[Resource[Any], ...] = (PVCS, VOLUMES, STORAGE_CLASSES)
        for kind in kinds:
            self.east.view.store(kind).replace(self.east.list(kind))

    def places(self, kind: str = "persistentvolumeclaims") -> list[tuple[str, str]]:
        """The objects of caches: the cluster and the namespace of each."""
        worlds = {"default": (self.world, "datasets"), "east": (self.other, "datasets-east")}
        return [
            (name, each["metadata"]["namespace"])
            for name, (world, namespace) in worlds.items()
            for each in world.list(kind, namespace)
        ]

    def _hear_east(self, session: Session) -> None:
        kinds: tuple[Resource[Any], ...] = (JOBS, PVCS)
        for resource in kinds:
            for each in self.east.list(resource, "datasets-east"):
                if self._heard_in_east.get(each.uid) != each.metadata.resource_version:
                    self._heard_in_east[each.uid] = each.metadata.resource_version
                    for wakeup in self._hears(Change("east", resource, "modified", each)):
                        due.wake(session, *wakeup, self.clock.now())
