"""Snapshots and restores on a real control plane, with the bot's own rights.

A test plays what CSI drivers and their sidecars do.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.resources import (
    PVCS,
    SNAPSHOT_CLASSES,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUMES,
)
from bot.database.database import Database
from bot.people.access import Caller, ChannelPlace
from bot.reconcile.frame import ControllerContext
from bot.snapshots.restores import service
from bot.snapshots.restores.controller import RestoreController
from bot.snapshots.restores.service import RestoreService
from bot.snapshots.snapshots.controller import SnapshotController
from bot.snapshots.snapshots.service import SnapshotRequest, SnapshotService
from bot.snapshots.tables import Restore, RestorePhase, Snapshot, SnapshotPhase
from tests.bot.ground import ALICE, TEAM_A
from tests.bot.snapshots.rig import SETTINGS
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import CLASS, DRIVER, GROUP, TAKEN, clear, install, play
from tests.cluster.site import Site
from tests.cluster.test_datasets import cluster_of
from tests.databases import create_tables

CLAIM, CLAIMS = "results", "persistentvolumeclaims"


class Rig:
    """A team's PVC, the driver of its volumes and snapshots as a test plays it, and the bot."""

    def __init__(self, plane: ControlPlane, site: Site, database: Database) -> None:
        self.api, self.database, self.clock = plane.api, database, Clock()
        install(site)
        self.team = site.add_team("4")
        self.cluster = cluster_of(plane)
        teams = SETTINGS.model_dump()["teams"]
        teams["team-a"]["namespace"] = self.team
        self.settings = type(SETTINGS).model_validate(SETTINGS.model_dump() | {"teams": teams})
        clusters = {"default": self.cluster}
        world = ControllerContext(
            database, self.clock, lambda: self.settings, clusters, lambda text: f"/{text}"
        )
        self.snapshots = SnapshotService(lambda: self.settings, clusters, world.format_command)
        self.restores = RestoreService(lambda: self.settings, clusters)
        self.taking, self.making = SnapshotController(world), RestoreController(world)
        spec: Object = {"accessModes": ["ReadWriteMany"], "storageClassName": CLASS}
        spec |= {"resources": {"requests": {"storage": "1Gi"}}}
        self.api.create(CLAIMS, {"metadata": {"name": CLAIM}, "spec": spec}, self.team)
        self.until(lambda: self.claim(CLAIM)["status"].get("phase") == "Bound")

    def look(self) -> None:
        """Takes what services look at into the view, as watches do."""
        kinds: tuple[Any, ...] = (PVCS, VOLUMES, STORAGE_CLASSES, SNAPSHOTS, SNAPSHOT_CLASSES)
        for resource in kinds:
            self.cluster.view.store(resource).replace(self.cluster.list(resource))

    def take(self) -> str:
        self.look()
        now = self.clock.now()
        return self.database.transaction(
            lambda s: self.snapshots.take(s, caller(), SnapshotRequest(CLAIM), now).id
        )

    def restore(self, row_id: str) -> str:
        self.look()
        options, now = service.RestoreRequest("again"), self.clock.now()

        def work(session: Session) -> str:
            row = session.get_one(Snapshot, row_id)
            return self.restores.restore(session, caller(), row, options, now).id

        return self.database.transaction(work)

    def delete(self, row_id: str) -> None:
        now = self.clock.now()

        def work(session: Session) -> None:
            self.snapshots.delete(session, caller(), session.get_one(Snapshot, row_id), now)

        self.database.transaction(work)

    def found(self, row_id: str) -> Snapshot:
        return self.database.transaction(lambda session: session.get_one(Snapshot, row_id))

    def made(self, row_id: str) -> Restore:
        return self.database.transaction(lambda session: session.get_one(Restore, row_id))

    def claim(self, name: str) -> Object:
        return self.api.get(CLAIMS, name, self.team) or {"status": {}, "spec": {}}

    def until(self, holds: Callable[[], bool], *, taking: str = "", making: str = "") -> None:
        """Takes steps, and plays the driver, until something holds."""

        def done() -> bool:
            play(self.api, self.team)
            if taking:
                self.database.transaction(self.taking.step(taking).save)
            if making:
                self.database.transaction(self.making.step(making).save)
            return holds()

        wait_for(done, f"what {taking or making or CLAIM} comes to")


def caller() -> Caller:
    return Caller(
        workspace_id="T0QM",
        person=ALICE,
        channel=TEAM_A,
        place=ChannelPlace.TEAM,
        team="team-a",
        roles=frozenset(),
    )


@pytest.fixture
def rig(plane: ControlPlane, site: Site, tmp_path: Path) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    found = Rig(plane, site, database)
    yield found
    clear(found.api, found.team)
    database.close()


def test_a_snapshot_is_restored_and_deleted(rig: Rig) -> None:
    row_id = rig.take()
    rig.until(lambda: rig.found(row_id).phase == SnapshotPhase.READY, taking=row_id)
    row = rig.found(row_id)
    assert (row.size_bytes, row.snapshot_class, row.driver) == (2**30, CLASS, DRIVER)
    assert row.taken_at is not None
    assert row.taken_at.isoformat() == "2026-11-22T08:00:00+00:00"
    made_id = rig.restore(row_id)
    rig.until(lambda: rig.made(made_id).is_cleared, making=made_id)
    claim = rig.claim("again")
    assert (rig.made(made_id).phase, claim["spec"]["accessModes"]) == (
        RestorePhase.READY, ["ReadWriteMany"],
    )  # fmt: skip
    source = {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": row.name}
    assert (claim["spec"]["dataSource"], claim["spec"]["dataSourceRef"]) == (source, source)
    rig.delete(row_id)
    rig.until(lambda: rig.found(row_id).is_cleared, taking=row_id)
    assert (rig.found(row_id).phase, rig.api.list(TAKEN, rig.team)) == (SnapshotPhase.DELETED, [])
