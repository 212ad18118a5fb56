"""PVCs of teams that nobody mounts: seen at every sweep, told every morning, removed by nobody."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.cluster import labels
from bot.cluster.resources import PVCS
from bot.database.database import Database
from bot.datasets.caches.evictions.claim_usage import ClaimSighting
from tests.bot.datasets.caches.keeping import settings
from tests.bot.datasets.caches.test_orphans import Leftovers
from tests.bot.ground import INSTALLATION, START, Outside


class Idling(Leftovers):
    """Teams with PVCs of their own, and a watch that shows them."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside)
        self.made = set[str]()
        classes = {"standard": {"price_per_gib_month": 0.125}}
        told = settings(classes=classes, idle_claims="30d")
        self.policy = told.model_copy(update={"slack": self.policy.slack})

    def claimed(self, name: str, namespace: str = "team-a", **more: Any) -> None:
        """Somebody makes a PVC; others of the playground are not looked at."""
        self.made.add(name)
        claim = {
            "metadata": {"name": name, "labels": more},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "standard",
                "resources": {"requests": {"storage": "512Gi"}},
            },
        }
        self.world.create("persistentvolumeclaims", claim, namespace)
        self.world.settle()

    def mounted(self, name: str, namespace: str = "team-a") -> None:
        """A pod of anybody mounts it."""
        claim = {"persistentVolumeClaim": {"claimName": name}}
        container = {"name": "main", "image": "busybox", "command": ["sleep", "infinity"]}
        spec = {"containers": [container], "volumes": [{"name": "data", **claim}]}
        body = {"metadata": {"name": f"uses-{name}"}, "spec": spec}
        self.world.create("pods", body, namespace)
        self.world.settle()

    def swept(self) -> None:
        """A sweep, with what the watch has seen by then."""
        store = self.cluster.view.store(PVCS)
        for namespace in ("team-a", "team-b", "datasets"):
            for claim in self.cluster.list(PVCS, namespace):
                if claim.name in self.made:
                    store.put(claim)
        self.sweep()

    def later(self, **length: float) -> None:
        """Time passes without a look."""
        self.outside.clock.moment += timedelta(**length)

    def told(self) -> list[str]:
        """What the reports of idle PVCs said, one after another."""
        self.search()
        return [said for _, said, _ in self.reports()]

    def sights(self) -> list[ClaimSighting]:
        return self.do(lambda session: list(session.exec(select(ClaimSighting))))


@pytest.fixture
def idling(own_database: Database, outside: Outside) -> Idling:
    return Idling(own_database, outside)


def test_what_nobody_mounts_is_told(idling: Idling) -> None:
    for name in ("old", "new"):
        idling.claimed(name)
    idling.swept()
    idling.later(days=20)
    idling.mounted("new")
    idling.swept()
    idling.world.delete("pods", "uses-new", "team-a")
    idling.world.settle()
    idling.later(days=9)
    assert idling.told() == []
    idling.later(days=2)
    assert idling.told() == [
        (
            "1 PVC of a team has not been seen mounted for 30d, 512 GiB in total, 64.00 a"
            " month as far as"
            " prices are known. The bot deletes none.\n"
            "PVC `team-a/old` of team-a: 512 GiB on standard, 64.00 a month, not mounted in the 31d"
            " since it was first seen."
        )
    ]
    idling.later(days=20)
    assert idling.told()[1].splitlines()[0] == (
        "2 PVCs of teams have not been seen mounted for 30d, 1 TiB in total, 128.00 a"
        " month as far as"
        " prices are known. The bot deletes none."
    )
    assert idling.told()[1].splitlines()[1] == (
        "PVC `team-a/new` of team-a: 512 GiB on standard, 64.00 a month, last mounted 31d ago."
    )
    assert idling.effects() == []


def test_a_pod_that_began_since_counts(idling: Idling) -> None:
    idling.claimed("data")
    idling.swept()
    idling.later(days=31)
    idling.mounted("data")
    assert idling.told() == []


def test_use_is_written_once_an_hour(idling: Idling) -> None:
    idling.claimed("data")
    idling.mounted("data")
    seen = []
    for _ in range(4):
        idling.swept()
        (sight,) = idling.sights()
        seen.append((sight.seen_at - START, (sight.mounted_at or START) - START))
        idling.later(minutes=30)
    first, hour = timedelta(), timedelta(hours=1)
    assert seen == [(first, first), (first, first), (first, hour), (first, hour)]


def test_what_is_gone_is_forgotten(idling: Idling) -> None:
    idling.claimed("data")
    idling.swept()
    assert len(idling.sights()) == 1
    idling.world.delete("persistentvolumeclaims", "data", "team-a")
    idling.world.settle()
    idling.search()
    assert idling.sights() == []


def test_copies_of_datasets_are_left_out(idling: Idling) -> None:
    ours = {labels.INSTALLATION: INSTALLATION, labels.DATASET_SHARE: "share"}
    idling.claimed("share", **ours)
    idling.claimed("cache", namespace="datasets")
    idling.swept()
    idling.later(days=31)
    assert all("not seen mounted" not in each for each in idling.told())


def test_unless_it_is_set_nothing_is_noted(idling: Idling) -> None:
    idling.policy = settings()
    idling.claimed("data")
    idling.swept()
    assert idling.sights() == []
