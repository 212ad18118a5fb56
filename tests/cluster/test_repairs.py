"""A repair of what Trident keeps, on a real control plane, with the bot's own rights."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.cluster.types.claims import TRIDENT
from bot.database.database import Database
from bot.people.access import Access
from bot.reconcile.frame import ControllerContext
from bot.volumes.anf import NetAppFiles
from bot.volumes.moves import Records
from bot.volumes.repairs.controller import RepairController
from bot.volumes.repairs.decide import RESTARTED_AT
from bot.volumes.repairs.plan import RepairPlan
from bot.volumes.repairs.service import Asker, begin_repair
from bot.volumes.repairs.tables import Repair, RepairPhase
from playground.arm.estate import GIB
from playground.arm.trident import HOME
from tests.arm import Arm
from tests.bot.ground import CAROL, TEAM_A
from tests.bot.volumes.conftest import identity
from tests.bot.volumes.settings import settings_for
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.cluster.test_datasets import cluster_of
from tests.cluster.trident import RECORDS, Trident
from tests.databases import create_tables

__all__ = ["identity"]
PV, CLAIM = "pvc-moved", "lane-data"


class Rig:
    """Trident's kinds and controller, a PV whose volume was moved, and the bot."""

    def __init__(self, plane: ControlPlane, site: Site, database: Database, arm: Arm) -> None:
        self.api, self.database = plane.api, database
        self.trident = Trident(self.api, site)
        site.add_node("infra-1", gpus=0)
        volume = arm.estate.add_volume(arm.standard, "trident-1", 100 * GIB)
        self.old = arm.estate.volume_id(volume)
        volume.pool = arm.premium
        self.new = arm.estate.volume_id(volume)
        body = {"metadata": {"name": PV}, "config": {"internalID": self.old, "version": "1"}}
        self.api.create(RECORDS, body, HOME)
        site.add("persistentvolumes", _volume(self.old))
        self.settings = settings_for(arm)
        self.files = NetAppFiles(lambda: self.settings)
        self.cluster = cluster_of(plane)
        clusters, clock = {"default": self.cluster}, Clock()
        access = Access(lambda: self.settings)
        approvals = Approvals(lambda: self.settings, access)
        deciding = ApprovalContext(database, clock, access, approvals, nobody)
        context = ControllerContext(
            database, clock, lambda: self.settings, clusters, lambda text: f"/{text}"
        )
        self.controller = RepairController(context, deciding, self.files)
        self.clock = clock

    def begin(self) -> str:
        """A repair that was approved; its id."""
        anf = self.settings.anf
        assert anf is not None
        plan = RepairPlan(team="team-a", cluster="default", claim=CLAIM, volume_name=PV,
                    old_id=self.old, new_id=self.new)  # fmt: skip
        asker = Asker("T0QM", CAROL, TEAM_A, "team-a")
        return self.database.transaction(
            lambda s: begin_repair(s, asker, plan, anf, self.clock.now()).id
        )

    def found(self, row_id: str) -> Repair:
        return self.database.transaction(lambda session: session.get_one(Repair, row_id))

    def until_it_ends(self, row_id: str) -> Repair:
        """Takes steps until nothing is left to do."""

        def has_ended() -> bool:
            self.database.transaction(self.controller.step(row_id).save)
            return not self.found(row_id).is_live

        wait_for(has_ended, "the end of the repair")
        return self.found(row_id)


def nobody(_workspace: str, _users: Iterable[str], _groups: Iterable[str], /) -> None:
    """Nobody has to be asked about anew."""


def _volume(resource_id: str) -> Object:
    told = {"internalID": resource_id, "internalName": "trident-1", "name": PV}
    csi = {"driver": TRIDENT, "volumeHandle": PV, "volumeAttributes": told}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {
        "metadata": {"name": PV},
        "spec": {
            "capacity": {"storage": "100Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "azurenetappfiles",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {**reference, "namespace": "team-a", "name": CLAIM},
            "csi": csi,
        },
    }


@pytest.fixture
def rig(
    plane: ControlPlane,
    site: Site,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
    tmp_path: Path,
) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    found = Rig(plane, site, database, arm)
    yield found
    found.trident.close()
    found.files.close()
    database.close()


def test_trident_is_told_and_started_anew(rig: Rig) -> None:
    wait_for(rig.trident.is_up, "Trident's controller")
    assert Records(rig.cluster, HOME).of(PV).is_stale(rig.new)
    before = rig.trident.deployment["metadata"]["generation"]
    row = rig.until_it_ends(rig.begin())
    assert (row.phase, row.reason) == (RepairPhase.DONE, "")
    assert (rig.trident.record(PV) or {})["config"] == {"internalID": rig.new, "version": "1"}
    deployment = rig.trident.deployment
    assert RESTARTED_AT in deployment["spec"]["template"]["metadata"]["annotations"]
    assert deployment["metadata"]["generation"] == before + 1
    assert not Records(rig.cluster, HOME).of(PV).is_stale(rig.new)
