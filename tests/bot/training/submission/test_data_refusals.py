"""Data that a run cannot have where it asks for it: said when it is submitted."""

from datetime import timedelta

import pytest

from bot.datasets.caches.tables import CachePhase
from bot.slack.grammar.container_parameters import DataMount, VolumeMount
from bot.training.spec import SHM_PATH
from playground.cluster.story import claim, storage_class
from tests.bot.datasets.caches.rows import SIZE
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_data_runs import DATA, cached, held, refusal

WAYS_OUT = (
    "If it does, a platform admin can add the driver to datasets.static_drivers. Otherwise"
    " cache it on another storage class."
)


def test_a_wait_for_data_becomes_late(rig: Rig) -> None:
    cached(rig, phase=CachePhase.FILLING, bytes_done=SIZE * 2 // 5, bytes_per_second=SIZE / 1200)
    run_id = rig.submit(data=DATA)
    rig.pass_time(minutes=1)
    assert not rig.get(run_id).is_late
    rig.outside.clock.moment += timedelta(hours=24)
    rig.pass_time(minutes=5)
    assert rig.get(run_id).is_late
    lines = rig.card(run_id).splitlines()
    assert "Overdue: it has waited for its data for more than a day." in lines
    assert "Waiting for chest-xray@v3: 40 % copied, about 12m left." in lines


@pytest.mark.parametrize(
    ("data", "claim", "inner", "outer"),
    [
        (("/data", "/data/a"), None, "/data/a", "/data"),
        (("/data",), "/data/out/", "/data/out", "/data"),
        (("/work/data",), "/work", "/work/data", "/work"),
        (("/dev",), None, SHM_PATH, "/dev"),
    ],
    ids=["data in data", "claim in data", "data in claim", "shm in data"],
)
def test_nested_paths_are_refused_with_example(
    rig: Rig, data: tuple[str, ...], claim: str | None, inner: str, outer: str
) -> None:
    cached(rig)
    mounts = tuple(DataMount("chest-xray@v3", path) for path in data)
    pvc = (VolumeMount("out", claim, read_only=False),) if claim else ()
    assert refusal(rig, data=mounts, pvc=pvc) == (
        f"{inner} is below {outer}, and data is mounted read-only.",
        "Give each its own path: `--data chest-xray@v3:/data --pvc out:/out`.",
    )


@pytest.mark.parametrize(
    ("provisioner", "is_refused"),
    [
        ("vendor.csi.acme.example", True),
        ("csi.acme.example", True),
        ("csi.trident.netapp.io", False),
        ("k8s-sigs.io/nfs-subdir-external-provisioner", False),
    ],
)
def test_a_class_for_one_namespace_is_refused(
    rig: Rig, provisioner: str, *, is_refused: bool
) -> None:
    rig.world.create("storageclasses", storage_class("fast") | {"provisioner": provisioner})
    rig.look()
    cached(rig, storage_class="fast", phase=CachePhase.FILLING)
    if not is_refused:
        rig.submit(data=DATA)
        return
    assert refusal(rig, data=DATA) == (
        (
            "Namespace team-a cannot mount chest-xray@v3. Volumes of storage class fast are"
            f" from driver {provisioner}, which is not known to let several namespaces mount one"
            " volume."
        ),
        WAYS_OUT,
    )
    assert held(rig) == []


def test_a_volume_for_one_namespace_is_refused(rig: Rig) -> None:
    rig.world.create("persistentvolumeclaims", claim("other"), "team-b")
    rig.world.settle()
    made = rig.world.get("persistentvolumeclaims", "other", "team-b") or {}
    rig.look()
    cached(rig, volume_name=made["spec"]["volumeName"])
    message, hint = refusal(rig, data=DATA)
    assert message == (
        "Namespace team-a cannot mount chest-xray@v3. It is on a volume of driver"
        " csi.playground, which is"
        " not known to let several namespaces mount one volume."
    )
    assert hint == WAYS_OUT


def test_datasets_namespace_needs_no_sharing(rig: Rig) -> None:
    rig.world.create("storageclasses", storage_class("fast") | {"provisioner": "a.csi.b"})
    rig.look()
    cached(rig, storage_class="fast", namespace="team-a")
    rig.submit(data=DATA)
