"""Caches of datasets on a real control plane: what is made for them, with the bot's own rights."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS
from bot.database.database import Database
from bot.datasets.caches.job import JobTarget, claim_of, fill_job
from bot.datasets.caches.shares import service
from bot.datasets.caches.shares.controller import ShareController
from bot.datasets.caches.tables import Cache, CacheShare, SharePhase
from bot.datasets.caches.users import needing_cache
from bot.datasets.tables import Version
from bot.reconcile.frame import ControllerContext
from tests.bot.cluster.conftest import PATIENT
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import INSTALLATION
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import deploy
from tests.cluster.site import Site
from tests.databases import create_tables

NFS, TRIDENT = "nfs.csi.k8s.io", "csi.trident.netapp.io"
CLASS, NAMESPACE, REFERENCES = "fast", "datasets", "tridentvolumereferences.trident.netapp.io"
CLAIMS, VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses.storage"
SNAPSHOTS = "volumesnapshots.snapshot"
_TEXT = {"type": "string"}
_SPEC = {
    "type": "object",
    "properties": {"pvcName": _TEXT, "pvcNamespace": _TEXT},
    "required": ["pvcName", "pvcNamespace"],
}
DEFINITION: Object = {
    "metadata": {"name": REFERENCES},
    "spec": {
        "group": "trident.netapp.io",
        "scope": "Namespaced",
        "names": {"plural": "tridentvolumereferences", "kind": "TridentVolumeReference"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}},
            }
        ],
    },
}


class Rig:
    """A cache on a volume of a driver that a test plays, and the controller of its shares."""

    def __init__(self, plane: ControlPlane, site: Site, database: Database, driver: str) -> None:
        self.api, self.database, self.driver = plane.api, database, driver
        deploy(plane.api, "17-datasets.yaml")
        site.add(CLASSES, {"metadata": {"name": CLASS}, "provisioner": driver})
        self.team = site.add_team("4")
        site.let_bot_into(self.team, "quartermaster-trident")
        self.cluster = cluster_of(plane)
        self.clock = Clock()
        clusters = {"default": self.cluster}
        world = ControllerContext(
            database, self.clock, lambda: SETTINGS, clusters, lambda text: f"/{text}"
        )
        self.controller = ShareController(world)
        self.cache: Cache = database.transaction(lambda s: add_cached(s, storage_class=CLASS))
        self.cluster.create(PVCS, claim_of(self.cache, INSTALLATION), NAMESPACE, is_strict=True)
        self.until(lambda: self.claim(NAMESPACE, self.cache.claim_name)["status"], "Bound")

    def share(self) -> str:
        """The team needs the cache; the share's id."""

        def work(session: Session) -> str:
            name = service.claim_for(session, self.cache, self.team, self.clock.now())
            found = service.by_claim(session, self.cache.id, name)
            assert found is not None
            return found.id

        return self.database.transaction(work)

    def becomes(self, share_id: str, phase: SharePhase) -> CacheShare:
        """Takes steps until the share is so."""

        def look() -> dict[str, str]:
            step = self.controller.step(share_id)
            self.database.transaction(step.save)
            return {"phase": self.get(share_id).phase}

        self.until(look, phase)
        return self.get(share_id)

    def until(self, look: Callable[[], Object], phase: str) -> None:
        """Plays the driver until something is in a phase."""

        def done() -> bool:
            self._play()
            return bool(look().get("phase") == phase)

        wait_for(done, f"{phase} of {CLASS}")

    def get(self, share_id: str) -> CacheShare:
        return self.database.transaction(lambda session: session.get_one(CacheShare, share_id))

    def claim(self, namespace: str, name: str) -> Object:
        return self.api.get(CLAIMS, name, namespace) or {"status": {}}

    def close(self) -> None:
        """Leaves nothing in the namespace of datasets, and no volume of the class."""
        self.api.delete(CLAIMS, self.cache.claim_name, NAMESPACE)

        def gone() -> bool:
            self._play()
            # A volume is released a moment after its claim is gone.
            return not (self.api.list(CLAIMS, NAMESPACE) or self._volumes())

        wait_for(gone, "the end of the cache")

    def _play(self) -> None:
        """Makes volumes for claims of the class, and removes those that are released."""
        for claim in self.api.list(CLAIMS):
            waits = claim["status"].get("phase") == "Pending" and "volumeName" not in claim["spec"]
            if waits and claim["spec"].get("storageClassName") == CLASS:
                name = f"pvc-{claim['metadata']['uid']}"
                if self.api.get(VOLUMES, name) is None:
                    self.api.create(VOLUMES, _volume(name, claim, self.driver))
        for volume in self._volumes():
            if volume["status"].get("phase") in {"Released", "Failed"}:
                self.api.delete(VOLUMES, volume["metadata"]["name"])

    def _volumes(self) -> list[Object]:
        every = self.api.list(VOLUMES)
        return [each for each in every if each["spec"].get("storageClassName") == CLASS]


def cluster_of(plane: ControlPlane) -> Cluster:
    connection = Connection.to(str(plane.bot_kubeconfig), timeouts=PATIENT)
    return Cluster("default", connection, INSTALLATION)


def _volume(name: str, claim: Object, driver: str) -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {
        "metadata": {"name": name},
        "spec": {
            "storageClassName": CLASS,
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "claimRef": {**reference, **{k: metadata[k] for k in ("namespace", "name", "uid")}},
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": driver, "volumeHandle": name},
        },
    }


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    yield database
    database.close()


def test_what_fills_a_cache_is_accepted_strictly(plane: ControlPlane, database: Database) -> None:
    deploy(plane.api, "17-datasets.yaml")
    cache = database.transaction(add_cached)
    version = database.transaction(lambda session: session.get_one(Version, cache.version_id))
    cluster, datasets = cluster_of(plane), SETTINGS.datasets
    assert datasets is not None
    strictly = partial(cluster.create, namespace=NAMESPACE, is_trial=True, is_strict=True)
    strictly(PVCS, claim_of(cache, INSTALLATION))
    for shards in (1, 4):
        told = datasets.model_copy(update={"shards": shards})
        job = fill_job(cache, version, told, SETTINGS.stores, JobTarget(INSTALLATION, 3600))
        assert strictly(JOBS, job).name == cache.job_name


def test_a_volume_is_shared_and_taken_back(
    plane: ControlPlane, site: Site, database: Database
) -> None:
    rig = Rig(plane, site, database, NFS)
    share = rig.becomes(rig.share(), SharePhase.READY)
    claim = rig.claim(rig.team, share.claim_name)
    assert (claim["status"]["phase"], claim["spec"]["volumeName"]) == ("Bound", share.claim_name)
    made = rig.api.get(VOLUMES, share.claim_name)
    assert made is not None
    assert made["spec"]["csi"] == {"driver": NFS, "volumeHandle": _handle(rig)}
    assert made["status"]["phase"] == "Bound"
    database.transaction(lambda session: service.leave(session, rig.cache.id, rig.clock.now()))
    rig.becomes(share.id, SharePhase.GONE)
    assert rig.api.get(VOLUMES, share.claim_name) is None
    rig.close()


def test_a_snapshot_of_it_keeps_a_cache(
    plane: ControlPlane, site: Site, database: Database
) -> None:
    rig = Rig(plane, site, database, NFS)
    assert needing_cache(rig.cluster, rig.cache, ()) == []
    source = {"persistentVolumeClaimName": rig.cache.claim_name}
    body = {"metadata": {"name": "monday"}, "spec": {"source": source}}
    rig.api.create(SNAPSHOTS, body, NAMESPACE)
    assert needing_cache(rig.cluster, rig.cache, ()) == [
        f"VolumeSnapshot monday in namespace {NAMESPACE} was taken of it."
    ]
    rig.api.delete(SNAPSHOTS, "monday", NAMESPACE)
    wait_for(lambda: needing_cache(rig.cluster, rig.cache, ()) == [], "the end of the snapshot")
    rig.close()


def test_trident_is_asked_as_it_wants(plane: ControlPlane, site: Site, database: Database) -> None:
    site.add("customresourcedefinitions.apiextensions", DEFINITION)
    wait_for(lambda: plane.api.serves(REFERENCES), "Trident's kind")
    rig = Rig(plane, site, database, TRIDENT)
    share = rig.becomes(rig.share(), SharePhase.READY)
    source = rig.claim(NAMESPACE, rig.cache.claim_name)["metadata"]["annotations"]
    assert source["trident.netapp.io/shareToNamespace"] == rig.team
    notes = rig.claim(rig.team, share.claim_name)["metadata"]["annotations"]
    place = f"{NAMESPACE}/{rig.cache.claim_name}"
    assert notes["trident.netapp.io/shareFromPVC"] == place
    (reference,) = rig.api.list(REFERENCES)
    wanted = {"pvcName": rig.cache.claim_name, "pvcNamespace": NAMESPACE}
    assert (reference["metadata"]["namespace"], reference["spec"]) == (rig.team, wanted)
    database.transaction(lambda session: service.leave(session, rig.cache.id, rig.clock.now()))
    rig.becomes(share.id, SharePhase.GONE)
    assert (rig.api.list(REFERENCES), rig.api.list(CLAIMS, rig.team)) == ([], [])
    rig.close()


def _handle(rig: Rig) -> str:
    name: str = rig.claim(NAMESPACE, rig.cache.claim_name)["spec"]["volumeName"]
    return name
