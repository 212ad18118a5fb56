"""What goes wrong with runs: others, the cluster, lost answers; said, and mended where it can."""

from datetime import timedelta

import pytest

from bot.training.runs.controller import RunController
from bot.training.tables import Run, RunPhase
from playground.cluster.story import training_job
from playground.ledger import Fault
from tests.bot.ground import ALICE
from tests.bot.training.cards import card
from tests.bot.training.rig import Rig


def test_a_cluster_without_kueue_takes_runs_back(rig: Rig) -> None:
    rig.world.switch_kueue(on=False)
    run_id = rig.submit()
    rig.pass_time(seconds=60)
    why = (
        "Kueue did not start to manage the Job within 30 s, so the Job was deleted before it"
        " could start."
        " A platform admin has to enable the integration batch/job in Kueue's configuration."
    )
    title = "❌ lane · Not managed by its quota engine"
    assert card(rig, run_id) == f"{title}\n{why}\n  [Logs] [Resubmit]"
    assert rig.notes(run_id) == {"ended": f"<@{ALICE}> lane failed before it started. {why}"}
    assert (rig.effects(), rig.job(run_id)) == (["create jobs", "delete jobs"], None)


def test_a_job_deleted_by_others_has_vanished(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=60)
    rig.world.delete("jobs", rig.get(run_id).job_name, "team-a")
    rig.pass_time(seconds=60)
    assert card(rig, run_id).splitlines()[0] == "❌ lane · Deleted outside Quartermaster after 57s"
    assert rig.notes(run_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> lane was deleted after 57s. Its Job is gone from the cluster, and"
        " Quartermaster did not delete it: it was deleted outside Quartermaster, or it ended"
        " unseen and was cleaned up."
    )
    assert rig.effects() == ["create jobs"]


def test_a_name_of_somebody_else_is_left_alone(rig: Rig) -> None:
    run_id = rig.submit()
    name = rig.get(run_id).job_name
    rig.world.create("jobs", training_job(name, 1, "team-a"), "team-a")
    rig.run()
    assert card(rig, run_id) == (
        f"❌ lane · Failed\nNamespace team-a already has a Job {name} that Quartermaster"
        " did not create. It was not changed.\n  [Logs] [Resubmit]"
    )
    assert rig.effects() == []


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_create_makes_one_job(rig: Rig, fault: Fault) -> None:
    rig.outside.ledger.by_name["create jobs"] = [fault]
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert len(rig.world.list("jobs", "team-a")) == 1
    assert list(rig.notes(run_id)) == ["admitted-1", "ended"]


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_delete_stops_once(rig: Rig, fault: Fault) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=45)
    rig.outside.ledger.by_name["delete jobs"] = [fault]
    rig.stop(run_id)
    rig.pass_time(minutes=2)
    assert (rig.get(run_id).phase, rig.job(run_id)) == (RunPhase.STOPPED, None)
    assert list(rig.notes(run_id)) == ["admitted-1", "ended"]


def test_a_step_that_was_never_saved_repeats(rig: Rig) -> None:
    run_id = rig.submit()
    rig.controller.step(run_id)
    rig.look()
    rig.restart()
    rig.pass_time(minutes=5)
    assert (rig.get(run_id).phase, rig.effects()) == (RunPhase.SUCCEEDED, ["create jobs"])


def test_a_job_that_came_too_late_is_removed(rig: Rig) -> None:
    run_id = rig.submit()
    rig.controller.step(run_id)
    name = rig.get(run_id).job_name
    late = rig.world.get("jobs", name, "team-a") or {}
    body = {"metadata": {k: late["metadata"][k] for k in ("name", "labels")}, "spec": late["spec"]}
    rig.world.delete("jobs", name, "team-a")
    rig.stop(run_id)
    rig.run()
    assert rig.get(run_id).phase == RunPhase.STOPPED
    rig.world.create("jobs", body, "team-a")
    rig.pass_time(seconds=10)
    assert (rig.job(run_id), rig.get(run_id).phase) == (None, RunPhase.STOPPED)


def test_what_the_cluster_refuses_fails_with_words(rig: Rig) -> None:
    run_id = rig.submit()
    rig.do(lambda s: setattr(s.get_one(Run, run_id), "job_name", "Not_A_Name"))
    rig.run()
    run = rig.get(run_id)
    assert run.phase == RunPhase.FAILED
    assert run.reason.startswith("Creating Job Not_A_Name in namespace team-a on cluster default:")
    assert rig.effects() == ["create jobs"]


def test_trouble_is_said_and_forgotten(rig: Rig) -> None:
    rig.world.faults.unavailable = True
    run_id = rig.submit()
    for _ in range(4):
        rig.outside.clock.moment += timedelta(seconds=30)
        rig.loop.run_due()
    job = rig.get(run_id).job_name
    assert card(rig, run_id) == (
        "⚠️ lane · Pending\n"
        "Waiting since 2026-11-21 12:00 UTC.\n"
        f"Reading Job {job} in namespace team-a on cluster default: 503 ServiceUnavailable:"
        " the server is currently unable to handle the request. Retrying.\n"
        "  [Stop]"
    )
    rig.world.faults.unavailable = False
    rig.pass_time(minutes=1)
    assert (rig.get(run_id).phase, rig.get(run_id).trouble) == (RunPhase.RUNNING, "")


def test_a_cluster_that_left_the_configuration_is_told(rig: Rig) -> None:
    run_id = rig.submit()
    rig.clusters.clear()
    for _ in range(3):
        rig.outside.clock.moment += timedelta(seconds=10)
        rig.loop.run_due()
    assert rig.get(run_id).trouble == "Cluster default is no longer in quartermaster.yaml."


def test_a_late_run_says_so_once_it_is(rig: Rig) -> None:
    rig.world.patch("nodes", "gpu-1", {"spec": {"unschedulable": True}})
    rig.world.patch("nodes", "gpu-2", {"spec": {"unschedulable": True}})
    run_id = rig.submit()
    rig.pass_time(minutes=14)
    assert "This is late" not in card(rig, run_id)
    rig.pass_time(minutes=1)
    said = card(rig, run_id).splitlines()
    assert said[0] == "⚠️ lane · Creating"
    assert said[1].startswith("No node can run its pod: 0/2 nodes are available")
    assert said[2:4] == [
        "It starts automatically when a node can. A smaller run may fit sooner.",
        "Overdue: its pod should have started by now.",
    ]


def test_an_unknown_run_is_let_rest(rig: Rig) -> None:
    assert isinstance(rig.controller, RunController)
    assert rig.controller.step("nothing").again is None
