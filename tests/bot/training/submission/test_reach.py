"""Volumes of one zone, and the zones of the nodes that a run may be on."""

import pytest

from bot.cluster.types.claims import Requirement
from bot.errors import ConflictError
from bot.slack.grammar.container_parameters import DataMount, NewVolume, VolumeMount
from bot.training.tables import RunPhase
from playground.cluster.objects.kinds import Object
from playground.cluster.story import claim, storage_class
from playground.cluster.two_types import add_second_type
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.training.rig import Rig

ZONE = "topology.kubernetes.io/zone"
COPY = "Use a PVC that can be reached from there: copy the data into one from a snapshot."
DATA = VolumeMount("data", "/data", read_only=True)


@pytest.fixture
def zones(rig: Rig) -> Rig:
    """Two H100 nodes in two zones, and an A100 node in a third."""
    add_second_type(rig.world, {"team-a": "4"})
    for node, zone in (("gpu-1", "eu-1a"), ("gpu-2", "eu-1b"), ("gpu-a100", "eu-1c")):
        rig.world.patch("nodes", node, {"metadata": {"labels": {ZONE: zone}}})
    rig.look()
    return rig


def bound(rig: Rig, name: str, *terms: Object) -> None:
    """A PVC with a volume that nodes can reach which meet one of these terms."""
    rig.world.create("persistentvolumeclaims", claim(name), "team-a")
    rig.world.settle()
    made = rig.world.get("persistentvolumeclaims", name, "team-a") or {}
    required = {"nodeSelectorTerms": [{"matchExpressions": [each]} for each in terms]}
    affinity = {"spec": {"nodeAffinity": {"required": required}}}
    rig.world.patch("persistentvolumes", made["spec"]["volumeName"], affinity)
    rig.look()


def within(*zones: str) -> Object:
    return {"key": ZONE, "operator": "In", "values": list(zones)}


def refusal(
    rig: Rig, *mounts: VolumeMount | NewVolume, gpu_type: str | None = None
) -> tuple[str, str]:
    with pytest.raises(ConflictError) as refused:
        rig.submit(pvc=mounts, gpu_type=gpu_type)
    return refused.value.message, refused.value.hint


def test_a_volume_without_nodes_near_is_refused(zones: Rig) -> None:
    bound(zones, "data", within("eu-1d"))
    message = (
        "PVC data can be reached from zone eu-1d only, but the nodes with GPUs are in zone eu-1a,"
        " zone eu-1b, zone eu-1c."
    )
    assert refusal(zones, DATA) == (message, COPY)


def test_nodes_of_another_type_are_told(zones: Rig) -> None:
    bound(zones, "data", within("eu-1c"))
    message = (
        "PVC data can be reached from zone eu-1c only, but the nodes with h100 are in zone eu-1a,"
        " zone eu-1b."
    )
    assert refusal(zones, DATA, gpu_type="h100") == (
        message,
        f"{COPY} Or use another GPU type: gpu-a100 can reach it.",
    )
    run_id = zones.submit(pvc=(DATA,), gpu_type="a100")
    zones.pass_time(minutes=5)
    assert (zones.get(run_id).phase, zones.get(run_id).ran_on) == (RunPhase.SUCCEEDED, ["gpu-a100"])


def test_nodes_without_quota_for_the_team_count_not(rig: Rig) -> None:
    add_second_type(rig.world, {"team-b": "4"})
    rig.world.patch("clusterqueues", "team-b", {"spec": {"cohortName": "others"}})
    for node, zone in (("gpu-1", "eu-1a"), ("gpu-2", "eu-1a"), ("gpu-a100", "eu-1c")):
        rig.world.patch("nodes", node, {"metadata": {"labels": {ZONE: zone}}})
    bound(rig, "data", within("eu-1c"))
    message = (
        "PVC data can be reached from zone eu-1c only, but the nodes with GPUs for this team are in"
        " zone eu-1a."
    )
    hint = f"{COPY} gpu-a100 can reach it, but the team's queue has no GPUs there."
    assert refusal(rig, DATA) == (message, hint)
    rig.submit(pvc=(DATA,), gpus=0)


def test_volumes_far_from_each_other_are_refused(zones: Rig) -> None:
    bound(zones, "data", within("eu-1a"))
    bound(zones, "out", within("eu-1b", "eu-1c"))
    out = VolumeMount("out", "/out", read_only=False)
    assert refusal(zones, DATA, out) == (
        (
            "No node can reach all the volumes of this run: PVC data from zone eu-1a; PVC out from"
            " zone eu-1b or eu-1c."
        ),
        "Use volumes that can be reached from the same place.",
    )


def test_new_volumes_are_where_their_class_makes_them(zones: Rig) -> None:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": ["eu-1d"]}]}]
    fsx = storage_class("fsx", waits=True) | {"allowedTopologies": terms}
    zones.world.create("storageclasses", fsx)
    waiting = claim("later") | {"metadata": {"name": "later"}}
    waiting["spec"]["storageClassName"] = "fsx"
    zones.world.create("persistentvolumeclaims", waiting, "team-a")
    zones.look()
    nodes = "can be reached from zone eu-1d only, but the nodes with GPUs are in zone"
    new, later = NewVolume("fsx", "1Ti", "/mnt"), VolumeMount("later", "/mnt", read_only=False)
    assert refusal(zones, new)[0].startswith(f"A volume of fsx {nodes}")
    assert refusal(zones, later)[0].startswith(f"PVC later {nodes}")


def test_what_every_node_reaches_is_fine(zones: Rig) -> None:
    bound(zones, "data", {"key": "kubernetes.io/hostname", "operator": "Exists"})
    zones.submit(pvc=(DATA, VolumeMount("imagenet", "/imagenet", read_only=True)))


def test_nodes_that_may_come_refuse_nobody(zones: Rig) -> None:
    bound(zones, "data", within("eu-1d"))
    for name in ("gpu-1", "gpu-2", "gpu-a100"):
        zones.world.remove_node(name)
    zones.look()
    zones.submit(pvc=(DATA,))


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ("a",), True),
        ("In", ("b",), False),
        ("NotIn", ("b",), True),
        ("NotIn", ("a",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("7",), True),
    ],
)
def test_requirements_are_read_as_kubernetes_does(
    operator: str, values: tuple[str, ...], *, fits: bool
) -> None:
    requirement = Requirement(key="zone", operator=operator, values=values)
    assert requirement.fits({"zone": "a"}) is fits


def test_a_cache_without_nodes_near_is_refused(zones: Rig) -> None:
    bound(zones, "data", within("eu-1d"))
    made = zones.world.get("persistentvolumeclaims", "data", "team-a") or {}
    volume = made["spec"]["volumeName"]
    zones.world.patch("persistentvolumes", volume, _NFS)
    zones.look()
    zones.do(lambda session: add_cached(session, volume_name=volume).id)
    with pytest.raises(ConflictError) as refused:
        zones.submit(data=(DataMount("chest-xray@v3", "/data"),))
    assert (refused.value.message, refused.value.hint) == (
        (
            "The cache of chest-xray@v3 can be reached from zone eu-1d only, but the nodes with"
            " GPUs are in zone eu-1a, zone eu-1b, zone eu-1c."
        ),
        "Cache it on a storage class that can be reached from there.",
    )


def test_a_cache_may_be_where_its_class_is(zones: Rig) -> None:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": ["eu-1d"]}]}]
    fsx = storage_class("fsx") | {"allowedTopologies": terms, "provisioner": "nfs.acme.example"}
    zones.world.create("storageclasses", fsx)
    zones.look()
    zones.do(lambda session: add_cached(session, storage_class="fsx").id)
    with pytest.raises(ConflictError) as refused:
        zones.submit(data=(DataMount("chest-xray@v3", "/data"),))
    assert str(refused.value).startswith(
        "The cache of chest-xray@v3 can be reached from zone eu-1d only"
    )


_NFS = {"spec": {"csi": None, "nfs": {"server": "10.0.0.1", "path": "/data"}}}
