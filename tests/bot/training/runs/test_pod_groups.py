"""Runs whose launcher and workers Kueue admits as one group of pods, over HTTP."""

from typing import Any

import pytest

from bot.config import Settings
from bot.database.database import Database
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from playground.ledger import Fault
from tests.bot.ground import Outside
from tests.bot.training.rig import IMAGE, Rig, settings
from tests.bot.training.runs.test_deployment_runs import CLEARED, MADE, beside, limit, submitted

GROUP = "kueue.x-k8s.io/pod-group-name"


@pytest.fixture
def grouped(own_database: Database, outside: Outside) -> Rig:
    """Training under Kueue, in which synchronous runs may use the network of nodes."""
    policy = settings(admission={"host_network": ["sync"]}).model_dump()
    return Rig(own_database, outside, Settings.model_validate(policy))


def workloads(rig: Rig) -> list[dict[str, Any]]:
    """The Workloads of the team."""
    return rig.world.list("workloads", "team-a")


def test_launcher_and_workers_are_admitted_together(grouped: Rig) -> None:
    run_id = submitted(grouped)
    grouped.pass_time(seconds=30)
    assert grouped.card(run_id).splitlines()[0] == "▶️ lane · Running for 23s"
    (workload,) = workloads(grouped)
    assert workload["metadata"]["name"] == grouped.get(run_id).job_name
    assert [each["count"] for each in workload["spec"]["podSets"]] == [2]
    marks = [each["metadata"]["labels"][GROUP] for each in grouped.world.list("pods", "team-a")]
    assert marks == [grouped.get(run_id).job_name] * 2
    grouped.pass_time(minutes=2)
    shown = grouped.card(run_id)
    assert shown.splitlines()[0] == "✅ lane · Succeeded in 1m 4s"
    assert "GPUs       12 (6 on each of 2 nodes)" in shown
    (pod,) = grouped.world.list("pods", "team-a")
    assert (beside(grouped), grouped.effects()) == ([pod["metadata"]["name"]], [*MADE, *CLEARED])


def test_neither_part_takes_gpus_alone(grouped: Rig) -> None:
    first = grouped.submit("first", gpus=8)
    grouped.pass_time(seconds=30)
    run_id = submitted(grouped)
    grouped.pass_time(seconds=30)
    run = grouped.get(run_id)
    assert (run.phase, run.nodes) == (RunPhase.PENDING, [])
    assert run.reason == (
        "It is waiting for 12 GPUs of h100; 4 can be used now: team-a uses 8 of its nominal quota"
        " of 4, and 4 can be borrowed."
    )
    pods = [
        each for each in grouped.world.list("pods", "team-a") if GROUP in each["metadata"]["labels"]
    ]
    assert [each["spec"].get("nodeName") for each in pods] == [None, None]
    grouped.pass_time(minutes=10)
    assert {grouped.get(each).phase for each in (first, run_id)} == {RunPhase.SUCCEEDED}


def test_its_quota_is_given_back(grouped: Rig) -> None:
    submitted(grouped)
    grouped.pass_time(minutes=3)
    (workload,) = workloads(grouped)
    finished = [c for c in workload["status"]["conditions"] if c["type"] == "Finished"]
    assert [c["status"] for c in finished] == ["True"]
    second = submitted(grouped, name="second")
    grouped.pass_time(minutes=3)
    assert grouped.get(second).phase == RunPhase.SUCCEEDED


def test_it_is_no_external_workload(grouped: Rig) -> None:
    submitted(grouped)
    grouped.pass_time(seconds=30)
    assert grouped.service.external_workloads("team-a") == []


def test_a_preempted_group_starts_again_whole(grouped: Rig) -> None:
    run_id = submitted(grouped)
    grouped.pass_time(seconds=30)
    grouped.world.create("jobs", training_job("theirs", 8, "team-b", epochs=2), "team-b")
    grouped.pass_time(seconds=20)
    run = grouped.get(run_id)
    assert (run.phase, run.nodes) == (RunPhase.PREEMPTED, [])
    grouped.pass_time(minutes=10)
    assert grouped.get(run_id).phase == RunPhase.SUCCEEDED


def test_a_failing_launcher_ends_it_all(grouped: Rig) -> None:
    grouped.world.behaviours[IMAGE] = Training(fails_after=5)
    run_id = submitted(grouped)
    grouped.pass_time(minutes=10)
    assert (grouped.get(run_id).phase, grouped.get(run_id).restarts) == (RunPhase.FAILED, 2)
    assert grouped.world.list("deployments", "team-a") == []


@pytest.mark.parametrize("seconds", [0, 1, 3, 45])
def test_a_stopped_group_leaves_nothing(grouped: Rig, seconds: int) -> None:
    run_id = submitted(grouped)
    grouped.pass_time(seconds=seconds)
    grouped.stop(run_id)
    grouped.pass_time(minutes=2)
    assert grouped.get(run_id).phase == RunPhase.STOPPED
    assert beside(grouped) == []


@pytest.mark.parametrize("name", [*MADE, *CLEARED])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_makes_no_group_twice(grouped: Rig, name: str, fault: Fault) -> None:
    grouped.outside.ledger.by_name[name] = [fault]
    run_id = submitted(grouped)
    grouped.pass_time(minutes=5)
    assert grouped.get(run_id).phase == RunPhase.SUCCEEDED
    assert len(workloads(grouped)) == 1


def switch_off(rig: Rig) -> None:
    """Takes the integration of plain pods from Kueue's configuration."""
    kueue = rig.world.inside.kueue
    rig.world.inside.kueue = type(kueue)(frameworks=kueue.frameworks - {"pods"})


def placed(rig: Rig) -> list[str]:
    """The nodes of all pods that the team ever had, as the scheduler says in events."""
    events = rig.world.list("events", "team-a")
    return [each["message"] for each in events if each["reason"] == "Scheduled"]


def test_pods_that_kueue_leaves_alone_never_start(grouped: Rig) -> None:
    switch_off(grouped)
    run_id = submitted(grouped)
    grouped.pass_time(seconds=10)
    title, why, *_ = grouped.card(run_id).splitlines()
    assert title == "❌ lane · Not managed by its quota engine"
    assert why == (
        "Kueue does not manage the pods of this run, so it was deleted before any of them could"
        " start. A platform admin has to enable the integration pod in Kueue's configuration."
        " Without --form deployment, launcher and workers are one Job, which needs no such"
        " integration."
    )
    assert list(grouped.notes(run_id)) == ["ended"]
    grouped.pass_time(minutes=2)
    assert (beside(grouped), placed(grouped)) == ([], [])


def test_an_integration_switched_off_later_ends_it(grouped: Rig) -> None:
    grouped.world.behaviours[IMAGE] = Training(never_ends=True)
    run_id = submitted(grouped)
    grouped.pass_time(seconds=30)
    assert grouped.get(run_id).phase == RunPhase.RUNNING
    switch_off(grouped)
    worker = next(n for n in beside(grouped) if "-workers-" in n)
    grouped.world.delete("pods", worker, "team-a")
    grouped.pass_time(minutes=2)
    assert (grouped.get(run_id).phase, beside(grouped)) == (RunPhase.UNMANAGED, [])
    assert len(placed(grouped)) == 2


def test_a_group_that_lacks_pods_says_why(grouped: Rig) -> None:
    limit(grouped, "6")
    run_id = submitted(grouped)
    grouped.pass_time(minutes=2)
    run = grouped.get(run_id)
    assert (run.phase, placed(grouped)) == (RunPhase.PENDING, [])
    assert run.obstacle.startswith("The namespace's ResourceQuota has no capacity for it: ")
    grouped.stop(run_id)
    grouped.pass_time(minutes=1)
    assert (grouped.get(run_id).phase, beside(grouped)) == (RunPhase.STOPPED, [])
