"""What to do next with a run: one table."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.types.objects import Pod
from bot.reconcile.decisions import Create, Wait
from bot.training.failures import Failure, failure_row
from bot.training.kinds.kubeflow import KubeflowJob
from bot.training.kinds.mpi import MPI_JOB
from bot.training.kinds.status import Root
from bot.training.runs.decide import (
    Await,
    Decision,
    Delete,
    End,
    Prepare,
    RunObserved,
    UpdateStatus,
    decide,
    is_late,
    vanished,
)
from bot.training.state import State
from bot.training.tables import Run, RunIntent, RunPhase
from tests.bot.ground import START
from tests.bot.training.objects import (
    UID,
    admission,
    condition,
    later,
    pod,
    root,
    run,
    stamp,
    stamped,
)

MADE = {"job_uid": UID, "made_at": START, "phase": RunPhase.PENDING}
STOP = {"wanted": RunIntent.STOP, "stop_at": START, "stop_why": "Its override has ended."}
LEAVING: dict[str, Any] = {"metadata": {"deletionTimestamp": stamp(later(seconds=30))}}
OVER = {"ended_at": later(minutes=1), "phase": RunPhase.STOPPED}
UNMANAGED = "Kueue did not start to manage the Job."
TAKEN = (
    "Namespace team-a already has a Job lane-124a67dc90 that Quartermaster"
    " did not create. It was not changed."
)
GAVE_UP = condition("Evicted", "DeactivatedDueToRequeuingLimitExceeded")


@pytest.mark.parametrize(
    ("row", "seen", "expected"),
    [
        (run(), RunObserved(None), Create()),
        (
            run(**STOP),
            RunObserved(None),
            End(State(RunPhase.STOPPED, reason="Its override has ended.")),
        ),
        (run(), RunObserved(None, is_taken=True), End(State(RunPhase.FAILED, reason=TAKEN))),
        (run(**MADE), RunObserved(None), End(State(RunPhase.VANISHED, reason=vanished(run())))),
        (
            run(),
            RunObserved(root(suspend=True), admission()),
            UpdateStatus(State(RunPhase.PENDING)),
        ),
        (
            run(**MADE),
            RunObserved(root(suspend=True), unmanaged=UNMANAGED),
            Prepare(RunPhase.UNMANAGED, UNMANAGED),
        ),
        (
            run(**MADE, workload="job-lane"),
            RunObserved(root(suspend=True), unmanaged=UNMANAGED),
            UpdateStatus(State(RunPhase.PENDING)),
        ),
        (
            run(**MADE, **STOP),
            RunObserved(root(), admission(condition("Admitted")), (pod(),)),
            Prepare(RunPhase.STOPPED, "Its override has ended."),
        ),
        (
            run(**MADE, **STOP),
            RunObserved(root(condition("Complete"))),
            End(State(RunPhase.SUCCEEDED, ended_at=stamped(minutes=5))),
        ),
        (
            run(**MADE),
            RunObserved(root(suspend=True), admission(GAVE_UP, active=False)),
            Prepare(RunPhase.FAILED, "Kueue gave up after too many attempts to start it."),
        ),
        (run(**MADE, removing=RunPhase.STOPPED), RunObserved(root()), Delete()),
        (run(**MADE, removing=RunPhase.STOPPED), RunObserved(root(**LEAVING)), Await()),
        (run(**MADE, removing=RunPhase.STOPPED), RunObserved(None, pods=(pod(),)), Await()),
        (
            run(**MADE, removing=RunPhase.UNMANAGED, reason="Kueue did not."),
            RunObserved(None, pods=(pod("Failed", ended={}),)),
            End(State(RunPhase.UNMANAGED, reason="Kueue did not.")),
        ),
        (run(**OVER), RunObserved(None), Wait()),
        (run(**OVER, job_uid=UID), RunObserved(root()), Wait()),
        (run(**OVER), RunObserved(root(suspend=True)), Delete()),
        (run(**OVER), RunObserved(root(**LEAVING)), Wait()),
    ],
)
def test_each_situation_has_its_next_step(row: Run, seen: RunObserved, expected: Decision) -> None:
    assert decide(row, seen, later(seconds=30)) == expected


def test_kueue_has_thirty_seconds_to_manage() -> None:
    missing = RunObserved(root(suspend=True), unmanaged=UNMANAGED)
    assert decide(run(**MADE), missing, later(seconds=29)) == UpdateStatus(State(RunPhase.PENDING))


@pytest.mark.parametrize(
    ("row", "moment"),
    [
        (run(), later(minutes=2)),
        (run(phase=RunPhase.PENDING), later(hours=24)),
        (run(phase=RunPhase.CREATING), later(minutes=15)),
        (run(phase=RunPhase.RUNNING, **STOP), later(minutes=5)),
        (
            run(
                phase=RunPhase.RUNNING,
                started_at=START,
                spec={"time_limit_seconds": 3600},
            ),
            later(hours=1, minutes=10),
        ),
    ],
)
def test_every_phase_has_a_longest_age(row: Run, moment: datetime) -> None:
    assert [is_late(row, moment - later(seconds=1) + START), is_late(row, moment)] == [False, True]


def test_a_run_without_limit_is_never_late() -> None:
    assert not is_late(run(phase=RunPhase.RUNNING, started_at=START), later(days=400))


PATIENT: dict[str, Any] = {"metadata": {"annotations": {"quartermaster.dev/attempts": "1"}}}
HOUR = {"spec": {"time_limit_seconds": 3600}, "phase": RunPhase.RUNNING, "started_at": START}
BUSY: dict[str, Any] = {"status": {"active": 1, "ready": 1, "startTime": stamp(START)}}


def failed(name: str, **more: Any) -> Pod:
    return pod("Failed", name, ended={"exitCode": 3}, **more)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ((failed("lane-1"), pod(name="lane-2")), None),
        ((failed("lane-1", is_leaving=True), failed("lane-2"), pod(name="lane-3")), None),
        (
            (failed("lane-1"), failed("lane-2")),
            Prepare(
                RunPhase.FAILED,
                "Its program ended with exit code 3. This was attempt 2.",
                (
                    "Its last lines show what went wrong. Resubmit starts it again once that is"
                    " fixed."
                ),
            ),
        ),
    ],
    ids=["one-failure", "pushed-out", "two-failures"],
)
def test_failures_count_where_evictions_look_like_them(
    pods: tuple[Pod, ...], expected: Decision | None
) -> None:
    row, moment = run(**MADE | {"phase": RunPhase.RUNNING}), later(seconds=30)
    found = decide(
        row, RunObserved(root(**PATIENT), admission(condition("Admitted")), pods), moment
    )
    assert found == expected or (expected is None and isinstance(found, UpdateStatus))
    usual = decide(row, RunObserved(root(), admission(condition("Admitted")), pods), moment)
    assert isinstance(usual, UpdateStatus)


@pytest.mark.parametrize(
    ("more", "moment", "expected"),
    [
        ({}, later(minutes=59), UpdateStatus),
        ({}, later(minutes=60), Prepare),
        ({"activeDeadlineSeconds": 3600}, later(minutes=60), UpdateStatus),
    ],
    ids=["in-time", "over-time", "limit-of-the-job"],
)
def test_time_limits_are_kept_for_jobs_without(
    more: dict[str, Any], moment: datetime, expected: type[Decision]
) -> None:
    found = decide(
        run(**MADE | HOUR),
        RunObserved(root(**BUSY, **more), admission(condition("Admitted")), (pod(),)),
        moment,
    )
    assert isinstance(found, expected)
    if isinstance(found, Prepare):
        longer = "Submit it with a longer `--time` to continue from its last checkpoint."
        assert found == Prepare(RunPhase.FAILED, "It reached its time limit of 1h.", longer)


def mpi_job() -> Root:
    """An MPIJob that may run."""
    body = {"metadata": {"name": "lane-124a67dc90", "namespace": "team-a", "uid": UID}}
    return MPI_JOB.read(decode(msgspec.json.encode(body), KubeflowJob, "Reading"))


@pytest.mark.parametrize(
    ("pods", "outcome"),
    [
        # The operator makes the launcher once all workers are ready, and no worker anew.
        (("Failed", "Running"), RunPhase.FAILED),
        (("Running", "Running"), None),
        (("Failed", "Running", "launcher"), None),
    ],
)
def test_a_run_that_never_launches_ends(pods: tuple[str, ...], outcome: RunPhase | None) -> None:
    row = run(**MADE, spec=run().spec | {"kind": "mpi", "nodes": 2})
    workers = [
        pod(
            phase,
            f"worker-{index}",
            labels={"training.kubeflow.org/replica-index": str(index)},
            **({"ended": {"exitCode": 127}} if phase == "Failed" else {}),
        )
        for index, phase in enumerate(pods[:2])
    ]
    launchers = [pod(name=each, labels={"quartermaster.dev/role": each}) for each in pods[2:]]
    admitted = admission(condition("Admitted"))
    decision = decide(
        row, RunObserved(mpi_job(), admitted, (*workers, *launchers)), later(minutes=2)
    )
    assert (decision.outcome if isinstance(decision, Prepare) else None) == outcome
    if isinstance(decision, Prepare):
        said = "Its program ended with exit code 127. It happened in worker 0."
        assert decision.reason == said


def test_a_failure_before_preemption_ends_nothing() -> None:
    died = Failure("uid-old 1", "worker 0", START, "Its program ended with exit code 127.")
    row = run(**MADE, spec=run().spec | {"kind": "mpi", "nodes": 2}, failure=failure_row(died))
    decision = decide(
        row, RunObserved(mpi_job(), admission(condition("Admitted"))), later(minutes=2)
    )
    assert isinstance(decision, UpdateStatus)
    assert decision.state.phase == RunPhase.CREATING
