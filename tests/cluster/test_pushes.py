"""Pushes on a real control plane: what is made to read a PVC or a snapshot, and taken back."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.resources import PVCS, SNAPSHOT_CLASSES, SNAPSHOTS, STORAGE_CLASSES, VOLUMES
from bot.database.database import Database
from bot.datasets.caches.shares.controller import ShareController
from bot.datasets.pushes.controller import PushController
from bot.datasets.pushes.plan import PushRequest
from bot.datasets.pushes.service import PushService
from bot.datasets.tables import Push, PushPhase
from bot.people.access import Caller, ChannelPlace
from bot.reconcile.frame import ControllerContext
from bot.training.records.makers import makers_of
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import ALICE, TEAM_A
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import deploy
from tests.cluster.site import Site
from tests.cluster.test_datasets import CLAIMS, CLASSES, cluster_of
from tests.databases import create_tables

DRIVER, CLASS, NAMESPACE, CLAIM = "nfs.csi.k8s.io", "pushed", "datasets", "results"
GROUP = "snapshot.storage.k8s.io"
VOLUME_LIST, JOBS = "persistentvolumes", "jobs.batch"
TAKEN, CONTENTS = f"volumesnapshots.{GROUP}", f"volumesnapshotcontents.{GROUP}"
TAKEN_BY = f"volumesnapshotclasses.{GROUP}"
HANDLE = "snapshot-of-monday"


class Rig:
    """A team's PVC, the driver of its volumes and snapshots as a test plays it, and the bot."""

    def __init__(self, plane: ControlPlane, site: Site, database: Database) -> None:
        self.api, self.database, self.clock = plane.api, database, Clock()
        deploy(plane.api, "17-datasets.yaml")
        site.add(CLASSES, {"metadata": {"name": CLASS}, "provisioner": DRIVER})
        kind = {"metadata": {"name": CLASS}, "driver": DRIVER, "deletionPolicy": "Delete"}
        site.add(TAKEN_BY, kind)
        self.team = site.add_team("4")
        self.cluster = cluster_of(plane)
        teams = SETTINGS.model_dump()["teams"]
        teams["team-a"]["namespace"] = self.team
        self.settings = type(SETTINGS).model_validate(SETTINGS.model_dump() | {"teams": teams})
        clusters = {"default": self.cluster}
        world = ControllerContext(
            database, self.clock, lambda: self.settings, clusters, lambda text: f"/{text}"
        )
        self.service = PushService(lambda: self.settings, clusters, lambda text: f"/{text}")
        self.pushes, self.shares = PushController(world, makers_of), ShareController(world)
        spec: Object = {"accessModes": ["ReadWriteMany"], "storageClassName": CLASS}
        spec |= {"resources": {"requests": {"storage": "1Gi"}}}
        self.api.create(CLAIMS, {"metadata": {"name": CLAIM}, "spec": spec}, self.team)
        self.until(lambda: self.claim(CLAIM, self.team)["status"].get("phase") == "Bound")

    def snapshot(self) -> None:
        """A snapshot of the PVC that its driver has taken."""
        source = {"persistentVolumeClaimName": CLAIM}
        spec = {"source": source, "volumeSnapshotClassName": CLASS}
        body = {"metadata": {"name": "monday"}, "spec": spec}
        made = self.api.create(TAKEN, body, self.team)
        of = {"namespace": self.team, "name": "monday", "uid": made["metadata"]["uid"]}
        content = {
            "deletionPolicy": "Delete",
            "driver": DRIVER,
            "source": {"volumeHandle": self.claim(CLAIM, self.team)["spec"]["volumeName"]},
            "sourceVolumeMode": "Filesystem",
            "volumeSnapshotClassName": CLASS,
            "volumeSnapshotRef": of,
        }
        self.api.create(CONTENTS, {"metadata": {"name": f"of-{self.team}"}, "spec": content})
        self._tell(CONTENTS, f"of-{self.team}", "", {"snapshotHandle": HANDLE, "readyToUse": True})
        self._ready("monday", self.team, f"of-{self.team}")

    def push(self, claim: str = "", snapshot: str = "") -> str:
        """Alice has it pushed; the id of the row."""
        kinds: tuple[Any, ...] = (PVCS, VOLUMES, STORAGE_CLASSES, SNAPSHOTS, SNAPSHOT_CLASSES)
        for resource in kinds:
            self.cluster.view.store(resource).replace(self.cluster.list(resource))
        options = PushRequest(claim, "/", "s3://lake/run-7/", snapshot=snapshot)
        by = Caller(workspace_id="T0QM", person=ALICE, channel=TEAM_A, place=ChannelPlace.TEAM,
                    team="team-a", roles=frozenset())  # fmt: skip

        def work(session: Session) -> str:
            return self.service.begin(session, by, options, self.clock.now()).id

        return self.database.transaction(work)

    def stop(self, push_id: str) -> None:
        def work(session: Session) -> None:
            session.get_one(Push, push_id).stopped_by = ALICE

        self.database.transaction(work)

    def until(self, holds: Callable[[], bool], push_id: str = "") -> None:
        """Takes steps, and plays the driver, until something holds."""

        def done() -> bool:
            self._play()
            if push_id:
                share = self.get(push_id).share_id
                steps = [self.pushes.step(push_id), *([self.shares.step(share)] if share else [])]
                for step in steps:
                    self.database.transaction(step.save)
            return holds()

        wait_for(done, f"what the push {push_id} comes to")

    def get(self, push_id: str) -> Push:
        return self.database.transaction(lambda session: session.get_one(Push, push_id))

    def claim(self, name: str, namespace: str = NAMESPACE) -> Object:
        return self.api.get(CLAIMS, name, namespace) or {"status": {}, "spec": {}}

    def left(self) -> list[str]:
        """What is in the namespace of datasets, and contents and volumes that are for it."""
        found = [each for kind in (JOBS, CLAIMS, TAKEN) for each in self.api.list(kind, NAMESPACE)]
        contents = self.api.list(CONTENTS)
        found += [each for each in contents if each["spec"]["deletionPolicy"] == "Retain"]
        volumes = self.api.list(VOLUME_LIST)
        found += [each for each in volumes if _place(each)[0] == NAMESPACE]
        return [each["metadata"]["name"] for each in found]

    def close(self) -> None:
        """Leaves no snapshot behind."""
        self.api.delete(TAKEN, "monday", self.team)
        self.api.delete(CONTENTS, f"of-{self.team}")

    def _play(self) -> None:
        """Makes volumes, has snapshots found that contents name, and removes what is released."""
        for claim in self.api.list(CLAIMS):
            spec, name = claim["spec"], f"pvc-{claim['metadata']['uid']}"
            waits = claim["status"].get("phase") == "Pending" and "volumeName" not in spec
            is_its = waits and spec.get("storageClassName") == CLASS
            if is_its and self.api.get(VOLUME_LIST, name) is None:
                self.api.create(VOLUME_LIST, _volume(name, claim))
        for each in self.api.list(TAKEN, NAMESPACE):
            content = each["spec"]["source"].get("volumeSnapshotContentName")
            if content and not each.get("status"):
                self._ready(each["metadata"]["name"], NAMESPACE, content)
        for volume in self.api.list(VOLUME_LIST):
            is_its = volume["spec"].get("storageClassName") == CLASS
            if is_its and volume["status"].get("phase") in {"Released", "Failed"}:
                self.api.delete(VOLUME_LIST, volume["metadata"]["name"])

    def _ready(self, name: str, namespace: str, content: str) -> None:
        told = {"boundVolumeSnapshotContentName": content, "readyToUse": True, "restoreSize": "1Gi"}
        self._tell(TAKEN, name, namespace, told | {"creationTime": "2026-11-22T12:00:00Z"})

    def _tell(self, kind: str, name: str, namespace: str, status: Object) -> None:
        self.api.patch(kind, name, {"status": status}, namespace, subresource="status")


def _place(volume: Object) -> tuple[str, str]:
    owner = volume["spec"].get("claimRef") or {}
    return owner.get("namespace", ""), owner.get("name", "")


def _volume(name: str, claim: Object) -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {
        "metadata": {"name": name},
        "spec": {
            "storageClassName": CLASS,
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "claimRef": {**reference, **{k: metadata[k] for k in ("namespace", "name", "uid")}},
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": DRIVER, "volumeHandle": name},
        },
    }


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    yield database
    database.close()


def test_a_snapshot_is_read_and_let_go(plane: ControlPlane, site: Site, database: Database) -> None:
    rig = Rig(plane, site, database)
    rig.snapshot()
    push_id = rig.push(snapshot="monday")
    name = rig.get(push_id).job_name
    rig.until(lambda: rig.api.get(JOBS, name, NAMESPACE) is not None, push_id)
    content = rig.api.get(CONTENTS, name)
    assert content is not None
    assert (content["spec"]["source"], content["spec"]["deletionPolicy"]) == (
        {"snapshotHandle": HANDLE}, "Retain",
    )  # fmt: skip
    claim = rig.claim(name)
    assert claim["spec"]["dataSourceRef"] == {
        "apiGroup": GROUP, "kind": "VolumeSnapshot", "name": name,
    }  # fmt: skip
    rig.until(lambda: rig.claim(name)["status"].get("phase") == "Bound", push_id)
    rig.stop(push_id)
    rig.until(lambda: rig.get(push_id).is_cleared, push_id)
    rig.until(lambda: not rig.left())  # the volume is released a moment after its claim is gone
    assert rig.get(push_id).phase == PushPhase.FAILED
    assert rig.api.get(TAKEN, "monday", rig.team) is not None
    rig.close()


def test_a_pvc_is_read_and_let_go(plane: ControlPlane, site: Site, database: Database) -> None:
    rig = Rig(plane, site, database)
    push_id = rig.push(claim=CLAIM)
    name = rig.get(push_id).job_name
    rig.until(lambda: rig.api.get(JOBS, name, NAMESPACE) is not None, push_id)
    volume = rig.claim(CLAIM, rig.team)["spec"]["volumeName"]
    (shared,) = [each for each in rig.api.list(VOLUME_LIST) if _place(each)[0] == NAMESPACE]
    assert shared["spec"]["csi"] == {"driver": DRIVER, "volumeHandle": volume}
    rig.stop(push_id)
    rig.until(lambda: rig.get(push_id).is_cleared, push_id)
    rig.until(lambda: not rig.left())
    assert rig.claim(CLAIM, rig.team)["status"]["phase"] == "Bound"
