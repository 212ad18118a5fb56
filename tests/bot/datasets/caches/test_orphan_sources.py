"""What clouds keep that belongs to nothing in a cluster: told beside what is left over in it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from bot.cluster.cluster import Cluster
from bot.database.database import Database
from bot.datasets.caches.tables import Orphan
from bot.datasets.leftovers.controller import OrphanController
from bot.datasets.leftovers.sources import Search
from bot.errors import StorageError
from bot.reconcile.loop import Loop
from tests.bot.datasets.caches.test_orphans import Leftovers
from tests.bot.ground import START, Outside


@dataclass
class Cloud:
    """A cloud with volumes of given sizes by their names; `fails` while it cannot be asked.

    `unread` is why a part of it cannot be read; `used` are volumes that something uses again.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    users: list[str] = field(default_factory=list)
    command: str = ""
    fails: bool = False
    unread: str = ""
    used: frozenset[str] = frozenset()
    kind: str = "Cloud volume"

    def find(self, cluster: Cluster, now: datetime) -> Search:
        if self.fails:
            raise StorageError("The cloud does not answer.", "Is it there?")
        found = [
            Orphan(
                workspace_id="",
                cluster=cluster.name,
                kind=self.kind,
                namespace="west",
                name=name,
                uid=name,
                storage_class="SSD",
                size_bytes=size,
                monthly_price=12.5,
                why="No PersistentVolume names it.",
                command=self.command and f"{self.command} {name}",
                made_at=START - timedelta(days=3),
                found_at=now,
            )
            for name, size in self.sizes.items()
        ]
        return Search(found, self.used, self.unread)

    def remove(self, _cluster: Cluster, orphan: Orphan) -> list[str]:
        if not self.users:
            del self.sizes[orphan.name]
        return self.users


class Clouded(Leftovers):
    """A cluster, and a cloud beside it."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside)
        self.cloud = Cloud({"vol-1": 2**40})
        world = self.context
        self.searching = Loop(database, self.clock, [OrphanController(world, [self.cloud])])


@pytest.fixture
def left(own_database: Database, outside: Outside) -> Clouded:
    return Clouded(own_database, outside)


def test_what_a_cloud_keeps_is_told(left: Clouded) -> None:
    left.leave("forgotten-1")
    left.outside.clock.moment += timedelta(days=2)
    left.search()
    assert left.reports() == [
        (
            "C0ADMINS",
            (
                "1 object of datasets is left over and not needed, 100 GiB in total. 1"
                " volume outside the cluster no longer belongs to anything in it, 1 TiB"
                " in total, 12.50 a"
                " month as far as prices are known. Nothing is deleted without confirmation.\n"
                "PersistentVolumeClaim `datasets/forgotten-1`: 100 GiB on standard,"
                " created 2d ago.\n"
                "Cloud volume `west/vol-1`: 1 TiB on SSD, 12.50 a month, created 5d ago. No"
                " PersistentVolume names it."
            ),
            ["Remove forgotten-1", "Remove vol-1"],
        )
    ]


def test_what_is_for_admins_has_no_button(left: Clouded) -> None:
    left.cloud.command = "cloud delete"
    left.search()
    assert left.reports() == [
        (
            "C0ADMINS",
            (
                "1 volume outside the cluster no longer belongs to anything in it, 1 TiB in total,"
                " 12.50 a month as far as prices are known. Nothing is deleted without"
                " confirmation.\n"
                "Cloud volume `west/vol-1`: 1 TiB on SSD, 12.50 a month, created 3d ago. No"
                " PersistentVolume names it. The bot does not delete it. To delete it permanently:"
                " `cloud delete vol-1`"
            ),
            [],
        )
    ]


def test_a_silent_cloud_forgets_nothing_known(left: Clouded) -> None:
    left.search()
    left.cloud.fails = True
    left.outside.clock.moment += timedelta(days=1)
    (known,) = left.search()
    assert (known.name, known.gone_at) == ("vol-1", None)
    (_, said, _) = left.reports()[-1]
    assert said.splitlines()[-1] == (
        "Leftovers of kind Cloud volume are unknown. The cloud does not answer. Is it there?"
    )
    left.cloud.fails, left.cloud.sizes = False, {}
    assert left.search() == []


def test_a_cloud_read_in_part_forgets_nothing(left: Clouded) -> None:
    left.search()
    left.cloud.unread = "Subscription 1 could not be read."
    left.cloud.sizes = {"vol-2": 2**40}
    left.outside.clock.moment += timedelta(days=1)
    assert sorted(each.name for each in left.search()) == ["vol-1", "vol-2"]
    (_, said, _) = left.reports()[-1]
    assert said.splitlines()[-1] == (
        "Some leftovers of kind Cloud volume may be unknown. Subscription 1 could not be read."
    )
    left.cloud.unread = ""
    assert [each.name for each in left.search()] == ["vol-2"]


def test_used_volumes_are_no_leftovers_meanwhile(left: Clouded) -> None:
    left.search()
    left.cloud.unread = "Subscription 1 could not be read."
    left.cloud.sizes, left.cloud.used = {}, frozenset({"vol-1"})
    left.outside.clock.moment += timedelta(days=1)
    assert left.search() == []
    (_, said, _) = left.reports()[-1]
    assert said == (
        "Some leftovers of kind Cloud volume may be unknown. Subscription 1 could not be read."
    )


def test_its_source_removes_or_refuses(left: Clouded) -> None:
    (orphan,) = left.search()
    left.cloud.users = ["Machine m-1 mounts it."]
    (orphan,) = left.remove(orphan)
    assert (orphan.wanted_by, orphan.trouble) == (None, "Machine m-1 mounts it.")
    left.cloud.users = []
    left.remove(orphan)
    assert left.search() == []


def test_what_a_cloud_tells_anew_counts(left: Clouded) -> None:
    left.search()
    left.cloud.sizes["vol-1"] = 3 * 2**40
    (orphan,) = left.search()
    assert orphan.size_bytes == 3 * 2**40
