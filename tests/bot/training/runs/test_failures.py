"""Why a run failed is told by its pods, of every kind and form, and outlives them."""

from datetime import datetime
from typing import Any

import pytest

from bot.slack.grammar.parameters import Nodes
from bot.training.runs.card import People
from bot.training.runs.replies import why_card
from playground.cluster.control.training import Training
from tests.bot.training.cards import card
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_elastic_forms import manage_pytorch_jobs

MEMORY = "Its program used more memory than its limit of {} and was killed (OOMKilled)."
OUT = Training(fails_after=12, out_of_memory=True)
RAN_OUT = MEMORY.format("136Gi")  # /dev/shm is part of it


def submit(rig: Rig, **more: Any) -> str:
    return rig.submit(gpus=1, memory="128Gi", **more)


def test_a_failed_attempt_is_told_at_the_next(rig: Rig) -> None:
    rig.world.behaviours["lane"] = OUT
    run_id = submit(rig)
    rig.pass_time(seconds=18)
    assert card(rig, run_id).splitlines()[:2] == [
        "▶️ lane · Creating",
        f"Attempt 1 of 3 failed. {RAN_OUT} It is restarting.",
    ]
    assert "Submit it with more `--memory`" in card(rig, run_id)
    rig.pass_time(seconds=14)
    assert rig.get(run_id).phase == "running"
    assert f"\nAttempt 1 of 3 failed. {RAN_OUT}\n" in card(rig, run_id)
    assert rig.notes(run_id)["attempt-1"].splitlines()[0] == (
        f"Attempt 1 of 3 failed. {RAN_OUT} It is restarting."
    )


@pytest.mark.parametrize("host", ["lane-1", "lane-0"])
def test_an_elastic_run_says_which_pod_failed_why(rig: Rig, host: str) -> None:
    run_id = submit(rig, kind="elastic", nodes=2)
    name = f"{rig.get(run_id).job_name}-{host[-1]}"
    rig.world.behaviours[name] = OUT
    rig.pass_time(minutes=20)
    run = rig.get(run_id)
    assert (run.phase, run.reason) == ("failed", f"{RAN_OUT} It happened in pod {host[-1]}.")
    assert rig.notes(run_id)["attempt-1"].splitlines()[0] == (
        f"Pod {host[-1]}, attempt 1 of 4, failed. {RAN_OUT} It is restarting."
    )


@pytest.mark.parametrize("kind", ["sync", "elastic"])
def test_an_image_that_lacks_something_fails_once(rig: Rig, kind: str) -> None:
    said = "This image has no sshd: install openssh-server in it."
    rig.world.behaviours["lane"] = Training(fails_after=0.5, exit_code=78, last_words=f"{said}\n")
    run_id = submit(rig, kind=kind, nodes=2)
    rig.pass_time(minutes=20)
    run = rig.get(run_id)
    assert (run.phase, run.reason, run.unblock) == (
        "failed",
        f"{said} It happened in pod 0.",
        "Submit it with an image that has it.",
    )
    assert list(rig.notes(run_id)) == ["admitted-1", "ended"]


def test_the_first_of_pods_that_fail_together_tells(rig: Rig) -> None:
    run_id = submit(rig, kind="elastic", nodes=2)
    name = rig.get(run_id).job_name
    rig.world.behaviours[f"{name}-0"] = Training(fails_after=15, exit_code=1)
    rig.world.behaviours[f"{name}-1"] = OUT
    rig.pass_time(minutes=20)
    assert rig.get(run_id).reason == f"{RAN_OUT} It happened in pod 1."


def test_a_worker_of_an_mpi_run_tells_why(rig: Rig) -> None:
    rig.world.install("mpi-operator")
    rig.look()
    run_id = submit(rig, kind="mpi", nodes=2)
    name = rig.get(run_id).job_name
    rig.world.behaviours[f"{name}-worker-1"] = OUT
    rig.world.behaviours[f"{name}-launcher"] = Training(fails_after=16, exit_code=1)
    rig.pass_time(minutes=20)
    run = rig.get(run_id)
    assert run.phase == "failed"
    assert "(OOMKilled)" in rig.notes(run_id)["attempt-1"]


def test_a_worker_that_nothing_replaces_is_told(rig: Rig) -> None:
    rig.world.install("mpi-operator")
    rig.look()
    run_id = submit(rig, kind="mpi", nodes=2)
    name = rig.get(run_id).job_name
    dies = Training(fails_after=14, exit_code=255, log=no_sshd)
    rig.world.behaviours |= {f"{name}-worker-{index}": dies for index in (0, 1)}
    rig.world.behaviours[f"{name}-launcher"] = Training(never_ends=True)
    rig.pass_time(minutes=2)
    said = (
        "Worker 0 failed. Its program ended with exit code 255. Its last line: Missing privilege"
        " separation directory: /run/sshd. It is not replaced."
    )
    run = rig.get(run_id)
    assert (run.phase, run.reason, run.obstacle) == ("running", "", said)
    assert rig.card(run_id).splitlines()[0] == "⚠️ lane · Running for 1m 57s"
    why = why_card(run, People("Alice"), rig.outside.clock.moment)
    assert why.lines[:2] == ("It is not waiting for quota.", said)
    assert rig.notes(run_id)["attempt-1"] == (
        "Worker 0 failed. Its program ended with exit code 255. It is not replaced.\n"
        "```\nMissing privilege separation directory: /run/sshd\n```"
    )


def no_sshd(training: Training, started: datetime, until: datetime) -> list[tuple[datetime, str]]:
    """What sshd says where its folder is missing."""
    del training, until
    return [(started, "Missing privilege separation directory: /run/sshd")]


def test_a_node_lost_for_good_is_told(rig: Rig) -> None:
    run_id = submit(rig, kind="elastic", nodes=Nodes(1, 3))
    name = rig.get(run_id).job_name
    rig.world.behaviours["lane"] = Training(never_ends=True)
    rig.world.behaviours[f"{name}-2"] = OUT
    rig.pass_time(minutes=20)
    run = rig.get(run_id)
    assert run.phase == "running"
    assert run.obstacle.startswith(f"Pod 2, attempt 4 of 4, failed. {RAN_OUT} ")
    assert run.obstacle.endswith(" It is not replaced.")
    assert rig.notes(run_id)["attempt-4"].splitlines()[0].endswith(" It is not replaced.")


def test_a_launcher_that_failed_tells_why(rig: Rig) -> None:
    rig.world.install("mpi-operator")
    rig.look()
    rig.world.behaviours["lane"] = OUT
    run_id = submit(rig, kind="mpi", nodes=2)
    rig.pass_time(minutes=20)
    run = rig.get(run_id)
    assert (run.phase, run.reason) == ("failed", f"{MEMORY.format('2Gi')} This was attempt 3.")


def test_a_pytorch_job_tells_why_after_its_pods(rig: Rig) -> None:
    rig.world.install("training-operator")
    manage_pytorch_jobs(rig)
    rig.look()
    rig.world.behaviours["lane"] = OUT
    run_id = submit(rig, kind="elastic", form="pytorchjob", nodes=2)
    rig.pass_time(minutes=30)
    run = rig.get(run_id)
    assert run.phase == "failed"
    assert run.reason.startswith(f"{RAN_OUT} It happened in worker ")
    assert not [pod for pod in rig.world.list("pods", "team-a") if "worker" in str(pod)]


def test_a_train_job_tells_why_after_its_pods(rig: Rig) -> None:
    rig.world.install("trainer")
    rig.look()
    rig.world.behaviours["lane"] = OUT
    run_id = submit(rig, kind="elastic", form="trainjob", nodes=2)
    rig.pass_time(minutes=60)
    run = rig.get(run_id)
    assert run.phase == "failed"
    assert run.reason.startswith(f"{RAN_OUT} It happened in pod ")


def test_the_reason_outlives_the_pods(rig: Rig) -> None:
    rig.world.behaviours["lane"] = OUT
    run_id = submit(rig)
    rig.pass_time(seconds=50)
    for pod in rig.world.list("pods", "team-a"):
        if pod["status"]["phase"] == "Failed":
            rig.world.delete("pods", pod["metadata"]["name"], "team-a")
    rig.look()
    assert f"failed. {RAN_OUT}" in rig.get(run_id).reason
