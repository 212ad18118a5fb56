"""Work that somebody started without us: seen, told apart, and stopped by heads only."""

from dataclasses import replace
from typing import Any

import pytest

from bot.audit import lines_about
from bot.errors import ConflictError, NotAllowedError
from bot.training.logs.reads import LogRequest, LogTail
from playground.cluster.story import training_job
from playground.ledger import Fault
from tests.bot.ground import ALICE, ERIN, INSTALLATION
from tests.bot.training.rig import IMAGE, Rig


def theirs(rig: Rig, name: str = "notebook", **labels: str) -> None:
    """Somebody applies a Job of their own."""
    job = training_job(name, 1, "team-a", epochs=20)
    job["metadata"]["labels"].update(labels)
    rig.world.create("jobs", job, "team-a")
    rig.pass_time(seconds=5)


def stop(rig: Rig, person: str = ERIN, **more: Any) -> str:
    by, now = rig.caller(person), rig.clock.now()
    found = rig.service.find_external("team-a", "notebook")
    assert found is not None
    external = replace(found, **more)
    return rig.do(lambda session: rig.service.stop_external(session, by, external, now)).id


def test_work_started_elsewhere_is_seen(rig: Rig) -> None:
    rig.submit()
    theirs(rig, owner="erin")
    theirs(rig, "other")
    theirs(rig, "copy", **{"quartermaster.dev/run": "x", "quartermaster.dev/installation": "y"})
    found = rig.service.external_workloads("team-a")
    assert [
        (each.name, each.kind, each.owner, int(each.gpus), each.is_admitted) for each in found
    ] == [
        ("notebook", "Job", "erin", 1, True),
        ("other", "Job", None, 1, True),
        ("copy", "Job", None, 1, True),
    ]


def test_our_own_runs_are_not_external(rig: Rig) -> None:
    rig.submit()
    rig.pass_time(seconds=5)
    labels = rig.world.list("jobs", "team-a")[0]["metadata"]["labels"]
    assert labels["quartermaster.dev/installation"] == INSTALLATION
    assert rig.service.external_workloads("team-a") == []


def test_what_a_queue_holds_is_of_now(rig: Rig) -> None:
    found = []
    for start in (lambda: None, rig.submit, lambda: theirs(rig), lambda: theirs(rig, "other")):
        start()
        rig.pass_time(seconds=5)
        found.append([each.name for each in rig.service.external_workloads("team-a")])
    rig.world.delete("jobs", "notebook", "team-a")
    rig.pass_time(seconds=5)
    found.append([each.name for each in rig.service.external_workloads("team-a")])
    assert found == [[], [], ["notebook"], ["notebook", "other"], ["other"]]


def test_a_lead_may_stop_work_started_elsewhere(rig: Rig) -> None:
    theirs(rig)
    removal_id = stop(rig)
    rig.pass_time(seconds=10)
    assert rig.removal_card(removal_id) == (
        "⏹️ notebook · Stopped\n  Job           `team-a/notebook`\n  Owner         unknown\n"
        "  Requested by  Erin"
    )
    assert rig.notes(removal_id) == {"ended": f"<@{ERIN}> notebook: stopped."}
    audit = rig.do(lambda session: lines_about(session, removal_id))
    assert [(line.verb, line.facts["job"], line.facts["owner"]) for line in audit] == [
        ("run.stop_stranger", "notebook", "unknown")
    ]
    assert rig.world.list("jobs", "team-a") == []


def test_members_may_not_stop_others_work(rig: Rig) -> None:
    theirs(rig)
    with pytest.raises(NotAllowedError) as error:
        stop(rig, ALICE)
    assert (error.value.message, error.value.hint) == (
        "notebook was not started by Quartermaster.",
        "A lead of the team or an admin can stop it.",
    )
    assert rig.effects() == []


def test_other_sorts_of_work_are_left_alone(rig: Rig) -> None:
    theirs(rig)
    with pytest.raises(ConflictError) as error:
        stop(rig, kind="RayService")
    assert (error.value.message, error.value.hint) == (
        (
            "notebook is a RayService; only Jobs, MPIJobs, PyTorchJobs, TrainJobs, RayJobs can be"
            " stopped from here."
        ),
        "Use kubectl in namespace team-a.",
    )


def test_an_mpi_job_is_stopped_as_such(rig: Rig) -> None:
    rig.world.install("mpi-operator")
    pod = {"spec": {"containers": [{"name": "main", "image": IMAGE, "command": ["sleep", "600"]}]}}
    roles = {role: {"replicas": 1, "template": pod} for role in ("Launcher", "Worker")}
    theirs = {
        "metadata": {"name": "notebook", "labels": {"kueue.x-k8s.io/queue-name": "team-a"}},
        "spec": {"mpiReplicaSpecs": roles},
    }
    rig.world.create("mpijobs", theirs, "team-a")
    rig.pass_time(seconds=5)
    removal_id = stop(rig)
    rig.pass_time(seconds=10)
    assert rig.removal_card(removal_id).splitlines()[:2] == [
        "⏹️ notebook · Stopped",
        "  MPIJob        `team-a/notebook`",
    ]
    assert (rig.world.list("mpijobs", "team-a"), rig.effects()) == ([], ["delete mpijobs"])


def test_a_new_job_of_that_name_stays(rig: Rig) -> None:
    theirs(rig)
    removal_id = stop(rig)
    rig.world.delete("jobs", "notebook", "team-a")
    theirs(rig)
    assert rig.removal(removal_id).outcome == "Stopped"
    assert (len(rig.world.list("jobs", "team-a")), rig.effects()) == (1, [])


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_stops_it_once(rig: Rig, fault: Fault) -> None:
    theirs(rig)
    rig.outside.ledger.by_name["delete jobs"] = [fault]
    removal_id = stop(rig)
    rig.pass_time(seconds=30)
    assert (rig.removal(removal_id).outcome, rig.removal(removal_id).trouble) == ("Stopped", "")
    assert rig.world.list("jobs", "team-a") == []


def test_logs_of_others_are_read_live(rig: Rig) -> None:
    theirs(rig)
    found = rig.service.find_external("team-a", "notebook")
    assert found is not None
    tail = rig.reads.external_log_tail("default", found, LogRequest(1))
    assert (tail.lines, tail.kept_at) == (
        ("2026-11-21 12:00:51 Found 1281167 training images, batch size 32",),
        None,
    )
    rig.world.delete("jobs", "notebook", "team-a")
    rig.pass_time(seconds=60)
    assert rig.reads.external_log_tail("default", found, LogRequest(1)) == LogTail(None)
