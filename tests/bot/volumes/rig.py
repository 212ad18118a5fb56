"""Volumes that Trident made in Azure for the PVCs of a team, with everything that keeps them."""

from contextlib import suppress
from typing import Any

from sqlmodel import select
from typing_extensions import override

from bot.cluster.resources import PVCS, STORAGE_CLASSES, VOLUMES, Resource
from bot.database.database import Database
from bot.reconcile.controller import Controller
from bot.reconcile.loop import Loop
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.controller import PoolController, look_at_pools
from bot.volumes.tables import MovedVolume
from playground.arm.estate import Pool, Volume
from playground.arm.trident import HOME, Wanted, provision, storage_class
from tests.arm import Arm
from tests.bot.ground import Ground, Outside
from tests.bot.volumes.settings import settings_for

KINDS: tuple[Resource[Any], ...] = (PVCS, VOLUMES, STORAGE_CLASSES)
CLAIM = "lane-data"


class Rig(Ground):
    """A PVC `lane-data` of 1 TiB in pool standard; time moves by hand."""

    def __init__(self, database: Database, outside: Outside, arm: Arm) -> None:
        super().__init__(database, outside, settings_for(arm))
        self.arm = arm
        self.files = NetAppFiles(self.settings)
        self.world.create("storageclasses", storage_class())
        self.volume = self.provision(CLAIM, 1024)
        self.restart()
        self.look()

    def restart(self) -> None:
        """A new process on the same database."""
        self.loop = Loop(self.database, self.clock, self.controllers())

    def controllers(self) -> list[Controller]:
        """What the process keeps."""
        return [PoolController(self.clock, self.files, self.settings, self.clusters)]

    def provision(self, name: str, gibibytes: int, pool: Pool | None = None) -> Volume:
        """A volume that Trident makes for a PVC of the team."""
        wanted = Wanted("team-a", name, gibibytes)
        return provision(self.world, self.arm.estate, pool or self.arm.standard, wanted)

    @override
    def look(self) -> None:
        """Has the view see the cluster as it is."""
        self.world.settle()
        for resource in KINDS:
            self.refresh(resource)

    def look_at_azure(self) -> None:
        """The slot of the job, and its step."""
        self.look()
        self.do(lambda s: look_at_pools(self.policy, s, self.clock.now()))
        self.loop.run_due()

    def later(self, **length: float) -> None:
        """Lets time pass everywhere."""
        self.pass_time(**length)
        self.arm.now = self.clock.now()

    def moved(self, name: str = "") -> MovedVolume | None:
        """What is known of a PV that was moved."""
        wanted = name or self.pv
        return self.do(lambda s: s.get(MovedVolume, ("default", wanted)))

    def known(self) -> list[str]:
        """The PVCs of all volumes that were moved."""
        return self.do(lambda s: sorted(s.exec(select(MovedVolume.claim_name)).all()))

    @property
    def pv(self) -> str:
        """The PV of lane-data."""
        return self.volume.name.removeprefix("trident-")

    @property
    def place(self) -> str:
        """Where Azure has its volume."""
        return self.arm.estate.volume_id(self.volume)

    def record(self) -> str:
        """What Trident keeps of it."""
        found = self.world.get("tridentvolumes", self.pv, HOME)
        return str((found or {"config": {}})["config"].get("internalID", ""))

    def set_record(self, resource_id: str | None) -> None:
        """Somebody writes it by hand."""
        change = {"config": {"internalID": resource_id}}
        self.world.patch("tridentvolumes", self.pv, change, HOME)

    def close(self) -> None:
        with suppress(RuntimeError):
            self.files.close()
