"""Runs whose workers are a Deployment, where no quota engine admits runs, over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.config import Settings
from bot.database.database import Database
from bot.training.runs.card import People
from bot.training.runs.replies import why_card
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.story import plain_cluster
from playground.ledger import Fault
from tests.bot.ground import ALICE, Outside
from tests.bot.training.rig import IMAGE, Rig, settings
from tests.databases import create_tables

SECRET, SERVICE, WORKERS = "create secrets", "create services", "create deployments"
NO_SECRET, NO_SERVICE, NO_WORKERS = "delete secrets", "delete services", "delete deployments"
MADE = ["create jobs", SECRET, SERVICE, WORKERS]
CLEARED = [NO_SECRET, NO_SERVICE, NO_WORKERS]


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Rig]:
    """Training on a cluster without a quota engine."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path, plain_cluster)
    policy = settings(admission={"host_network": ["sync"]}).model_dump()
    policy["clusters"] = {"default": {"engine": "none"}}
    yield Rig(database, outside, Settings.model_validate(policy))
    outside.close()
    database.close()


def submitted(rig: Rig, **more: Any) -> str:
    """A run on both nodes."""
    fields: dict[str, Any] = {
        "kind": "sync",
        "form": "deployment",
        "nodes": 2,
        "gpus": 6,
        "host_network": True,
        "command": ("python", "train.py"),
    }
    return rig.submit(**(fields | more))


def limit(rig: Rig, gpus: str, used: str = "0") -> None:
    """Lets the namespace have so many GPUs in all, and says how many it has."""
    key = "requests.nvidia.com/gpu"
    status = {"hard": {key: gpus}, "used": {key: used}}
    body = {"metadata": {"name": "few"}, "spec": {"hard": status["hard"]}, "status": status}
    rig.world.create("resourcequotas", body, "team-a")


def beside(rig: Rig) -> list[str]:
    """What is in the namespace beside what was there before."""
    named = [rig.world.list(each, "team-a") for each in ("services", "deployments", "pods")]
    names = [each["metadata"]["name"] for found in named for each in found]
    secrets = [each["metadata"]["name"] for each in rig.world.list("secrets", "team-a")]
    return names + [name for name in secrets if name.endswith("-ssh")]


def test_workers_that_die_again_are_told(plain: Rig) -> None:
    plain.world.behaviours["bash serve.sh"] = Training(fails_after=1, exit_code=127)
    plain.world.behaviours["python train.py"] = Training(never_ends=True)
    run_id = submitted(plain, worker_command=("bash", "serve.sh"), launcher="none")
    plain.pass_time(minutes=2)
    run = plain.get(run_id)
    assert (run.phase, run.reason) == (
        RunPhase.RUNNING, "A worker failed. Its program ended with exit code 127."
    )  # fmt: skip
    assert run.obstacle == (
        "The program of a pod ends repeatedly, and waits longer each time before it restarts."
    )
    assert plain.card(run_id).startswith("⚠️ lane · Running")
    why = why_card(run, People("Alice"), plain.outside.clock.moment)
    assert why.lines[0] == "It is not waiting for quota."
    assert plain.notes(run_id)["attempt-1"] == (
        "A worker failed. Its program ended with exit code 127. It is restarting."
    )


def test_workers_are_removed_when_it_ends(plain: Rig) -> None:
    run_id = submitted(plain)
    plain.pass_time(seconds=30)
    assert plain.card(run_id).splitlines()[0] == "▶️ lane · Running for 27s"
    assert "Nodes      gpu-1, gpu-2" in plain.card(run_id)
    plain.pass_time(minutes=2)
    shown = plain.card(run_id)
    assert shown.splitlines()[0] == "✅ lane · Succeeded in 1m 4s"
    assert "total images/sec 9748.80000" in shown
    assert "GPUs       12 (6 on each of 2 nodes)" in shown
    (pod,) = plain.world.list("pods", "team-a")
    assert beside(plain) == [pod["metadata"]["name"]]
    assert plain.effects() == [*MADE, *CLEARED]


def test_workers_are_marked_as_the_runs(plain: Rig) -> None:
    run_id = submitted(plain)
    plain.pass_time(seconds=30)
    row = plain.get(run_id)
    (workers,) = plain.world.list("deployments", "team-a")
    assert workers["metadata"]["ownerReferences"][0]["uid"] == row.job_uid
    known = [each["metadata"]["labels"] for each in plain.world.list("pods", "team-a")]
    marks = [(each["quartermaster.dev/run"], each["quartermaster.dev/person"]) for each in known]
    assert marks == [(run_id, ALICE)] * 2


def test_a_failed_launcher_takes_its_workers(plain: Rig) -> None:
    plain.world.behaviours[IMAGE] = Training(fails_after=5)
    run_id = submitted(plain)
    plain.pass_time(minutes=10)
    assert (plain.get(run_id).phase, plain.get(run_id).restarts) == (RunPhase.FAILED, 2)
    assert plain.world.list("deployments", "team-a") == []
    names = [each["metadata"]["name"] for each in plain.world.list("pods", "team-a")]
    assert not any("workers" in name for name in names)


def test_a_stopped_run_leaves_nothing(plain: Rig) -> None:
    run_id = submitted(plain)
    plain.pass_time(seconds=30)
    plain.stop(run_id)
    plain.pass_time(minutes=2)
    assert plain.get(run_id).phase == RunPhase.STOPPED
    assert beside(plain) == []


@pytest.mark.parametrize("name", [*MADE, *CLEARED])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_makes_nothing_twice(plain: Rig, name: str, fault: Fault) -> None:
    plain.outside.ledger.by_name[name] = [fault]
    run_id = submitted(plain)
    plain.pass_time(minutes=5)
    assert plain.get(run_id).phase == RunPhase.SUCCEEDED
    (pod,) = plain.world.list("pods", "team-a")
    assert beside(plain) == [pod["metadata"]["name"]]
    assert set(plain.effects()) == {*MADE, *CLEARED}


def test_what_finds_no_room_waits(plain: Rig) -> None:
    first = submitted(plain, name="first", gpus=8)
    plain.pass_time(seconds=30)
    second = plain.submit("second", gpus=8)
    plain.pass_time(seconds=30)
    run = plain.get(second)
    assert (run.phase, run.unblock) == (
        RunPhase.PENDING,
        "It starts when other runs end. There is no quota engine to give it precedence.",
    )
    assert run.reason.startswith("No node has free capacity for it. Kubernetes says: 0/2 nodes are")
    plain.pass_time(minutes=5)
    assert {plain.get(each).phase for each in (first, second)} == {RunPhase.SUCCEEDED}


def test_full_nodes_are_no_matter_of_quota(plain: Rig) -> None:
    # Pods are counted as soon as they are made, those that wait for a node with them.
    limit(plain, "24", used="24")
    submitted(plain, name="first", gpus=8)
    plain.pass_time(seconds=30)
    second = plain.submit("second", gpus=8)
    plain.pass_time(seconds=10)
    run = plain.get(second)
    assert run.reason.startswith("No node has free capacity for it. Kubernetes says: 0/2 nodes are")
    assert run.unblock == (
        "It starts when other runs end. There is no quota engine to give it precedence."
    )


def test_a_used_up_limit_concerns_no_requests(plain: Rig) -> None:
    limit(plain, "1", used="1")
    run_id = plain.submit("lane", gpus=2)
    plain.pass_time(minutes=1)
    run = plain.get(run_id)
    assert run.obstacle.startswith("The namespace's ResourceQuota has no capacity for it: ")
    assert (run.reason, run.unblock) == (
        "Kubernetes has not evaluated it yet.",
        "It starts automatically when others there end, or when an admin raises that quota.",
    )


def test_what_keeps_pods_from_being_is_said(plain: Rig) -> None:
    limit(plain, "1")
    run_id = plain.submit("lane", gpus=2)
    plain.pass_time(minutes=1)
    run = plain.get(run_id)
    assert (run.phase, run.admissions) == (RunPhase.PENDING, 0)
    assert run.obstacle.startswith("The namespace's ResourceQuota has no capacity for it: ")
    assert run.obstacle.endswith("limited: requests.nvidia.com/gpu=1.")
