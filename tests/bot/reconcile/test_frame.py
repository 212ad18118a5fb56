"""What all controllers share: objects are created once, and what takes long is looked at rarely."""

from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from bot.cluster.resources import PVCS
from bot.database.database import Database
from bot.errors import ClusterError
from bot.reconcile.frame import create_once, slower
from playground.cluster.story import claim
from playground.ledger import Fault
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import Ground, Outside

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)
FULL = "exceeded quota: storage, requested: requests.storage=1Gi, used: 0, limited: 0"


class Bare(Ground):
    """A cluster, and no controller."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside, SETTINGS)
        self.others = frozenset[str]()
        self.others = frozenset(self.names())

    @override
    def look(self) -> None:
        self.world.settle()

    def create(self, *hopeless: str) -> ClusterError | None:
        return create_once(self.cluster, PVCS, claim("scratch"), "team-a", hopeless=hopeless)

    def names(self) -> list[str]:
        found = self.world.list("persistentvolumeclaims", "team-a")
        names = {each["metadata"]["name"] for each in found}
        return sorted(names - self.others)


@pytest.fixture
def bare(own_database: Database, outside: Outside) -> Bare:
    return Bare(own_database, outside)


def test_an_object_is_created_once(bare: Bare) -> None:
    assert [bare.create(), bare.create(), bare.names()] == [None, None, ["scratch"]]


def test_a_lost_answer_creates_nothing_twice(bare: Bare) -> None:
    bare.outside.ledger.by_name = {"create persistentvolumeclaims": [Fault.LOSE_ANSWER]}
    with pytest.raises(ClusterError):
        bare.create()
    assert [bare.create(), bare.names()] == [None, ["scratch"]]


def test_a_denial_is_handed_back(bare: Bare) -> None:
    allow = bare.deny("persistentvolumeclaims")
    refusal = bare.create()
    assert refusal is not None
    assert refusal.is_final
    allow()
    assert [bare.create(), bare.names()] == [None, ["scratch"]]


def test_a_full_quota_is_hopeless_for_some(bare: Bare) -> None:
    bare.deny("persistentvolumeclaims", FULL)
    with pytest.raises(ClusterError, match="exceeded quota"):
        bare.create()
    refusal = bare.create("OverQuota")
    assert refusal is not None
    assert refusal.reason == "OverQuota"


def test_a_cluster_that_was_removed_is_named(bare: Bare) -> None:
    with pytest.raises(ClusterError) as caught:
        bare.context.cluster("dgx", "its caches are gone")
    assert (caught.value.message, caught.value.hint) == (
        "Cluster dgx is no longer in quartermaster.yaml.",
        "A platform admin must add it again and keep it until its caches are gone.",
    )


@pytest.mark.parametrize(
    ("lasted", "seconds"),
    [
        (timedelta(seconds=0), 5),
        (timedelta(seconds=53), 5.3),
        (timedelta(minutes=9, seconds=30), 57),
        (timedelta(hours=3), 60),
    ],
)
def test_what_takes_long_is_looked_at_rarely(lasted: timedelta, seconds: float) -> None:
    assert slower(NOON - lasted, NOON) == NOON + timedelta(seconds=seconds)
