"""File systems of FSx that outlived their PersistentVolume: told with size and price, no more."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.resources import VOLUMES
from bot.database.database import Database
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.leftovers.controller import OrphanController
from bot.datasets.leftovers.fsx import FsxOrphans
from bot.reconcile.loop import Loop
from tests.bot.datasets.caches.keeping import settings
from tests.bot.datasets.caches.test_orphans import Leftovers
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import INSTALLATION, Outside

SYSTEM = "fs-0123456789abcdef0"
COMMAND = f"aws fsx delete-file-system --region eu-central-1 --file-system-id {SYSTEM}"


class Linked(Leftovers):
    """A cluster in a region with file systems."""

    def __init__(self, database: Database, outside: Outside, region: Region) -> None:
        super().__init__(database, outside)
        self.region = region
        service = region.service().model_dump() | {"price_per_gib_month": 0.5}
        policy = settings(
            fsx=service, classes={"standard": {}, "lustre": {"price_per_gib_month": 2}}
        )
        slack = policy.slack.model_copy(update={"admin_channel": "C0ADMINS"})
        self.policy = policy.model_copy(update={"slack": slack})
        world = self.context
        controller = OrphanController(world, [FsxOrphans(database, self.settings, self.clusters)])
        self.searching = Loop(database, self.clock, [controller])

    def volume(self, *, is_released: bool) -> None:
        """A PersistentVolume that names the file system, bound to a PVC of somebody, or was."""
        size = {"storage": "1200Gi"}
        spec = {
            "capacity": size,
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "lustre",
            "csi": {"driver": "fsx.csi.aws.com", "volumeHandle": SYSTEM},
        }
        claim = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "lustre",
            "volumeName": "pv-1",
            "resources": {"requests": size},
        }
        self.world.create("persistentvolumes", {"metadata": {"name": "pv-1"}, "spec": spec})
        body = {"metadata": {"name": "fsx-pvc"}, "spec": claim}
        self.world.create("persistentvolumeclaims", body, "datasets")
        self.world.settle()
        if is_released:
            self.world.delete("persistentvolumeclaims", "fsx-pvc", "datasets")
            self.world.settle()
        (volume,) = self.cluster.list(VOLUMES, fields="metadata.name=pv-1")
        assert volume.status.phase == ("Released" if is_released else "Bound")

    def names(self) -> list[str]:
        """What is left over tomorrow."""
        self.outside.clock.moment += timedelta(days=1)
        return [each.name for each in self.search()]


@pytest.fixture
def left(own_database: Database, outside: Outside, tmp_path: Path) -> Iterator[Linked]:
    region = Region(outside, tmp_path)
    yield Linked(own_database, outside, region)
    region.close()


def test_what_a_released_volume_names_is_told(left: Linked) -> None:
    left.region.estate.add(SYSTEM)
    left.volume(is_released=True)
    assert left.names() == [SYSTEM]
    assert left.reports() == [
        (
            "C0ADMINS",
            (
                "1 volume outside the cluster no longer belongs to anything in it, 1.2"
                " TiB in total, 2,400.00 a month as far as prices are known. Nothing is"
                " deleted without confirmation.\n"
                f"FSx file system `eu-central-1/{SYSTEM}`: 1.2 TiB on PERSISTENT_2 SSD, 2,400.00 a"
                " month, created 1d ago. PersistentVolume pv-1 refers to it and is Released."
                " FSx does not report who mounts it. The bot does not delete it. To"
                " delete it permanently:"
                f" `{COMMAND}`"
            ),
            [],
        )
    ]
    assert left.region.asked() == ["DescribeFileSystems"]


def test_what_was_made_for_a_cache_is_told(left: Linked) -> None:
    cache_id = left.cache(phase=CachePhase.EVICTED, is_cleared=True)

    def name(session: Session) -> None:
        cache = session.get_one(Cache, cache_id)
        cache.volume_name = "pvc-gone"
        session.add(cache)

    left.do(name)
    left.region.estate.add(SYSTEM, tags={"CSIVolumeName": "pvc-gone"})
    left.outside.clock.moment += timedelta(days=1)
    (orphan,) = [each for each in left.search() if each.kind == "FSx file system"]
    assert (orphan.why, orphan.monthly_price, orphan.command) == (
        (
            "It was created for the cache of chest-xray@v3; its PersistentVolume was"
            " deleted. FSx does not report who mounts it."
        ),
        600.0,
        COMMAND,
    )


def test_what_has_our_tag_is_told(left: Linked) -> None:
    left.region.estate.add(SYSTEM, tags={labels.INSTALLATION: INSTALLATION})
    left.region.estate.add("fs-00000000000000002", tags={labels.INSTALLATION: "another"})
    assert left.search() == []  # It is too young: its volume may be about to be made.
    assert left.names() == [SYSTEM]


def test_what_is_bound_is_needed(left: Linked) -> None:
    left.region.estate.add(SYSTEM, tags={labels.INSTALLATION: INSTALLATION})
    left.volume(is_released=False)
    assert left.names() == []


def test_what_is_configured_is_needed(left: Linked) -> None:
    left.region.estate.add(SYSTEM, tags={labels.INSTALLATION: INSTALLATION})
    linked = {"file_system": SYSTEM, "repository": "s3://lake", "path": "/lake"}
    service = left.region.service().model_dump()
    left.policy = settings(fsx=service, classes={"lustre": {"fsx": linked}})
    assert left.names() == []


def test_caches_of_other_clusters_need_theirs(left: Linked) -> None:
    cache_id = left.cache(cluster="east")

    def name(session: Session) -> None:
        session.get_one(Cache, cache_id).volume_name = "pvc-in-east"

    left.do(name)
    ours = {labels.INSTALLATION: INSTALLATION}
    left.region.estate.add(SYSTEM, tags={"CSIVolumeName": "pvc-in-east"} | ours)
    assert left.names() == []


def test_a_tag_is_not_enough_with_clusters(left: Linked) -> None:
    left.region.estate.add(SYSTEM, tags={labels.INSTALLATION: INSTALLATION})
    service = left.region.service().model_dump()
    left.policy = settings(fsx=service, clusters={"east": {"classes": {"standard": {}}}})
    assert left.names() == []


def test_file_systems_of_others_are_not(left: Linked) -> None:
    left.region.estate.add(SYSTEM, tags={"CSIVolumeName": "pvc-of-another-cluster"})
    assert left.names() == []


def test_one_that_is_deleted_is_gone(left: Linked) -> None:
    system = left.region.estate.add(SYSTEM)
    left.volume(is_released=True)
    assert left.names() == [SYSTEM]
    system.lifecycle = "DELETING"
    assert left.names() == []


def test_a_silent_region_is_told(left: Linked) -> None:
    left.region.app.refuse("DescribeFileSystems", "ThrottlingException")
    assert left.names() == []
    ((_, said, _),) = left.reports()
    assert said == (
        "Leftovers of kind FSx file system are unknown. Listing file systems in FSx of"
        " eu-central-1 failed: FSx rate-limited the bot (ThrottlingException)."
    )


def test_nobody_has_one_deleted_by_the_bot(left: Linked) -> None:
    left.region.estate.add(SYSTEM)
    left.volume(is_released=True)
    left.outside.clock.moment += timedelta(days=1)
    (orphan,) = left.search()
    (orphan,) = left.remove(orphan)
    assert (orphan.wanted_by, orphan.trouble) == (None, "The bot does not delete file systems.")
    assert SYSTEM in left.region.estate.systems
