"""PVCs of runs: made when asked for, kept when the run has ended, refused when they cannot be."""

from typing import Any

import pytest

from bot.config import ClusterSettings
from bot.errors import QuartermasterError
from bot.slack.grammar.container_parameters import NewVolume, VolumeMount
from bot.training.tables import RunPhase
from playground.cluster.story import claim, storage_class
from playground.ledger import Fault
from tests.bot.training.rig import Rig

NEW = NewVolume("standard", "100Gi", "/mnt")
MAKE, DELETE = "create persistentvolumeclaims", "delete persistentvolumeclaims"


def made(rig: Rig, run_id: str) -> Any:
    """The PVC that was made for a run."""
    name = f"pvc-{rig.get(run_id).job_name}-0"
    return rig.world.get("persistentvolumeclaims", name, "team-a")


def test_a_new_volume_outlives_its_run(rig: Rig) -> None:
    run_id = rig.submit(pvc=(NEW,))
    rig.pass_time(minutes=5)
    name = rig.get(run_id).job_name
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert rig.effects() == [MAKE, "create jobs"]
    assert made(rig, run_id)["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "ownerReferences" not in made(rig, run_id)["metadata"]
    pod = rig.job(run_id)["spec"]["template"]["spec"]
    assert pod["volumes"][1]["persistentVolumeClaim"] == {"claimName": f"pvc-{name}-0"}
    assert f"New PVC    `pvc-{name}-0` at /mnt, 100Gi of standard, kept after the run" in rig.card(
        run_id
    )


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_makes_one_volume(rig: Rig, fault: Fault) -> None:
    rig.outside.ledger.by_name[MAKE] = [fault]
    run_id = rig.submit(pvc=(NEW,))
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert len([each for each in rig.effects() if each == "create jobs"]) == 1


def test_a_volume_without_a_run_goes(rig: Rig) -> None:
    run_id = rig.submit(pvc=(NEW,))
    rig.controller.step(run_id)
    assert made(rig, run_id) is not None
    rig.stop(run_id)
    rig.pass_time(seconds=30)
    assert (made(rig, run_id), rig.get(run_id).phase) == (None, RunPhase.STOPPED)
    assert rig.effects() == [MAKE, DELETE]


def test_a_stopped_run_keeps_its_volume(rig: Rig) -> None:
    run_id = rig.submit(pvc=(NEW,))
    rig.pass_time(seconds=45)
    rig.stop(run_id)
    rig.pass_time(minutes=2)
    assert (rig.job(run_id), rig.get(run_id).phase) == (None, RunPhase.STOPPED)
    assert made(rig, run_id) is not None


def test_a_volume_of_somebody_else_stays_theirs(rig: Rig) -> None:
    run_id = rig.submit(pvc=(NEW,))
    name = f"pvc-{rig.get(run_id).job_name}-0"
    rig.world.create("persistentvolumeclaims", claim(name), "team-a")
    rig.pass_time(seconds=30)
    assert rig.card(run_id).splitlines()[:2] == [
        "❌ lane · Failed",
        (
            f"Namespace team-a already has a PersistentVolumeClaim {name} that Quartermaster"
            " did not create. It was not changed."
        ),
    ]
    assert (made(rig, run_id) is not None, rig.effects()) == (True, [])


def test_a_run_started_again_finds_its_volume(rig: Rig) -> None:
    first = rig.submit(pvc=(NEW,))
    rig.pass_time(minutes=5)
    second = rig.resubmit("lane")
    rig.pass_time(minutes=5)
    mounted = f"pvc-{rig.get(first).job_name}-0"
    assert rig.get(second).phase == RunPhase.SUCCEEDED
    assert (rig.get(second).spec["mounts"], rig.get(second).spec["volumes"]) == (
        [[mounted, "/mnt", False]],
        [],
    )
    assert rig.effects() == [MAKE, "create jobs", "create jobs"]


def test_disks_are_made_for_one_node(rig: Rig) -> None:
    disk = storage_class("disk") | {"provisioner": "ebs.csi.aws.com"}
    rig.world.create("storageclasses", disk)
    rig.look()
    run_id = rig.submit(pvc=(NewVolume("disk", "1Ti", "/mnt"),))
    rig.pass_time(minutes=5)
    assert made(rig, run_id)["spec"]["accessModes"] == ["ReadWriteOnce"]


@pytest.mark.parametrize("mode", ["ReadWriteMany", "ReadWriteOncePod"])
def test_what_a_class_can_may_be_set(rig: Rig, mode: str) -> None:
    disk = storage_class("disk") | {"provisioner": "ebs.csi.aws.com"}
    rig.world.create("storageclasses", disk)
    rig.look()
    clusters = {"default": ClusterSettings.model_validate({"access_modes": {"disk": mode}})}
    rig.policy = rig.policy.model_copy(update={"clusters": clusters})
    run_id = rig.submit(pvc=(NewVolume("disk", "1Ti", "/mnt"),))
    assert rig.get(run_id).spec["volumes"][0]["access_mode"] == mode


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (
            VolumeMount("none", "/data", read_only=True),
            "Namespace team-a has no PVC none.",
            "It has: imagenet, team-a-data.",
        ),
        (
            NewVolume("fast", "100Gi", "/mnt"),
            "The cluster has no storage class fast.",
            "It has: standard.",
        ),
    ],
)
def test_what_is_not_there_is_refused(
    rig: Rig, asked: VolumeMount | NewVolume, message: str, hint: str
) -> None:
    with pytest.raises(QuartermasterError) as refused:
        rig.submit(pvc=(asked,))
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_a_disk_in_use_is_refused_elsewhere(rig: Rig) -> None:
    disk = claim("disk")
    disk["spec"]["accessModes"] = ["ReadWriteOnce"]
    rig.world.create("persistentvolumeclaims", disk, "team-a")
    rig.pass_time(seconds=30)
    first = rig.submit(pvc=(VolumeMount("disk", "/data", read_only=False),))
    rig.pass_time(seconds=45)
    assert rig.get(first).phase == RunPhase.RUNNING
    with pytest.raises(QuartermasterError) as refused:
        rig.submit("eval", pvc=(VolumeMount("disk", "/data", read_only=True),))
    assert refused.value.message == (
        "PVC disk is ReadWriteOnce, so only one node at a time can mount it, and run lane uses it"
        " on node gpu-1."
    )
    assert refused.value.hint == (
        "Use a ReadWriteMany PVC: `--pvc standard:100Gi:/data` creates one. Or copy the data"
        " into one, from a snapshot or with a run that mounts both. Or wait until lane ends."
    )
