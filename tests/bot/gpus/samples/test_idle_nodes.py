"""Since when nothing holds the GPUs of nodes, by what samples know."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import Session, col, select

from bot.config import Leftovers
from bot.database.database import Database
from bot.gpus.idle_nodes import IdleGroup, idle_groups, used_last_by
from bot.gpus.samples.owners import Owner, ids_of
from bot.gpus.samples.pods import NewPod, forget_pods, keep_pods, last_pods
from bot.gpus.tables import GpuPod, What
from playground.cluster.story import training_job
from tests.bot.gpus.notebook import begin
from tests.bot.gpus.rig import Sampled
from tests.bot.gpus.samples.test_sharing import PLACE, pod

HOUR, DAY_OF_MINUTES = timedelta(hours=1), 24 * 60
LANE = Owner(What.RUN, "default", team="team-a", run_id="r1", name="lane", gpu_type="h100")


@pytest.fixture
def rig(sampled: Sampled) -> Sampled:
    """A cluster whose nodes count as unused after an hour."""
    leftovers = Leftovers(idle_nodes_after=HOUR)
    sampled.policy = sampled.policy.model_copy(update={"leftovers": leftovers})
    return sampled


def idle(rig: Sampled) -> dict[str, IdleGroup]:
    """The idle groups by their names; here each node is alone."""
    now = rig.clock.now()
    found = rig.do(lambda session: idle_groups(session, rig.settings(), rig.cluster, now))
    return {each.group.name: each for each in found or ()}


def kept(session: Session) -> list[str]:
    return sorted(session.exec(select(col(GpuPod.uid))).all())


def test_idle_time_survives_a_restart_of_the_bot(rig: Sampled) -> None:
    run_id = begin(rig)
    rig.sample(2)
    [node] = rig.get(run_id).nodes
    rig.stop(run_id)
    rig.pass_time(minutes=1)
    rig.sample(2)
    ended = rig.clock.now()
    assert node not in idle(rig)
    rig.restart()
    rig.sample(65)
    found = idle(rig)[node]
    [only] = found.nodes
    assert ended - timedelta(minutes=4) < found.since <= ended
    assert (found.gpus, found.unobserved, only.is_longer) == (8_000, timedelta(0), False)
    assert only.last is not None
    assert (only.last.name, only.last.team, only.last.person) == ("nb", "team-a", "U0ALICE")
    assert [each.group.name for each in used_last_by([found], "team-a")] == [node]
    assert used_last_by([found], "team-b") == []


def test_nodes_of_workloads_by_hand_are_in_use(rig: Sampled) -> None:
    rig.world.create("jobs", training_job("by-hand", 1, epochs=1000), "default")
    rig.sample(75)
    [only] = rig.world.list("pods", "default")
    used = only["spec"]["nodeName"]
    assert used not in idle(rig)
    assert len(idle(rig)) == 1


def test_pods_that_try_gpus_are_no_use(rig: Sampled) -> None:
    rig.world.create("pods", a_check(rig, "try"), "default")
    of_system = pod("monitor", 1)
    rig.world.create("pods", of_system | {"spec": of_system["spec"] | {"nodeName": "gpu-2"}},
                     "kube-system")  # fmt: skip
    rig.sample(75)
    assert set(rig.held(10)) == {"/gpu-1", "/monitor"}
    assert {name: each.nodes[0].last for name, each in idle(rig).items()} == {
        "gpu-1": None,
        "gpu-2": None,
    }


def test_checks_hide_no_use_beside_them(rig: Sampled) -> None:
    rig.world.create("pods", a_check(rig, "monitor"), "default")
    rig.world.create("pods", pod("by-hand", 1), "default")
    rig.sample(2)
    rig.world.delete("pods", "by-hand", "default")
    ended = rig.clock.now()
    rig.sample(65)
    assert "/gpu-1" in rig.held(10)
    found = idle(rig)["gpu-1"]
    assert found.since >= ended - timedelta(minutes=1)
    assert found.nodes[0].last is not None
    assert found.nodes[0].last.name == "by-hand"


def a_check(rig: Sampled, name: str) -> dict[str, Any]:
    """A pod with a GPU that comes and goes with the node gpu-1."""
    uid = next(each["metadata"]["uid"] for each in rig.world.list("nodes"))
    owner = {"apiVersion": "v1", "kind": "Node", "name": "gpu-1", "uid": uid, "controller": True}
    body = pod(name, 1)
    return body | {"metadata": {"name": name, "ownerReferences": [owner]}}


def test_shared_gpus_were_used_by_who_shared(rig: Sampled) -> None:
    rig.world.create("namespaces", {"metadata": {"name": PLACE}})
    rig.world.create("pods", pod("reservation-x", 1), PLACE)
    rig.world.create("pods", pod("half", gpu_fraction="0.5"), "team-a")
    rig.sample(2)
    # KAI removes the reservation once the last pod that shares the GPU is gone.
    rig.world.delete("pods", "half", "team-a")
    rig.sample(2)
    rig.world.delete("pods", "reservation-x", PLACE)
    rig.sample(65)
    last = idle(rig)["gpu-1"].nodes[0].last
    assert last is not None
    assert (last.name, last.team) == ("half", "team-a")


def test_reservations_for_unknown_pods_are_use(rig: Sampled) -> None:
    rig.world.create("namespaces", {"metadata": {"name": PLACE}})
    rig.world.create("pods", pod("reservation-x", 1), PLACE)
    rig.sample(2)
    rig.world.delete("pods", "reservation-x", PLACE)
    ended = rig.clock.now()
    rig.sample(65)
    assert idle(rig)["gpu-1"].since >= ended - timedelta(minutes=1)


def test_pods_there_hide_no_use_of_unknown_nodes(rig: Sampled) -> None:
    """An earlier release did not record where pods were."""
    there = pod("steady", 1)
    rig.world.create("pods", there | {"spec": there["spec"] | {"nodeName": "gpu-2"}}, "default")
    rig.world.create("pods", pod("by-hand", 1), "default")
    rig.sample(10)
    rig.do(lambda session: session.connection().execute(update(GpuPod).values(node="")))
    rig.world.delete("pods", "by-hand", "default")
    ended = rig.clock.now()
    rig.sample(65)
    found = idle(rig)
    assert set(found) == {"gpu-1"}
    assert found["gpu-1"].since >= ended - timedelta(minutes=1)
    assert found["gpu-1"].nodes[0].is_longer


def test_minutes_without_samples_are_counted(rig: Sampled) -> None:
    rig.sample(2)
    rig.pass_time(minutes=30)
    rig.sample(65)
    # Of hours that are over it is known by five minutes, and two such were seen in part.
    assert {each.unobserved for each in idle(rig).values()} == {timedelta(minutes=25)}


def test_last_pod_of_a_node_stays_longest(database: Database) -> None:
    def fill(session: Session) -> None:
        series = ids_of(session, {LANE})[LANE]
        for uid, place, node, last in (
            ("a", "team-a", "n1", 100),
            ("b", "team-a", "n1", 200),
            ("c", "team-a", "", 200),
            ("e", "team-a", "", 100),
            ("d", "gpu-operator", "n1", 300),
        ):
            new = NewPod(uid, place, uid, 2000, LANE, node)
            keep_pods(session, "default", [(new, series)], 1, last)

    database.transaction(fill)
    last = database.read(lambda session: last_pods(session, "default"))
    assert sorted((each.node, each.ended or 0) for each in last) == [
        ("", 200),
        ("n1", 200),
        ("n1", 300),
    ]
    now = 10 * DAY_OF_MINUTES
    database.transaction(lambda session: forget_pods(session, now - 8 * DAY_OF_MINUTES, now))
    assert database.read(kept) == ["b", "c", "d"]
    now = 91 * DAY_OF_MINUTES
    database.transaction(lambda session: forget_pods(session, now - 8 * DAY_OF_MINUTES, now))
    assert database.read(kept) == []


def test_pods_there_are_told_beside_ended_ones(database: Database) -> None:
    def fill(session: Session) -> None:
        series = ids_of(session, {LANE})[LANE]
        for uid, last in (("a", 200), ("b", 300), ("c", None), ("d", None)):
            new = NewPod(uid, "team-a", uid, 2000, LANE, "n1")
            keep_pods(session, "default", [(new, series)], 1, last)

    database.transaction(fill)
    last = database.read(lambda session: last_pods(session, "default"))
    assert [each.ended for each in last if each.ended is not None] == [300]
    assert len(last) == 3
