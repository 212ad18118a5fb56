"""Runs that leave clusters without Kueue, where pods wait; and runs of kinds with more objects."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.database.database import Database
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.kai_story import kai_cluster
from playground.cluster.story import plain_cluster
from tests.bot.ground import Outside
from tests.bot.training.templates.two_clusters import TwoClusters, policy

MAKERS = {"kai": kai_cluster, "none": plain_cluster}
HOME_LAST = {"there": {"cluster": "lab", "after": "10m"}, "home": {}}


@pytest.fixture(params=list(MAKERS))
def two(
    request: pytest.FixtureRequest, own_database: Database, outside: Outside, tmp_path: Path
) -> Iterator[TwoClusters]:
    folder = tmp_path / "lab"
    folder.mkdir()
    with closing(Outside(folder, MAKERS[request.param], outside.clock)) as other:
        yield TwoClusters(own_database, outside, other, policy(HOME_LAST, request.param))


def filled(two: TwoClusters) -> None:
    """Both nodes of the second cluster are taken."""
    two.other.cluster.behaviours["long"] = Training(never_ends=True)
    for name in ("fills", "too"):
        two.submit(name, gpus=8, image="ghcr.io/acme/long:1.0", cluster="lab")
        two.pass_time(seconds=20)


def test_waiting_pods_are_gone_before_the_move(two: TwoClusters) -> None:
    filled(two)
    run_id = two.submit("wide", gpus=4, templates=("there", "home"))
    two.pass_time(minutes=9)
    pods = [each["metadata"]["name"] for each in two.other.cluster.list("pods", "team-a")]
    assert [name for name in pods if name.startswith("wide-")] != []
    assert (two.get(run_id).cluster, two.requests_of(two.outside)) == ("lab", [])
    two.pass_time(minutes=2)
    assert (two.get(run_id).cluster, two.jobs("wide")) == ("default", ["default"])
    pods = [each["metadata"]["name"] for each in two.other.cluster.list("pods", "team-a")]
    assert [name for name in pods if name.startswith("wide-")] == []
    two.pass_time(minutes=30)
    assert two.get(run_id).phase == RunPhase.SUCCEEDED


def test_an_admitted_run_stays_without_kueue(two: TwoClusters) -> None:
    run_id = two.submit("wide", gpus=4, templates=("there", "home"))
    two.pass_time(minutes=30)
    assert (two.get(run_id).phase, two.get(run_id).cluster) == (RunPhase.SUCCEEDED, "lab")
    assert two.requests_of(two.outside) == []
