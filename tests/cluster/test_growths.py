"""A PVC grows on a real control plane, with the bot's own rights; a test plays Trident's resizer.

What the resizer says meanwhile are the PVC's conditions, as Kubernetes has them.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.cluster.resources import PVCS, STORAGE_CLASSES, VOLUMES
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Access, Caller, ChannelPlace
from bot.reconcile.frame import ControllerContext
from bot.volumes.anf import NetAppFiles
from bot.volumes.growths.controller import GrowthController
from bot.volumes.growths.plan import GrowthRequest, bytes_of
from bot.volumes.growths.service import GrowthService
from bot.volumes.growths.tables import Growth, GrowthPhase
from bot.volumes.pools.reads import VolumeReads
from playground.arm.estate import TIB
from playground.arm.trident import CLASS
from tests.arm import Arm
from tests.bot.ground import ERIN, TEAM_A
from tests.bot.volumes.conftest import identity
from tests.bot.volumes.settings import settings_for
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import clear, install, play
from tests.cluster.rights import deploy
from tests.cluster.site import Site
from tests.cluster.test_datasets import cluster_of
from tests.cluster.test_repairs import nobody
from tests.cluster.trident import Trident

__all__ = ["identity"]
CLAIM, CLAIMS = "lane-data", "persistentvolumeclaims"
KINDS: tuple[Any, ...] = (PVCS, VOLUMES, STORAGE_CLASSES)
_BUSY = "capacity pool standard is in state Updating"


class Rig:
    """A team's PVC of 1 TiB on Azure NetApp Files, the played Trident, and the bot."""

    def __init__(self, plane: ControlPlane, site: Site, database: Database, arm: Arm) -> None:
        self.api, self.database, self.clock = plane.api, database, Clock()
        self.trident, self.problem = Trident(self.api, site), ""
        self.trident.uses(arm.estate, arm.standard)
        self.driver = self.trident.driver(lambda: self.problem)
        install(site, self.driver)
        self.team = site.add_team("4")
        deploy(self.api, "17-datasets.yaml")
        site.let_bot_into(self.team, "quartermaster-trident")
        told = settings_for(arm, changes={"approve_above": 1000}).model_dump()
        told["anf"]["price_per_gib_month"] = {"Standard": 0.15}
        told["teams"]["team-a"]["namespace"] = self.team
        self.settings = Settings.model_validate(told)
        self.files, self.cluster = NetAppFiles(lambda: self.settings), cluster_of(plane)
        self.clusters = {"default": self.cluster}
        access = Access(lambda: self.settings)
        approvals = Approvals(lambda: self.settings, access)
        deciding = ApprovalContext(database, self.clock, access, approvals, nobody)
        self.service = GrowthService(self.files, self.clusters, approvals)
        context = ControllerContext(
            database, self.clock, lambda: self.settings, self.clusters, lambda text: f"/{text}"
        )
        self.controller = GrowthController(context, deciding, self.files)
        spec: Object = {"accessModes": ["ReadWriteMany"], "storageClassName": CLASS}
        spec |= {"resources": {"requests": {"storage": "1Ti"}}}
        self.api.create(CLAIMS, {"metadata": {"name": CLAIM}, "spec": spec}, self.team)
        wait_for(lambda: self.plays() and self.claim["status"]["phase"] == "Bound", CLAIM)

    def plays(self) -> bool:
        """Has the sidecars look once."""
        play(self.api, self.team, self.driver)
        return True

    @property
    def claim(self) -> Object:
        found = self.api.get(CLAIMS, CLAIM, self.team)
        assert found is not None
        return found

    def grow(self, size: str) -> str:
        """Erin has it grow; the id of the row."""
        for resource in KINDS:
            self.cluster.view.store(resource).replace(self.cluster.list(resource))
        reads = VolumeReads(self.files, self.clusters)
        _, mine = reads.find(self.settings.teams["team-a"], CLAIM, None)
        asked = GrowthRequest(
            team="team-a", cluster="default", claim=CLAIM, size_bytes=bytes_of(size)
        )
        who, now = caller(), self.clock.now()
        return self.database.transaction(lambda s: self.service.begin(s, who, asked, mine, now).id)

    def row(self, row_id: str) -> Growth:
        return self.database.transaction(lambda session: session.get_one(Growth, row_id))

    def until(self, row_id: str, phase: GrowthPhase, obstacle: str = "") -> Growth:
        """Takes steps until it has come so far."""

        def is_there() -> bool:
            self.database.transaction(self.controller.step(row_id).save)
            row = self.row(row_id)
            return (row.phase, row.obstacle) == (phase, obstacle)

        wait_for(is_there, f"{phase} {obstacle}")
        return self.row(row_id)


def caller() -> Caller:
    return Caller(
        workspace_id="T0QM",
        person=ERIN,
        channel=TEAM_A,
        place=ChannelPlace.TEAM,
        team="team-a",
        roles=frozenset(),
    )


@pytest.fixture
def rig(
    plane: ControlPlane,
    site: Site,
    own_database: Database,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
) -> Iterator[Rig]:
    found = Rig(plane, site, own_database, arm)
    yield found
    clear(found.api, found.team, found.driver)
    found.trident.close()
    found.files.close()


def test_claim_grows_with_what_hinders_it(rig: Rig, arm: Arm) -> None:
    row_id = rig.grow("2Ti")
    rig.until(row_id, GrowthPhase.WAITING)
    assert rig.claim["spec"]["resources"]["requests"] == {"storage": "2Ti"}
    rig.problem = _BUSY
    rig.plays()
    rig.plays()
    types = [each["type"] for each in rig.claim["status"]["conditions"]]
    assert types == ["Resizing", "ControllerResizeError"]
    rig.until(row_id, GrowthPhase.WAITING, f"ControllerResizeError: {_BUSY}")
    rig.problem = ""
    rig.plays()
    assert rig.claim["status"]["capacity"] == {"storage": "2Ti"}
    row = rig.until(row_id, GrowthPhase.DONE)
    assert (row.reason, arm.estate.volumes[0].quota) == ("", 2 * TIB)
