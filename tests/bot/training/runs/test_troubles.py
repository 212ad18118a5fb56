"""What breaks under runs: nodes, PVCs, quotas of the namespace; said with what to try next."""

import pytest

from bot.slack.grammar.container_parameters import NewVolume, VolumeMount
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.story import claim, storage_class, training_job
from tests.bot.training.cards import card
from tests.bot.training.rig import Rig, settings
from tests.bot.training.runs.test_elastic_forms import manage_pytorch_jobs
from tests.bot.training.submission.test_security import restrict

DATA = VolumeMount("team-a-data", "/data", read_only=False)
DISK = VolumeMount("disk", "/data", read_only=False)
AGAIN = "It restarts automatically, from its last checkpoint, if it wrote one."
STORAGE = "It starts automatically once that works. A storage admin can see why it does not."


def running(rig: Rig) -> str:
    """A run that never ends, on its node."""
    rig.world.behaviours["lane"] = Training(never_ends=True)
    run_id = rig.submit(gpus=8)
    rig.pass_time(seconds=60)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    return run_id


def pod_of(rig: Rig, run_id: str) -> str:
    """The name of its pod."""
    names = [str(each["metadata"]["name"]) for each in rig.world.list("pods", "team-a")]
    return next(name for name in names if name.startswith(rig.get(run_id).job_name))


def obstacle(rig: Rig, run_id: str) -> tuple[str, ...]:
    """What is in its way, and what to try next."""
    run = rig.get(run_id)
    return run.phase, run.obstacle, run.unblock


def disruptions(rig: Rig, run_id: str) -> list[str]:
    """The first lines of what the thread says of pods that had to go."""
    said = rig.notes(run_id).items()
    return [text.splitlines()[0] for purpose, text in said if purpose.startswith("disrupted")]


def test_a_lost_node_is_told_until_it_returns(rig: Rig) -> None:
    run_id = running(rig)
    rig.world.nature.lose_node("gpu-1")
    rig.pass_time(minutes=2)
    assert card(rig, run_id).splitlines()[0].startswith("⚠️ lane · Running")
    assert obstacle(rig, run_id) == (
        RunPhase.RUNNING,
        "Its node gpu-1 does not respond, so it is unknown whether the run is still running.",
        "It continues when the node is back, or starts elsewhere when an admin deletes gpu-1.",
    )
    rig.world.nature.find_node("gpu-1")
    rig.pass_time(minutes=1)
    assert obstacle(rig, run_id) == (RunPhase.RUNNING, "", "")
    assert disruptions(rig, run_id) == []


def test_a_run_leaves_a_node_that_is_deleted(rig: Rig) -> None:
    run_id = running(rig)
    rig.world.nature.lose_node("gpu-1")
    rig.pass_time(minutes=10)
    assert disruptions(rig, run_id) == [
        f"Its node does not respond, so its pod was evicted. {AGAIN}"
    ]
    rig.world.delete("nodes", "gpu-1")
    rig.pass_time(minutes=2)
    assert obstacle(rig, run_id) == (RunPhase.RUNNING, "", "")
    assert len(disruptions(rig, run_id)) == 1


def test_an_evicted_pod_starts_again_by_itself(rig: Rig) -> None:
    run_id = running(rig)
    rig.world.nature.evict("team-a", pod_of(rig, run_id))
    rig.pass_time(minutes=2)
    note = next(text for name, text in rig.notes(run_id).items() if name.startswith("disrupted"))
    assert note.splitlines()[0] == (
        "Its pod was evicted from its node: The node was low on resource: memory. Threshold"
        f" quantity: 100Mi, available: 52Mi. {AGAIN}"
    )
    assert note.splitlines()[1] == "```"
    assert (rig.get(run_id).phase, rig.get(run_id).restarts) == (RunPhase.RUNNING, 0)


def test_a_drained_node_moves_its_run(rig: Rig) -> None:
    run_id = running(rig)
    rig.world.drain("gpu-1")
    rig.pass_time(minutes=2)
    assert disruptions(rig, run_id) == [
        f"Its pod was evicted from its node, as when a node is drained. {AGAIN}"
    ]
    assert rig.get(run_id).phase == RunPhase.RUNNING


def test_the_scheduler_names_whom_it_made_room_for(rig: Rig) -> None:
    rig.world.behaviours["other"] = Training(never_ends=True)
    run_id, other = running(rig), rig.submit("other", gpus=1)
    rig.pass_time(seconds=30)
    by = rig.world.get("pods", pod_of(rig, other), "team-a")
    assert by is not None
    rig.world.nature.preempt("team-a", pod_of(rig, run_id), by["metadata"]["uid"])
    rig.pass_time(minutes=2)
    assert disruptions(rig, run_id) == [f"Its pod was preempted for other of team-a. {AGAIN}"]
    rig.world.nature.preempt("team-a", pod_of(rig, run_id), "01234567-89ab-cdef-0123-456789abcdef")
    rig.pass_time(minutes=2)
    assert disruptions(rig, run_id)[1] == (
        f"Its pod was preempted for a pod with a higher priority. {AGAIN}"
    )


def test_a_preempted_run_names_the_other_run(rig: Rig) -> None:
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=90), "team-b")
    run_id = rig.submit(gpus=4, priority="low")
    rig.pass_time(seconds=60)
    rig.submit("urgent", gpus=4, priority="high")
    rig.pass_time(seconds=30)
    run = rig.get(run_id)
    assert run.phase == RunPhase.PREEMPTED
    assert run.reason.startswith(
        "Its GPUs were needed for a workload of higher priority in the same queue. They went to"
        " urgent of team-a. It is waiting for"
    )


def test_pods_wait_for_the_resource_quota(rig: Rig) -> None:
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}}
    rig.world.create("resourcequotas", quota, "team-a")
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    phase, said, advice = obstacle(rig, run_id)
    assert phase == RunPhase.CREATING
    assert said.startswith(
        "The namespace's ResourceQuota has no capacity for it: Error creating: pods"
    )
    assert said.endswith(
        "is forbidden: exceeded quota: small, requested: requests.nvidia.com/gpu=2, used:"
        " requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=1."
    )
    assert advice == (
        "It starts automatically when others there end, or when an admin raises that quota."
    )
    rig.world.delete("resourcequotas", "small", "team-a")
    rig.pass_time(minutes=1)
    assert obstacle(rig, run_id) == (RunPhase.RUNNING, "", "")


@pytest.mark.parametrize(
    ("operator", "form"),
    [("trainer", "trainjob"), ("training-operator", "pytorchjob"), ("mpi-operator", "mpi")],
)
def test_refused_pods_of_operators_are_told(rig: Rig, operator: str, form: str) -> None:
    rig.policy = settings(admission={"security": "baseline"})
    rig.world.install(operator)
    manage_pytorch_jobs(rig)
    rig.look()
    restrict(rig)
    more = {"kind": "mpi"} if form == "mpi" else {"kind": "elastic", "form": form}
    run_id = rig.submit(gpus=1, nodes=2, **more)
    rig.pass_time(minutes=3)
    run = rig.get(run_id)
    assert run.phase == RunPhase.FAILED
    assert run.reason.startswith("The cluster rejects its pods: ")
    assert 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation' in run.reason


def test_a_run_that_may_not_be_made_waits(rig: Rig) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/jobs.batch": "0"}}}
    rig.world.create("resourcequotas", quota, "team-a")
    run_id = rig.submit()
    rig.pass_time(minutes=2)
    assert rig.get(run_id).trouble.startswith(
        "The namespace's ResourceQuota has no capacity for it: Creating Job lane-"
    )
    rig.world.delete("resourcequotas", "none", "team-a")
    rig.pass_time(minutes=5)
    assert (rig.get(run_id).phase, rig.get(run_id).trouble) == (RunPhase.SUCCEEDED, "")


def test_a_mount_that_fails_is_told(rig: Rig) -> None:
    rig.world.nature.break_mount("team-a-data", "mount.nfs: Connection timed out")
    run_id = rig.submit(pvc=(DATA,))
    rig.pass_time(minutes=1)
    phase, said, advice = obstacle(rig, run_id)
    assert (phase, advice) == (RunPhase.CREATING, STORAGE)
    assert said.startswith("Its volume cannot be mounted: MountVolume.SetUp failed for volume")
    assert said.endswith("mount.nfs: Connection timed out.")
    rig.world.nature.mend_mount("team-a-data")
    rig.pass_time(minutes=1)
    assert obstacle(rig, run_id) == (RunPhase.RUNNING, "", "")


def test_a_volume_on_another_node_is_waited_for(rig: Rig) -> None:
    disk = {**claim("disk"), "spec": {**claim("disk")["spec"], "accessModes": ["ReadWriteOnce"]}}
    rig.world.create("persistentvolumeclaims", disk, "team-a")
    rig.look()
    rig.world.behaviours["first"] = Training(never_ends=True)
    first = rig.submit("first", gpus=8, pvc=(DISK,))
    second = rig.submit("second", gpus=4, pvc=(DISK,))
    rig.pass_time(minutes=2)
    phase, said, advice = obstacle(rig, second)
    assert (rig.get(first).phase, phase) == (RunPhase.RUNNING, RunPhase.CREATING)
    assert said.startswith(
        "Its volume is still attached to another node: Multi-Attach error for volume"
    )
    assert said.endswith(f"Volume is already used by pod(s) {pod_of(rig, first)}.")
    assert advice == (
        "It starts when the pod there ends. Many nodes can mount a ReadWriteMany PVC at once."
    )


def test_a_claim_that_went_is_missed(rig: Rig) -> None:
    theirs = rig.submit("theirs", gpus=4)
    rig.pass_time(seconds=5)
    run_id = rig.submit(gpus=12, pvc=(DATA,))
    rig.pass_time(seconds=5)
    rig.world.delete("persistentvolumeclaims", "team-a-data", "team-a")
    rig.stop(theirs)
    rig.pass_time(minutes=2)
    assert obstacle(rig, run_id) == (
        RunPhase.CREATING,
        "Its PVC team-a-data does not exist.",
        "It starts when a PVC of that name exists. Or stop it and submit it with another PVC.",
    )


def test_a_claim_deleted_under_a_run_is_told(rig: Rig) -> None:
    rig.world.behaviours["lane"] = Training(never_ends=True)
    run_id = rig.submit(pvc=(DATA,))
    rig.pass_time(minutes=1)
    rig.world.delete("persistentvolumeclaims", "team-a-data", "team-a")
    rig.pass_time(minutes=1)
    assert obstacle(rig, run_id) == (
        RunPhase.RUNNING,
        "Its PVC team-a-data was deleted: Kubernetes removes it once no pod uses it.",
        "Copy the data you need from it before this run ends.",
    )


@pytest.mark.parametrize("waits", [False, True])
def test_a_volume_that_cannot_be_made_is_told(rig: Rig, waits: bool) -> None:  # noqa: FBT001 - one of two
    rig.world.create("storageclasses", storage_class("fast", waits=waits))
    rig.world.nature.break_provisioner("fast", "pool aurora is full")
    rig.look()
    run_id = rig.submit(pvc=(NewVolume("fast", "100Gi", "/mnt"),))
    rig.pass_time(minutes=1)
    name = rig.get(run_id).job_name
    assert obstacle(rig, run_id) == (
        RunPhase.CREATING,
        (
            f"No volume can be provisioned for its PVC pvc-{name}-0: failed to provision volume"
            ' with StorageClass "fast": pool aurora is full.'
        ),
        STORAGE,
    )
    rig.world.nature.mend_provisioner("fast")
    rig.pass_time(minutes=1)
    assert obstacle(rig, run_id) == (RunPhase.RUNNING, "", "")
