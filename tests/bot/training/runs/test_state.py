"""A Job, its Workload and its pods as one state."""

import pytest

from bot.cluster.types.objects import Pod
from bot.quotas.engines.admission import AdmissionState
from bot.training.kinds.status import Root
from bot.training.state import State, state_of
from bot.training.tables import RunPhase
from tests.bot.training.objects import admission, condition, pod, root, stamped

ADMITTED = condition("Admitted")
EVICTED = condition("Evicted", "Preempted", "Preempted to accommodate a workload")
NO_IMAGE = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "lane:3.1"'}
UNSCHEDULED = condition("PodScheduled", "Unschedulable", "0/2 nodes are available", "False")
FAILED = condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ((root(suspend=True), None, ()), State(RunPhase.PENDING)),
        ((root(suspend=True), admission(), ()), State(RunPhase.PENDING)),
        (
            (root(suspend=True), admission(active=False), ()),
            State(RunPhase.PENDING, reason="It is on hold: its Workload was deactivated."),
        ),
        (
            (root(suspend=True), admission(EVICTED, condition("Preempted", "InClusterQueue")), ()),
            State(
                RunPhase.PREEMPTED,
                reason="Its GPUs were needed for a workload of higher priority in the same queue.",
                since=stamped(minutes=5),
            ),
        ),
        (
            (root(suspend=True), admission(condition("Evicted", "NodeFailures", "node gone")), ()),
            State(RunPhase.PENDING, reason="It was requeued: node gone."),
        ),
        ((root(), admission(ADMITTED), ()), State(RunPhase.CREATING, since=stamped(minutes=5))),
        (
            (root(), admission(ADMITTED), (pod("Pending", waiting={"reason": "PodInitializing"}),)),
            State(RunPhase.CREATING, since=stamped(minutes=5)),
        ),
        (
            (root(), admission(ADMITTED), (pod(),)),
            State(RunPhase.RUNNING, since=stamped(), started_at=stamped()),
        ),
        (
            (root(), admission(ADMITTED), (pod("Succeeded", ended={}),)),
            State(RunPhase.RUNNING, started_at=stamped()),
        ),
        (
            (root(), admission(ADMITTED), (pod("Failed", ended={"exitCode": 3}),)),
            State(RunPhase.CREATING, since=stamped(minutes=5)),
        ),
        (
            (root(condition("Complete")), admission(EVICTED), (pod("Succeeded", ended={}),)),
            State(RunPhase.SUCCEEDED, started_at=stamped(), ended_at=stamped(minutes=5)),
        ),
    ],
)
def test_objects_together_make_one_state(
    seen: tuple[Root, AdmissionState | None, tuple[Pod, ...]], expected: State
) -> None:
    found, waiting, pods = seen
    assert state_of(found.status, waiting, pods) == expected


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            pod("Pending", waiting=NO_IMAGE),
            'Its image cannot be pulled: Back-off pulling image "lane:3.1".',
        ),
        (
            pod(
                "Pending",
                waiting={
                    "reason": "CreateContainerConfigError",
                    "message": 'secret "wandb" not found',
                },
            ),
            'Its container cannot be configured: secret "wandb" not found.',
        ),
        (
            pod("Pending", conditions=[UNSCHEDULED]),
            "No node can run its pod: 0/2 nodes are available.",
        ),
        (pod("Pending", conditions=[UNSCHEDULED], is_leaving=True), ""),
    ],
)
def test_a_pod_that_is_stuck_says_why(found: Pod, sentence: str) -> None:
    assert state_of(root().status, admission(ADMITTED), (found,)).obstacle == sentence


@pytest.mark.parametrize(
    ("seen", "sentence"),
    [
        (
            (root(FAILED), (pod("Failed", ended={"exitCode": 3}),)),
            "Its program ended with exit code 3.",
        ),
        (
            (root(FAILED, status={"failed": 3}), (pod("Failed", ended={"exitCode": 3}),)),
            "Its program ended with exit code 3. This was attempt 3.",
        ),
        (
            (root(FAILED), (pod("Failed", ended={"exitCode": 137, "reason": "OOMKilled"}),)),
            "Its program used more memory than its limit and was killed (OOMKilled).",
        ),
        (
            (root(FAILED), ()),
            "The cluster reports: Job has reached the specified backoff limit.",
        ),
        (
            (root(condition("Failed", "DeadlineExceeded"), activeDeadlineSeconds=7200), ()),
            "It reached its time limit of 2h.",
        ),
    ],
)
def test_a_failure_is_told_in_a_sentence(seen: tuple[Root, tuple[Pod, ...]], sentence: str) -> None:
    failed, pods = seen
    assert state_of(failed.status, admission(ADMITTED), pods).reason == sentence


def test_kueue_giving_up_is_a_failure() -> None:
    gave_up = condition("Evicted", "DeactivatedDueToRequeuingLimitExceeded")
    assert state_of(root(suspend=True).status, admission(gave_up, active=False), ()) == State(
        RunPhase.FAILED,
        reason="Kueue gave up after too many attempts to start it.",
        is_unfinished=True,
    )


@pytest.mark.parametrize(
    ("found", "said", "advice"),
    [
        (
            pod("Failed", ended={"exitCode": 137, "reason": "OOMKilled"}),
            "Its program used more memory than its limit and was killed (OOMKilled).",
            "Submit it with more `--memory`, or with smaller batches.",
        ),
        (
            pod("Failed", ended={"exitCode": 137}),
            "Its program ended with exit code 137.",
            (
                "It was killed, most often for lack of memory. Submit it with more `--memory`, or"
                " with smaller batches."
            ),
        ),
        (
            pod("Failed", ended={"exitCode": 139, "signal": 11}),
            "Its program was terminated by signal 11.",
            "The program itself crashed. Its last lines, or another version of it, may help.",
        ),
        (
            pod("Failed", ended={"exitCode": 127}),
            "Its program ended with exit code 127.",
            "A command was not found or could not run. Check the command after `--` and the image.",
        ),
        (
            pod("Failed", ended={"exitCode": 128, "reason": "StartError", "message": "no file"}),
            "Its program could not be started: no file.",
            "Check the command after `--`, and that the image has that program.",
        ),
        (
            pod("Failed", ended={"exitCode": 3}),
            "Its program ended with exit code 3.",
            "Its last lines show what went wrong. Resubmit starts it again once that is fixed.",
        ),
        (pod("Failed"), "Its pod failed: reason unknown.", "Resubmit starts it again."),
    ],
)
def test_every_failure_has_something_to_try(found: Pod, said: str, advice: str) -> None:
    state = state_of(root(FAILED).status, admission(ADMITTED), (found,))
    assert (state.reason, state.advice) == (said, advice)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            '0/2 nodes are available: persistentvolumeclaim "data" is being deleted.',
            "Its PVC data is being deleted.",
        ),
        (
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv-1"',
            "Its PVC data has lost its volume.",
        ),
        (
            "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            "One of its PVCs has lost its volume.",
        ),
        (
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            (
                "Its PVC has no volume yet: 0/2 nodes are available: pod has unbound immediate"
                " PersistentVolumeClaims."
            ),
        ),
    ],
)
def test_a_claim_in_the_way_is_named(message: str, sentence: str) -> None:
    stuck = pod(
        "Pending", conditions=[condition("PodScheduled", "Unschedulable", message, "False")]
    )
    assert state_of(root().status, admission(ADMITTED), (stuck,)).obstacle == sentence
