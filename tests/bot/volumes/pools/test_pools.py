"""How much room classes have in capacity pools, as a job looks and as caches are told."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, select
from typing_extensions import override

from bot.clock import Clock
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.cluster.types.allowances import Allowance, AllowanceStatus
from bot.cluster.types.claims import (
    TRIDENT,
    ClaimReference,
    CsiSource,
    PersistentVolume,
    VolumeSpec,
)
from bot.cluster.types.objects import ObjectMeta
from bot.cluster.types.quantities import Quantity
from bot.config import Datasets
from bot.database.database import Database
from bot.datasets.caches.classes import rooms
from bot.datasets.caches.expiry import ClassCapacity
from bot.datasets.caches.tables import Cache
from bot.reconcile.loop import Loop
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.capacity import PoolRoom, pool_rooms
from bot.volumes.pools.controller import PoolController, look_at_pools
from bot.volumes.tables import SeenPool
from playground.arm.estate import GIB, TIB
from tests.arm import START, Arm
from tests.bot.datasets.caches.rows import add_cache, add_dataset, add_version
from tests.bot.volumes.settings import settings_for
from tests.databases import create_tables

CLASS = "azurenetappfiles"
DATASETS = Datasets.model_validate(
    {
        "namespace": "datasets",
        "image": "ghcr.io/acme/quartermaster:0.1.0",
        "state": "s3://qm-state/prod",
        "state_store": "state",
        "classes": {CLASS: {"budget": "1Ti"}},
    }
)


class StandingClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = START

    @override
    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """One that was not read yet, and that nobody asks."""
    path = tmp_path / "kubeconfig"
    path.write_text(
        "{apiVersion: v1, kind: Config, current-context: a,"
        " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}],"
        " users: [{name: a, user: {token: a}}],"
        " contexts: [{name: a, context: {cluster: a, user: a}}]}"
    )
    return Cluster("default", Connection.to(str(path)), "0123")


def look(arm: Arm, database: Database, files: NetAppFiles, clock: Clock) -> None:
    """The job's slot, and the step that follows."""
    settings = settings_for(arm)
    database.transaction(lambda session: look_at_pools(settings, session, clock.now()))
    loop = Loop(database, clock, [PoolController(clock, files, lambda: settings, {})])
    loop.run_due()


def seen(database: Database) -> dict[str, tuple[int, int]]:
    """By name, size and what is taken, in GiB."""

    def work(session: Session) -> dict[str, tuple[int, int]]:
        rows = session.exec(select(SeenPool)).all()
        return {each.name: (each.size_bytes // GIB, each.taken_bytes // GIB) for each in rows}

    return database.read(work)


def found(
    database: Database, arm: Arm, cluster: Cluster, clock: Clock, **anf: Any
) -> dict[str, PoolRoom]:
    settings = settings_for(arm, **anf)
    return database.read(lambda session: pool_rooms(session, settings, cluster, clock.now()))


def persistent_volume(pool_id: str) -> PersistentVolume:
    attributes = {"internalID": f"{pool_id}/volumes/trident-1", "internalName": "trident-1"}
    return PersistentVolume(
        metadata=ObjectMeta(name="pvc-1", uid="1"),
        spec=VolumeSpec(
            storage_class_name=CLASS,
            csi=CsiSource(driver=TRIDENT, volume_attributes=attributes),
            claim_ref=ClaimReference(namespace="team-a", name="data"),
        ),
    )


def test_look_keeps_what_pools_hold(arm: Arm, files: NetAppFiles, database: Database) -> None:
    clock = StandingClock()
    arm.estate.add_volume(arm.premium, "one", 300 * GIB)
    gone = arm.estate.add_volume(arm.premium, "two", 200 * GIB)
    look(arm, database, files, clock)
    assert seen(database) == {
        "standard": (4096, 0), "premium": (2048, 500), "ultra": (1024, 0), "tuned": (2048, 0),
    }  # fmt: skip
    arm.estate.volumes.remove(gone)
    arm.estate.pools.remove(arm.ultra)
    look(arm, database, files, clock)
    assert seen(database) == {"standard": (4096, 0), "premium": (2048, 300), "tuned": (2048, 0)}


def test_outage_changes_nothing_that_is_known(
    arm: Arm, files: NetAppFiles, database: Database
) -> None:
    clock = StandingClock()
    look(arm, database, files, clock)
    arm.estate.pools.clear()
    arm.app.too_many = 1
    look(arm, database, files, clock)
    assert set(seen(database)) == {"standard", "premium", "ultra", "tuned"}


def test_configured_pool_with_most_room_counts(
    arm: Arm, files: NetAppFiles, database: Database, cluster: Cluster
) -> None:
    clock = StandingClock()
    arm.estate.add_volume(arm.premium, "one", 1500 * GIB)
    look(arm, database, files, clock)
    known = found(database, arm, cluster, clock, classes={CLASS: ["Premium", "ultra"]})
    assert known == {CLASS: PoolRoom("ultra", TIB, 0, START)}
    assert found(database, arm, cluster, clock, classes={CLASS: ["elsewhere"]}) == {}


def test_pool_of_volumes_counts_where_nothing_is_configured(
    arm: Arm, files: NetAppFiles, database: Database, cluster: Cluster
) -> None:
    clock = StandingClock()
    look(arm, database, files, clock)
    assert found(database, arm, cluster, clock) == {}
    cluster.view.store(VOLUMES).put(persistent_volume(arm.estate.pool_id(arm.premium).upper()))
    assert found(database, arm, cluster, clock)[CLASS].name == "premium"


def test_figures_of_long_ago_count_no_more(
    arm: Arm, files: NetAppFiles, database: Database, cluster: Cluster
) -> None:
    clock = StandingClock()
    look(arm, database, files, clock)
    named = {CLASS: ["premium"]}
    clock.moment += timedelta(minutes=59)
    assert CLASS in found(database, arm, cluster, clock, classes=named)
    clock.moment += timedelta(minutes=1)
    assert found(database, arm, cluster, clock, classes=named) == {}


def quota(limit: str) -> Allowance:
    amounts = {"requests.storage": Quantity.of(limit)}
    metadata = ObjectMeta(name="storage", namespace="datasets", uid="1")
    return Allowance(metadata=metadata, status=AllowanceStatus(hard=amounts, used={}))


def test_pool_comes_before_quota_and_budget() -> None:
    pool = PoolRoom("premium", 2 * TIB, 500 * GIB, START)
    limits = [quota("100Gi")]
    assert rooms([], limits, {CLASS: pool}, DATASETS) == {
        CLASS: ClassCapacity(2 * TIB, 500 * GIB, 0, "pool premium")
    }
    assert rooms([], limits, {}, DATASETS)[CLASS].source == "ResourceQuota storage"
    assert rooms([], [], {}, DATASETS)[CLASS].source == "budget"


@pytest.mark.parametrize(
    ("cache", "counts"),
    [
        ({"volume_name": "pvc-1", "claim_uid": "1", "asked_at": START - timedelta(hours=1)}, False),
        ({"volume_name": "pvc-1", "claim_uid": "1", "asked_at": START}, True),
        ({"volume_name": "", "claim_uid": "1", "asked_at": START - timedelta(hours=1)}, True),
        ({"volume_name": "", "claim_uid": None, "asked_at": START}, False),
    ],
)
def test_volumes_asked_for_since_the_look_count(
    database: Database, cache: dict[str, Any], *, counts: bool
) -> None:
    def work(session: Session) -> list[Cache]:
        version = add_version(session, add_dataset(session))
        made = add_cache(session, version, storage_class=CLASS)
        for key, value in cache.items():
            setattr(made, key, value)
        return [made]

    caches = database.transaction(work)
    pool = PoolRoom("premium", 2 * TIB, 500 * GIB, START)
    room = rooms(caches, [], {CLASS: pool}, DATASETS)[CLASS]
    assert room.taken == 500 * GIB + (caches[0].capacity_bytes if counts else 0)
