"""What a cluster's policies forbid ends a run in their words; what may pass is tried again."""

from datetime import timedelta
from typing import Any

import pytest

from bot.cluster.objects import ClusterObject, ObjectMeta
from bot.training.tables import Phase
from bot.training.troubles import warning_about
from tests.bot.ground import DENIAL, START
from tests.bot.training.rig import Rig
from tests.bot.training.test_names import full

__all__ = ["full"]

ADVICE = "Change what the policy objects to, or ask a platform admin about the policy."
VAP = (
    "jobs.batch \"{name}\" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all'"
    " denied request: images come from registry.acme.com"
)


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (VAP, "ValidatingAdmissionPolicy 'images' denied request: images come from registry"),
        (DENIAL, DENIAL),
    ],
)
def test_a_policy_ends_the_run_in_its_words(rig: Rig, words: str, end: str) -> None:
    rig.deny("jobs", words)
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock, run.trouble) == (Phase.FAILED, ADVICE, "")
    assert run.reason.startswith(f"Creating Job {run.job_name} in namespace team-a on cluster")
    assert end in run.reason
    assert rig.effects().count("create jobs") == 1
    assert ADVICE in rig.card(run_id)


def test_a_policy_on_a_companion_ends_it(rig: Rig) -> None:
    rig.deny("services", 'services "{name}" is forbidden: LimitRange says no')
    run_id = rig.submit(kind="sync", nodes=2)
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock) == (Phase.FAILED, ADVICE)
    assert run.reason.endswith("LimitRange says no.")
    assert rig.world.list("jobs", "team-a") == []


def test_a_missing_right_is_told_and_waited_for(rig: Rig) -> None:
    rig.world.forbid("create", "jobs")
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    run = rig.get(run_id)
    assert run.phase == Phase.ASKED
    assert run.trouble.endswith(
        "The bot lacks a right in the cluster; `quartermaster doctor` lists those it needs."
    )
    rig.world.allow("create", "jobs")
    rig.pass_time(minutes=6)
    assert (rig.get(run_id).phase, rig.get(run_id).trouble) == (Phase.SUCCEEDED, "")


def test_a_server_that_just_began_is_asked_again(rig: Rig) -> None:
    allow = rig.deny("jobs", 'jobs.batch "{name}" is forbidden: not yet ready to handle request')
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    allow()
    rig.pass_time(minutes=6)
    assert rig.get(run_id).phase == Phase.SUCCEEDED


PODS = [
    {},
    {"kind": "sync", "nodes": 2},
    {"kind": "mpi", "nodes": 2},
    {"kind": "elastic", "form": "pytorchjob", "nodes": 2},
]
BASELINE = 'pods "{name}" is forbidden: violates PodSecurity "restricted:latest": privileged'


@pytest.mark.parametrize("wish", PODS, ids=str)
def test_pods_that_are_refused_end_the_run(full: Rig, wish: dict[str, Any]) -> None:
    full.deny("pods", BASELINE)
    run_id = full.submit(gpus=1, **wish)
    full.pass_time(minutes=5)
    run = full.get(run_id)
    assert run.phase == Phase.FAILED
    assert run.reason.startswith("The cluster refuses its pods: ")
    assert run.reason.endswith('violates PodSecurity "restricted:latest": privileged.')
    assert not any(full.world.list(kind, "team-a") for kind in ("jobs", "mpijobs", "pytorchjobs"))


def test_pods_that_soon_may_be_start(rig: Rig) -> None:
    allow = rig.deny("pods", 'pods "{name}" is forbidden: not yet ready to handle request')
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase not in {Phase.FAILED, Phase.RUNNING}
    allow()
    rig.pass_time(minutes=12)
    assert rig.get(run_id).phase == Phase.SUCCEEDED


def test_a_denial_of_old_ends_nothing(rig: Rig) -> None:
    event = {
        "metadata": {"name": "old"},
        "involvedObject": {"kind": "Job", "namespace": "team-a", "name": "x", "uid": "uid-1"},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": f"Error creating: {BASELINE}",
        "lastTimestamp": "2026-11-21T12:00:00Z",
    }
    rig.world.create("events", event, "team-a")
    root = ClusterObject(metadata=ObjectMeta(name="x", namespace="team-a", uid="uid-1"))
    found = [
        warning_about(rig.cluster, (), root, START + timedelta(minutes=passed)) for passed in (0, 1)
    ]
    assert [each.is_final for each in found] == [True, False]
    assert found[0].said == found[1].said
