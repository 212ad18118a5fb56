"""Volumes of Azure NetApp Files that nothing needs: told with size and price, and no more."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.database.database import Database
from bot.datasets.caches.tables import Orphan
from bot.datasets.leftovers.anf import AnfOrphans
from bot.datasets.leftovers.sources import ask
from bot.errors import OutsideError, StorageError
from bot.volumes.anf import NetAppFiles
from playground.arm.estate import FURTHER, GIB, SUBSCRIPTION, Pool, Volume
from playground.arm.trident import Wanted, export, provision, storage_class
from tests.arm import Arm
from tests.bot.cluster.conftest import PATIENT
from tests.bot.datasets.caches.rows import add_cache, add_dataset, add_version
from tests.bot.ground import INSTALLATION, START, Outside
from tests.bot.volumes.conftest import identity
from tests.bot.volumes.settings import settings_for
from tests.databases import create_tables

__all__ = ["identity"]
ENDING = (
    " Trident keeps volumes that still have snapshots, and Azure does not report who mounts a"
    " volume. The pool is billed; it can be made smaller once the volume is deleted."
)


class Left:
    """A cluster whose Trident makes volumes in Azure, and what is left over of them."""

    def __init__(self, arm: Arm, database: Database, outside: Outside) -> None:
        self.arm, self.database, self.world = arm, database, outside.cluster
        connection = Connection.to(str(outside.kubeconfig), timeouts=PATIENT)
        self.cluster = Cluster("default", connection, INSTALLATION)
        self.policy = settings_for(arm, price_per_gib_month={"Premium": 0.29})
        self.files = NetAppFiles(lambda: self.policy)
        self.clusters = {"default": self.cluster}
        self.source = AnfOrphans(database, self.files, lambda: self.policy, self.clusters)
        self.world.create("storageclasses", storage_class())
        self.used = self.made("used")

    def made(self, name: str, policy: str = "Delete") -> Volume:
        """A volume of 100 GiB for a PVC."""
        wanted = Wanted("team-a", name, 100, policy)
        made = provision(self.world, self.arm.estate, self.arm.premium, wanted)
        self.world.settle()
        return made

    def forget(self, name: str, volume: Volume) -> None:
        """PVC and PV go; the volume stays, as when Trident no longer knew its id."""
        self.world.delete("persistentvolumeclaims", name, "team-a")
        self.world.settle()
        left = [each["metadata"]["name"] for each in self.world.list("persistentvolumes")]
        assert volume.name.removeprefix("trident-") not in left

    def found(self) -> list[Orphan]:
        return list(self.source.find(self.cluster, START).found)

    def names(self) -> list[str]:
        return [each.name for each in self.found()]


@pytest.fixture
def left(
    outside: Outside,
    tmp_path: Path,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
) -> Iterator[Left]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    with closing(Database(url)) as database:
        rig = Left(arm, database, outside)
        yield rig
        rig.files.close()


def test_volume_that_trident_left_is_told_whole(left: Left) -> None:
    lost = left.made("lost")
    left.forget("lost", lost)
    (orphan,) = left.found()
    assert (orphan.kind, orphan.namespace, orphan.name) == ("ANF volume", "premium", lost.name)
    assert (orphan.uid, orphan.storage_class) == (lost.file_system, "Premium")
    assert orphan.size_bytes == 100 * GIB
    assert orphan.monthly_price == pytest.approx(29)
    assert orphan.why == (
        f"The cluster's Trident created it, and no PersistentVolume refers to it.{ENDING}"
    )
    assert orphan.command == (
        f"az netappfiles volume delete --subscription {SUBSCRIPTION} --resource-group ml-platform"
        f" --account-name ml --pool-name premium --name {lost.name}"
    )


def test_released_volume_that_stays_is_told(left: Left) -> None:
    kept = left.made("kept", "Retain")
    left.world.delete("persistentvolumeclaims", "kept", "team-a")
    left.world.settle()
    (orphan,) = left.found()
    name = kept.name.removeprefix("trident-")
    assert orphan.why == f"PersistentVolume {name} refers to it and is Released.{ENDING}"


def test_a_volume_of_another_cluster_is_not_told(left: Left, tmp_path: Path) -> None:
    kept = left.made("kept", "Retain")
    name = kept.name.removeprefix("trident-")
    released = next(
        each for each in left.world.list("persistentvolumes") if each["metadata"]["name"] == name
    )
    left.world.delete("persistentvolumeclaims", "kept", "team-a")
    left.world.settle()
    assert left.names() == [kept.name]
    (tmp_path / "east").mkdir()
    with closing(Outside(tmp_path / "east")) as east:
        spec = {key: value for key, value in released["spec"].items() if key != "claimRef"}
        east.cluster.create("persistentvolumes", {"metadata": {"name": "shared"}, "spec": spec})
        connection = Connection.to(str(east.kubeconfig), timeouts=PATIENT)
        left.clusters["east"] = Cluster("east", connection, INSTALLATION)
        assert left.found() == []
    # It is not known who uses the volume while that cluster does not answer.
    with pytest.raises(OutsideError):
        left.found()


def test_volumes_of_strangers_are_not_told(left: Left) -> None:
    left.arm.estate.add_volume(left.arm.premium, "somebody", 100 * GIB)
    other = left.arm.estate.add_volume(left.arm.premium, "trident-pvc-1", 100 * GIB)
    other.tags["trident"] = '{"trident":{"backendUUID":"of-another-cluster"}}'
    assert left.found() == []


def test_moved_volume_in_use_is_not_told(left: Left) -> None:
    left.used.pool = left.arm.ultra
    assert left.found() == []


def test_volume_without_its_pv_yet_is_well(left: Left) -> None:
    claim = next(
        each for each in left.world.list("persistentvolumeclaims")
        if each["metadata"]["name"] == "used"
    )  # fmt: skip
    early = left.arm.estate.add_volume(
        left.arm.premium, f"trident-pvc-{claim['metadata']['uid']}", 100 * GIB
    )
    early.tags = dict(left.used.tags)
    assert left.found() == []


def test_volume_of_a_cache_is_known_by_name(left: Left) -> None:
    lost = left.arm.estate.add_volume(left.arm.premium, "trident-pvc-9", 100 * GIB)

    def work(session: Session) -> None:
        version = add_version(session, add_dataset(session))
        add_cache(session, version).volume_name = "pvc-9"

    left.database.transaction(work)
    (orphan,) = left.found()
    assert orphan.name == lost.name
    assert orphan.why.startswith("It was created for the cache of chest-xray@v3;")


def test_volume_of_another_clusters_cache_is_not(left: Left) -> None:
    left.arm.estate.add_volume(left.arm.premium, "trident-pvc-9", 100 * GIB)

    def work(session: Session) -> None:
        version = add_version(session, add_dataset(session))
        add_cache(session, version, cluster="east").volume_name = "pvc-9"

    left.database.transaction(work)
    assert left.found() == []


def test_what_is_being_deleted_is_not_told(left: Left) -> None:
    lost = left.made("lost")
    left.forget("lost", lost)
    lost.busy = "Deleting"
    assert left.names() == []


def test_outage_is_no_proof_of_anything(left: Left) -> None:
    left.arm.app.too_many = 1
    with pytest.raises(StorageError):
        left.found()


def test_nothing_is_asked_unless_set_up(left: Left) -> None:
    left.policy = left.policy.model_copy(update={"anf": None})
    assert left.found() == []
    assert left.arm.asked() == []


def test_nothing_is_removed_on_a_click(left: Left) -> None:
    lost = left.made("lost")
    left.forget("lost", lost)
    (orphan,) = left.found()
    assert left.source.remove(left.cluster, orphan) == [
        "The bot does not delete volumes of Azure NetApp Files."
    ]
    left.arm.later(timedelta(hours=1))
    assert left.names() == [lost.name]


def test_leftovers_of_two_subscriptions_are_told(left: Left) -> None:
    lab = widened(left)
    lost = provision(left.world, left.arm.estate, lab, Wanted("team-a", "lost", 100))
    left.world.settle()
    left.forget("lost", lost)
    (orphan,) = left.found()
    assert orphan.command == (
        f"az netappfiles volume delete --subscription {FURTHER} --resource-group ml-platform"
        f" --account-name ml --pool-name premium --name {lost.name}"
    )


def test_unread_subscription_hides_no_leftover(left: Left) -> None:
    lab = widened(left)
    lost = left.made("lost")
    left.forget("lost", lost)
    left.arm.app.routes.permissions_in(lab.account.subscription).actions = []
    search = left.source.find(left.cluster, START)
    assert [each.name for each in search.found] == [lost.name]
    assert search.unread.startswith(f"Subscription {FURTHER} could not be read. Listing the")
    assert search.needed == {left.used.file_system}
    asked = ask([left.source], left.cluster, START)
    assert asked.needed == search.needed
    assert ([each.name for each in asked.found], asked.failed) == (
        [lost.name],
        {"ANF volume": f"Some leftovers of kind ANF volume may be unknown. {search.unread}"},
    )


def test_address_in_doubt_is_no_leftover(left: Left) -> None:
    lab = widened(left)
    ours = left.arm.estate.add_volume(left.arm.premium, "shared", 100 * GIB)
    export(left.world, ours, "shared", Wanted("team-a", "shared", 100, "Retain"))
    left.world.settle()
    left.world.delete("persistentvolumeclaims", "shared", "team-a")
    left.world.settle()
    assert left.names() == ["shared"]
    left.arm.app.routes.permissions_in(lab.account.subscription).actions = []
    search = left.source.find(left.cluster, START)
    assert search.found == []
    # It stays one that was found before.
    assert search.needed == {left.used.file_system}


def test_address_in_use_is_needed_meanwhile(left: Left) -> None:
    """Its PersistentVolume is bound, to this volume or to another of the same address."""
    lab = widened(left)
    ours = left.arm.estate.add_volume(left.arm.premium, "shared", 100 * GIB)
    export(left.world, ours, "shared", Wanted("team-a", "shared", 100, "Retain"))
    left.world.settle()
    left.arm.app.routes.permissions_in(lab.account.subscription).actions = []
    search = left.source.find(left.cluster, START)
    assert search.found == []
    assert search.needed == {left.used.file_system, ours.file_system}


def widened(left: Left) -> Pool:
    """The bot is told of a second subscription, in which is this pool."""
    account = left.arm.estate.add_account(subscription=FURTHER)
    others = {FURTHER: ["ml-platform/ml"]}
    left.policy = settings_for(left.arm, other_subscriptions=others)
    return left.arm.estate.add_pool(account, "premium", "Premium", 2)
