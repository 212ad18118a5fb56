"""Caches that FSx imports: the cluster, the region, and a worker that only talks."""

from typing import Any

from typing_extensions import override

from bot.database.database import Database
from bot.datasets.caches.controller import CacheController
from bot.datasets.caches.shares.controller import ShareController
from bot.datasets.caches.tables import Cache
from bot.datasets.fsx.tables import Import
from bot.reconcile.loop import Loop
from playground.fsx.estate import Lustre
from tests.bot.datasets.caches.filling import DONE, Filling, settings
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import Outside

SYSTEM = "fs-0123456789abcdef0"
FOLDER = {"file_system": SYSTEM, "repository": "s3://lake", "path": "/lake"}
READ = {key: value for key, value in DONE.items() if not key.startswith("copied")} | {
    "phase": "verifying"
}


class Importing(Filling):
    """A file system whose folder /lake is linked to s3://lake/, where the catalogue's data is."""

    system: Lustre
    doing = "verifying"

    def __init__(self, database: Database, outside: Outside, region: Region) -> None:
        self.region = region
        super().__init__(database, outside)
        classes = {"standard": {}, "lustre": {"fsx": FOLDER}}
        service = region.service().model_dump()
        self.policy = settings(classes=classes, default_class="lustre", fsx=service)
        self.system = region.estate.add(SYSTEM)
        region.estate.link(self.system, "/lake", "s3://lake/")
        region.estate.files = 627_615
        self.fills(last=READ)

    @override
    def restart(self) -> None:
        """The bot is started anew."""
        world = self.context
        self.keeper = CacheController(world)
        self.loop = Loop(self.database, self.clock, [self.keeper, ShareController(world)])

    def imported(self, cache_id: str) -> Import:
        """What FSx did for a cache."""
        return self.do(lambda session: session.get_one(Import, cache_id))

    def tasks(self) -> list[tuple[str, str, list[str]]]:
        """The tasks that FSx was given: kind, lifecycle and paths, the oldest first."""
        now = self.clock.now()
        return [
            (each.asked["Type"], each.lifecycle(now), each.asked["Paths"])
            for each in self.region.estate.tasks
        ]

    def volumes(self) -> list[dict[str, Any]]:
        """The volumes that were made besides those of others."""
        names = {each["metadata"]["name"] for each in self.others}
        every = self.world.list("persistentvolumes")
        return [each for each in every if each["metadata"]["name"] not in names]

    def ready(self, **more: Any) -> str:
        """A cache that can be used."""
        cache_id = self.cache(**more)
        self.pass_time(minutes=10)
        assert self.found(cache_id).phase == "ready", self.shown(cache_id)
        return cache_id

    def failed(self, cache_id: str) -> tuple[str, str]:
        """Why a cache failed, and what to do."""
        cache: Cache = self.found(cache_id)
        assert cache.phase == "failed", self.shown(cache_id)
        return cache.reason, cache.unblock
