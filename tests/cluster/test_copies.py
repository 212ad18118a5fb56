"""Copies of PVCs on a real control plane: what is made for them with the bot's own rights."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.cluster.resources import (
    HOLDERS,
    PODS,
    PVCS,
    SNAPSHOT_CLASSES,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUMES,
)
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Access, Caller, ChannelPlace
from bot.reconcile.frame import ControllerContext
from bot.snapshots.claims.reads import ClaimReads
from bot.snapshots.copies.controller import CopyController
from bot.snapshots.copies.plan import CopyRequest
from bot.snapshots.copies.service import CopyService
from bot.snapshots.copies.tables import Copy, CopyPhase, CopySource
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.reads import VolumeReads
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import ERIN, TEAM_A
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import CLASS, TAKEN, Driver, clear, install, play
from tests.cluster.site import Site
from tests.cluster.test_datasets import CLAIMS, cluster_of
from tests.cluster.test_repairs import nobody
from tests.databases import create_tables

CLAIM, TARGET, JOBS = "results", "shared", "jobs.batch"
NFS = Driver("nfs.csi.k8s.io", "nfs-rwx")
KINDS: tuple[Any, ...] = (
    PVCS, VOLUMES, STORAGE_CLASSES, SNAPSHOTS, SNAPSHOT_CLASSES, PODS, HOLDERS,
)  # fmt: skip


class Rig:
    """A team's PVC for one node, its driver and that of NFS as a test plays them, and the bot."""

    def __init__(self, plane: ControlPlane, site: Site, database: Database) -> None:
        self.api, self.database, self.clock = plane.api, database, Clock()
        install(site)
        install(site, NFS)
        self.team = site.add_team("4")
        self.cluster = cluster_of(plane)
        clusters = {"default": self.cluster}
        told = SETTINGS.model_dump()
        told["teams"]["team-a"]["namespace"] = self.team
        told["snapshots"] = {"classes": {}}
        self.settings = Settings.model_validate(told)
        access = Access(lambda: self.settings)
        approvals = Approvals(lambda: self.settings, access)
        deciding = ApprovalContext(database, self.clock, access, approvals, nobody)
        world = ControllerContext(
            database, self.clock, lambda: self.settings, clusters, lambda text: f"/{text}"
        )
        anf = VolumeReads(NetAppFiles(lambda: self.settings), clusters)
        self.claims = ClaimReads(lambda: self.settings, clusters, anf)
        self.service = CopyService(
            lambda: self.settings, approvals, clusters, lambda text: f"/{text}"
        )
        self.controller = CopyController(world, deciding)
        spec: Object = {"accessModes": ["ReadWriteOnce"], "storageClassName": CLASS}
        spec |= {"resources": {"requests": {"storage": "1Gi"}}}
        self.api.create(CLAIMS, {"metadata": {"name": CLAIM}, "spec": spec}, self.team)
        self.until(lambda: self.claim(CLAIM)["status"].get("phase") == "Bound")

    def copy(self, reads: CopySource = CopySource.IDLE) -> str:
        """Erin copies the PVC; the id of the row."""
        for resource in KINDS:
            self.cluster.view.store(resource).replace(self.cluster.list(resource))
        team = self.settings.teams["team-a"]
        found = self.claims.find("team-a", team, CLAIM, None)
        by = Caller(workspace_id="T0QM", person=ERIN, channel=TEAM_A, place=ChannelPlace.TEAM,
                    team="team-a", roles=frozenset())  # fmt: skip
        asked = CopyRequest(team="team-a", cluster="default", claim=CLAIM, uid=found.claim.uid,
                            target=TARGET, storage_class="nfs-rwx", reads=reads)  # fmt: skip

        def work(session: Session) -> str:
            return self.service.begin(session, by, asked, found, self.clock.now()).id

        return self.database.transaction(work)

    def stop(self, row_id: str) -> None:
        def work(session: Session) -> None:
            session.get_one(Copy, row_id).stopped_by = ERIN

        self.database.transaction(work)

    def get(self, row_id: str) -> Copy:
        return self.database.transaction(lambda session: session.get_one(Copy, row_id))

    def until(self, holds: Callable[[], bool], row_id: str = "") -> None:
        """Takes steps, and plays the drivers, until something holds."""

        def done() -> bool:
            play(self.api, self.team)
            play(self.api, self.team, NFS)
            if row_id:
                self.database.transaction(self.controller.step(row_id).save)
            return holds()

        wait_for(done, f"what the copy {row_id} comes to")

    def claim(self, name: str) -> Object:
        return self.api.get(CLAIMS, name, self.team) or {"status": {}, "spec": {}}

    def left(self) -> dict[str, list[str]]:
        """What is in the namespace."""
        return {
            kind: sorted(each["metadata"]["name"] for each in self.api.list(kind, self.team))
            for kind in (JOBS, CLAIMS, TAKEN)
        }

    def close(self) -> None:
        clear(self.api, self.team)
        clear(self.api, self.team, NFS)


@pytest.fixture
def rig(plane: ControlPlane, site: Site, tmp_path: Path) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    made = Rig(plane, site, database)
    yield made
    made.close()
    database.close()


def test_a_snapshot_is_copied_and_let_go(rig: Rig) -> None:
    row_id = rig.copy(CopySource.SNAPSHOT)
    name = rig.get(row_id).job_name
    rig.until(lambda: bool(rig.api.list("pods", rig.team)), row_id)
    assert rig.left() == {JOBS: [name], CLAIMS: sorted([name, CLAIM, TARGET]), TAKEN: [name]}
    assert rig.claim(TARGET)["spec"]["accessModes"] == ["ReadWriteMany"]
    assert rig.claim(name)["spec"]["dataSourceRef"] == {
        "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name,
    }  # fmt: skip
    rig.stop(row_id)
    rig.until(lambda: rig.get(row_id).is_cleared, row_id)
    rig.until(lambda: rig.left() == {JOBS: [], CLAIMS: [CLAIM, TARGET], TAKEN: []})
    assert (rig.get(row_id).phase, rig.get(row_id).reason) == (
        CopyPhase.FAILED, f"<@{ERIN}> stopped it.",
    )  # fmt: skip


def test_namespace_that_forbids_root_is_named(rig: Rig) -> None:
    level = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    rig.api.patch("namespaces", rig.team, level)
    row_id = rig.copy()
    rig.until(lambda: rig.get(row_id).is_cleared, row_id)
    assert 'violates PodSecurity "restricted:latest"' in rig.get(row_id).reason
    assert rig.left() == {JOBS: [], CLAIMS: [CLAIM, TARGET], TAKEN: []}


def test_namespace_of_the_baseline_allows_it(rig: Rig) -> None:
    level = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    rig.api.patch("namespaces", rig.team, level)
    row_id = rig.copy()
    rig.until(lambda: rig.get(row_id).phase == CopyPhase.STARTING, row_id)
    wait_for(lambda: rig.api.list("pods", rig.team), "the pod of the copy")
    rig.stop(row_id)
    rig.until(lambda: rig.get(row_id).is_cleared, row_id)


def test_quota_of_storage_is_named(rig: Rig) -> None:
    quota = {"metadata": {"name": "storage"}, "spec": {"hard": {"requests.storage": "1536Mi"}}}
    rig.api.create("resourcequotas", quota, rig.team)

    def is_counted() -> bool:
        found = rig.api.get("resourcequotas", "storage", rig.team) or {}
        used = found.get("status", {}).get("used", {})
        return bool(used.get("requests.storage") == "1Gi")

    wait_for(is_counted, "the quota's count")
    row_id = rig.copy()
    rig.until(lambda: rig.get(row_id).is_cleared, row_id)
    assert rig.get(row_id).reason.startswith(
        "The namespace's ResourceQuota does not allow another PVC of that size."
    )
    assert rig.left()[CLAIMS] == [CLAIM]
