"""PVCs that one run creates and the next one mounts, named before they exist."""

import pytest

from bot.cluster.resources import PVCS
from bot.config import ClusterSettings
from bot.errors import ConflictError, NotFoundError
from bot.slack.grammar.container_parameters import NewVolume, VolumeMount
from bot.slack.grammar.parameters import RunEndReference
from bot.training.tables import RunPhase
from tests.bot.training.rig import Rig

AFTER = (RunEndReference().read("prep"),)
MADE = (NewVolume("standard", "100Gi", "/mnt"),)


def prepares(rig: Rig) -> str:
    """Alice submits a run for which a PVC is created; the PVC's name."""
    run_id = rig.submit("prep", pvc=MADE, gpus=1)
    return f"pvc-{rig.get(run_id).job_name}-0"


def makes_disks(rig: Rig) -> None:
    """Volumes of the class can be mounted by one node at a time."""
    modes = {"access_modes": {"standard": "ReadWriteOnce"}}
    clusters = {"default": ClusterSettings.model_validate(modes)}
    rig.policy = rig.policy.model_copy(update={"clusters": clusters})


def mounted(name: str) -> tuple[VolumeMount, ...]:
    return (VolumeMount(name, "/data", read_only=True),)


def test_a_pvc_is_named_before_it_exists(rig: Rig) -> None:
    name = prepares(rig)
    assert rig.cluster.view.get(PVCS, name, "team-a") is None
    run_id = rig.submit("train", pvc=mounted(name), after=AFTER)
    rig.pass_time(minutes=20)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    pod = rig.job(run_id)["spec"]["template"]["spec"]
    claims = [each.get("persistentVolumeClaim", {}).get("claimName") for each in pod["volumes"]]
    assert name in claims


def test_a_later_run_of_a_chain_mounts_it(rig: Rig) -> None:
    name = prepares(rig)
    rig.submit("train", after=AFTER)
    run_id = rig.submit("eval", pvc=mounted(name), after=(RunEndReference().read("train"),))
    rig.pass_time(minutes=30)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_a_run_that_waits_not_cannot_name_it(rig: Rig) -> None:
    name = prepares(rig)
    with pytest.raises(NotFoundError) as caught:
        rig.submit("train", pvc=mounted(name))
    assert caught.value.message == f"Namespace team-a has no PVC {name}."


def test_a_disk_of_the_run_before_is_free(rig: Rig) -> None:
    makes_disks(rig)
    name = prepares(rig)
    rig.pass_time(minutes=1)
    with pytest.raises(ConflictError) as caught:
        rig.submit("other", pvc=mounted(name))
    assert "run prep uses it on node" in caught.value.message
    run_id = rig.submit("train", pvc=mounted(name), after=AFTER)
    rig.pass_time(minutes=20)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_several_nodes_cannot_share_a_disk_to_come(rig: Rig) -> None:
    makes_disks(rig)
    name = prepares(rig)
    with pytest.raises(ConflictError) as caught:
        rig.submit("train", pvc=mounted(name), after=AFTER, kind="sync", nodes=2, gpus=1)
    assert caught.value.message == (
        "Volumes of storage class standard can be mounted by one node at a time, but this run uses"
        " 2 nodes."
    )
