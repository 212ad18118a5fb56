"""What a cluster's policies forbid ends a run in their words; what may pass is tried again."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from bot.cluster.types.objects import ClusterObject, ObjectMeta
from bot.reconcile.due import Due
from bot.training.runs.troubles import warning_about
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.objects.errors import not_found
from playground.cluster.objects.kinds import NAMESPACE
from tests.bot.ground import DENIAL, START
from tests.bot.training.objects import stamp
from tests.bot.training.rig import Rig
from tests.bot.training.submission.test_names import full

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
    assert (run.phase, run.unblock, run.trouble) == (RunPhase.FAILED, ADVICE, "")
    assert run.reason.startswith(f"Creating Job {run.job_name} in namespace team-a on cluster")
    assert end in run.reason
    assert rig.effects().count("create jobs") == 1
    assert ADVICE in rig.card(run_id)


def test_a_policy_on_a_companion_ends_it(rig: Rig) -> None:
    rig.deny("services", 'services "{name}" is forbidden: LimitRange says no')
    run_id = rig.submit(kind="sync", nodes=2)
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock) == (RunPhase.FAILED, ADVICE)
    assert run.reason.endswith("LimitRange says no.")
    assert rig.world.list("jobs", "team-a") == []


def test_a_missing_right_is_told_and_waited_for(rig: Rig) -> None:
    rig.world.forbid("create", "jobs")
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    run = rig.get(run_id)
    assert run.phase == RunPhase.ASKED
    assert run.trouble.endswith(
        "The bot lacks a right in the cluster; `quartermaster doctor` lists the rights it needs."
    )
    rig.world.allow("create", "jobs")
    rig.pass_time(minutes=10)  # the next attempt may be 5 minutes away
    assert (rig.get(run_id).phase, rig.get(run_id).trouble) == (RunPhase.SUCCEEDED, "")


def test_a_server_that_just_began_is_asked_again(rig: Rig) -> None:
    allow = rig.deny("jobs", 'jobs.batch "{name}" is forbidden: not yet ready to handle request')
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    allow()
    rig.pass_time(minutes=6)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


PODS = [
    {},
    {"kind": "sync", "nodes": 2},
    {"kind": "mpi", "nodes": 2},
    {"kind": "elastic", "form": "pytorchjob", "nodes": 2},
]
BASELINE = 'pods "{name}" is forbidden: violates PodSecurity "restricted:latest": privileged'


@pytest.mark.parametrize("options", PODS, ids=str)
def test_pods_that_are_refused_end_the_run(full: Rig, options: dict[str, Any]) -> None:
    full.deny("pods", BASELINE)
    run_id = full.submit(gpus=1, **options)
    full.pass_time(minutes=5)
    run = full.get(run_id)
    assert run.phase == RunPhase.FAILED
    assert run.reason.startswith("The cluster rejects its pods: ")
    assert run.reason.endswith('violates PodSecurity "restricted:latest": privileged.')
    assert not any(full.world.list(kind, "team-a") for kind in ("jobs", "mpijobs", "pytorchjobs"))


def test_pods_that_soon_may_be_start(rig: Rig) -> None:
    allow = rig.deny("pods", 'pods "{name}" is forbidden: not yet ready to handle request')
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase not in {RunPhase.FAILED, RunPhase.RUNNING}
    allow()
    rig.pass_time(minutes=12)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_a_denial_of_old_ends_nothing(rig: Rig) -> None:
    event = {
        "metadata": {"name": "old"},
        "involvedObject": {"kind": "Job", "namespace": "team-a", "name": "x", "uid": "uid-1"},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": f"Error creating: {BASELINE}",
        "lastTimestamp": stamp(START),
    }
    rig.world.create("events", event, "team-a")
    root = ClusterObject(metadata=ObjectMeta(name="x", namespace="team-a", uid="uid-1"))
    found = [
        warning_about(rig.cluster, (), root, START + timedelta(minutes=passed)) for passed in (0, 1)
    ]
    assert [each.is_final for each in found] == [True, False]
    assert found[0].said == found[1].said


LET_GO = "A platform admin must allow Quartermaster to delete it, or delete it by hand. Retrying."


def test_a_denied_deletion_is_told_and_tried(rig: Rig) -> None:
    rig.world.behaviours["lane"] = Training(never_ends=True)
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    allow = rig.deny_deletion("jobs")
    rig.stop(run_id)
    rig.pass_time(minutes=30)
    run = rig.get(run_id)
    assert run.is_live
    assert run.trouble.startswith(f"Deleting Job {run.job_name} in namespace team-a on cluster")
    assert DENIAL in run.trouble
    assert LET_GO in rig.card(run_id)
    # 9 in the first 4 minutes at most, and then one every 2.5 to 5 minutes.
    assert 4 < rig.effects().count("delete jobs") <= 9 + 11
    allow()
    rig.pass_time(minutes=10)
    assert (rig.get(run_id).phase, rig.get(run_id).trouble) == (RunPhase.STOPPED, "")


def test_what_may_not_be_cleared_is_told(rig: Rig) -> None:
    allow = rig.deny_deletion("services")
    run_id = rig.submit(kind="sync", nodes=2)
    rig.pass_time(minutes=30)
    run = rig.get(run_id)
    assert run.phase == RunPhase.SUCCEEDED
    assert run.trouble.startswith("Deleting Service hosts-")
    assert LET_GO in rig.card(run_id)
    allow()
    rig.pass_time(minutes=10)
    assert rig.get(run_id).trouble == ""
    assert "Deleting Service" not in rig.card(run_id)


@pytest.mark.parametrize("options", [{}, {"kind": "sync", "nodes": 2}], ids=str)
def test_a_missing_namespace_ends_the_run(rig: Rig, options: dict[str, Any]) -> None:
    def missing(kind: Any, _obj: Any, old: Any) -> None:
        if kind.plural == "jobs" and old is None:
            raise not_found(NAMESPACE, "team-a")

    run_id = rig.submit(**options)
    rig.world.inside.operations.admissions.append(missing)
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock, run.trouble) == (RunPhase.FAILED, NO_NAMESPACE, "")
    assert run.reason.endswith('404 NotFound: namespaces "team-a" not found.')
    assert rig.effects().count("create jobs") == 1


@pytest.mark.parametrize("options", PODS, ids=str)
def test_a_namespace_that_goes_ends_runs(full: Rig, options: dict[str, Any]) -> None:
    full.world.behaviours["lane"] = Training(never_ends=True)
    run_id = full.submit(gpus=1, **options)
    full.pass_time(minutes=2)
    assert full.get(run_id).phase == RunPhase.RUNNING
    full.world.delete("namespaces", "team-a")
    full.pass_time(minutes=10)
    run = full.get(run_id)
    assert (run.phase, run.trouble) == (RunPhase.VANISHED, "")
    assert due_rows(full, run_id) == [None]


def test_a_leaving_namespace_ends_the_run(rig: Rig) -> None:
    rig.deny("jobs", LEAVING)
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock) == (RunPhase.FAILED, NO_NAMESPACE)
    assert "because it is being terminated" in run.reason


LEAVING = (
    'jobs.batch "{name}" is forbidden: unable to create new content in namespace team-a because'
    " it is being terminated"
)
NO_NAMESPACE = (
    "A platform admin must create that namespace, or set another one in quartermaster.yaml; then"
    " submit it again."
)


def named(obj: dict[str, Any]) -> str:
    """The name of an object."""
    return str(obj["metadata"]["name"])


def due_rows(rig: Rig, run_id: str) -> list[object]:
    """What is still to be done about a run."""
    return list(rig.do(lambda s: s.scalars(select(Due.due_at).where(col(Due.id) == run_id)).all()))
