"""GPU types: which one a run gets, what is refused, and where it is shown."""

from typing import Any

import pytest

from bot.errors import QuartermasterError
from bot.slack.grammar.parameters import Nodes
from bot.training.spec import spec_of
from bot.training.tables import RunPhase
from playground.cluster.story import GPU, NODE_RESOURCES, add_node, flavor
from playground.cluster.two_types import PRODUCT, add_second_type
from tests.bot.training.rig import Rig, settings

SELECTOR = "nvidia.com/gpu.product"
A100 = PRODUCT[SELECTOR]
TAINT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
THERE = (
    "It has: h100 (12 GPUs free), a100 (4 GPUs free). Use one of them, for example `--gpu-type"
    " h100`."
)


@pytest.fixture
def types(rig: Rig) -> Rig:
    """A team with two types."""
    add_second_type(rig.world, {"team-a": "4"})
    rig.look()
    return rig


def refusal(rig: Rig, **asked: Any) -> tuple[str, str]:
    with pytest.raises(QuartermasterError) as refused:
        rig.submit(**asked)
    return refused.value.message, refused.value.hint


def test_a_run_gets_the_type_asked_for(types: Rig) -> None:
    run_id = types.submit(gpu_type="a100")
    types.pass_time(seconds=45)
    pod = types.job(run_id)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {SELECTOR: A100}
    assert (types.get(run_id).flavor, types.get(run_id).nodes) == ("a100", ["gpu-a100"])
    assert "  GPUs       2 of a100\n" in types.card(run_id)


@pytest.mark.parametrize("gpu_type", [None, "any"])
def test_without_a_type_any_will_do(types: Rig, gpu_type: str | None) -> None:
    run_id = types.submit(gpu_type=gpu_type)
    types.pass_time(seconds=45)
    assert types.get(run_id).flavor == "h100"
    assert "  GPUs       2\n" in types.card(run_id)


def test_every_node_of_a_run_has_it(types: Rig) -> None:
    types.world.install("mpi-operator")
    types.look()
    command = ("python", "train.py")
    run_id = types.submit(kind="mpi", nodes=2, gpus=1, gpu_type="a100", command=command)
    types.run()
    job = types.world.get("mpijobs", types.get(run_id).job_name, "team-a")
    assert job is not None
    roles = job["spec"]["mpiReplicaSpecs"]
    pods = {name: role["template"]["spec"] for name, role in roles.items()}
    assert {name: pod["nodeSelector"] for name, pod in pods.items()} == {
        "Launcher": {SELECTOR: A100},
        "Worker": {SELECTOR: A100},
    }


def test_a_train_job_gets_it_too(types: Rig) -> None:
    types.world.install("trainer")
    types.look()
    run_id = types.submit(kind="elastic", form="trainjob", nodes=2, gpus=1, gpu_type="a100")
    types.pass_time(minutes=1)
    assert (types.get(run_id).flavor, types.get(run_id).ran_on) == ("a100", ["gpu-a100"])


def test_an_unknown_type_names_the_others(types: Rig) -> None:
    assert refusal(types, gpu_type="b200") == (
        "ClusterQueue team-a has no GPU type b200.",
        THERE,
    )


def test_what_nobody_has_is_refused(rig: Rig) -> None:
    add_second_type(rig.world, {"team-a": "0"})
    rig.look()
    assert refusal(rig, gpu_type="a100") == (
        "ClusterQueue team-a has no quota of a100 and cannot borrow any.",
        "It has: h100 (12 GPUs free). Use one of them, for example `--gpu-type h100`.",
    )


def test_a_type_is_for_runs_with_gpus(types: Rig) -> None:
    assert refusal(types, gpus=0, gpu_type="a100") == (
        "`--gpu-type a100` is for runs with GPUs, and this one has none.",
        "Request some, for example `--gpus 1 --gpu-type a100`, or leave it out.",
    )


def test_two_types_with_equal_nodes_are_refused(types: Rig) -> None:
    types.world.patch(
        "resourceflavors", "h100", {"spec": {"nodeLabels": {SELECTOR: None, "rack": "r1"}}}
    )
    types.look()
    assert refusal(types, gpu_type="a100") == (
        (
            "Kueue cannot distinguish a100 from h100: the nodeLabels of ResourceFlavor a100 match"
            " both."
        ),
        (
            "Leave out `--gpu-type`, or ask a platform admin to give both a nodeLabel with"
            " different values."
        ),
    )


def test_taints_of_the_type_are_tolerated(types: Rig) -> None:
    types.world.patch("resourceflavors", "a100", {"spec": {"nodeTaints": [TAINT]}})
    types.world.patch("nodes", "gpu-a100", {"spec": {"taints": [TAINT]}})
    types.look()
    run_id = types.submit(gpu_type="a100")
    types.pass_time(minutes=5)
    assert types.get(run_id).ran_on == ["gpu-a100"]
    assert types.job(run_id)["spec"]["template"]["spec"]["tolerations"] == [
        {**TAINT, "operator": "Equal"}
    ]


def test_taints_tell_two_types_apart(types: Rig) -> None:
    types.world.create("resourceflavors", flavor("spot", PRODUCT))
    types.world.patch("resourceflavors", "spot", {"spec": {"nodeTaints": [TAINT]}})
    groups = (types.world.get("clusterqueues", "team-a") or {})["spec"]["resourceGroups"]
    spot = {**groups[0]["flavors"][1], "name": "spot"}
    changed = [{**groups[0], "flavors": [*groups[0]["flavors"], spot]}]
    types.world.patch("clusterqueues", "team-a", {"spec": {"resourceGroups": changed}})
    types.look()
    run_id = types.submit(gpu_type="a100")
    types.pass_time(seconds=45)
    assert types.get(run_id).flavor == "a100"
    assert refusal(types, name="cheap", gpu_type="spot")[0].startswith("Kueue cannot distinguish")


def test_the_usual_type_is_for_who_says_nothing(types: Rig) -> None:
    types.policy = settings(defaults={"gpu_type": "a100"})
    asked = {"usual": None, "other": "h100", "either": "any"}
    named = {name: types.submit(name, gpus=1, gpu_type=of) for name, of in asked.items()}
    without = types.submit("none", gpus=0)
    found = [spec_of(types.get(each)).gpu_type for each in (*named.values(), without)]
    assert found == ["a100", "h100", None, None]


def test_a_usual_type_nobody_has_is_passed_over(rig: Rig) -> None:
    rig.policy = settings(defaults={"gpu_type": "b200"})
    assert spec_of(rig.get(rig.submit())).gpu_type is None


def test_it_is_refused_before_queues_are_read(types: Rig) -> None:
    types.policy = settings(local_queue="gone")
    assert refusal(types, gpu_type="a100") == (
        (
            "The team's ClusterQueue has not been seen in cluster default, so its GPU types are"
            " unknown."
        ),
        "Try again in a moment, or leave `--gpu-type` out.",
    )


def test_nodes_of_the_type_are_what_counts(types: Rig) -> None:
    add_node(types.world, "big", {**NODE_RESOURCES, GPU: "16"}, {SELECTOR: "other"})
    types.look()
    nodes = Nodes(2, 2)
    types.submit("fits", kind="sync", nodes=nodes, gpus=2, gpu_type="a100", command=("true",))
    types.world.remove_node("gpu-a100")
    types.look()
    run_id = types.submit(gpu_type="a100", gpus=1)
    types.pass_time(minutes=1)
    assert types.get(run_id).phase == RunPhase.PENDING


def test_a_network_test_takes_nodes_of_it(types: Rig) -> None:
    types.world.remove_node("gpu-a100")
    for name in ("small-1", "small-2"):
        add_node(types.world, name, {**NODE_RESOURCES, GPU: "1"}, PRODUCT)
    types.look()
    run_id = types.submit("net", kind="nccl", nodes=2, gpus=0, gpu_type="a100", command=())
    types.pass_time(minutes=1)
    assert (types.get(run_id).spec["gpus"], types.get(run_id).ran_on) == (
        "1",
        ["small-1", "small-2"],
    )


def test_a_run_started_again_keeps_its_type(types: Rig) -> None:
    types.submit(gpu_type="a100")
    types.pass_time(minutes=5)
    again = types.get(types.resubmit("lane"))
    assert spec_of(again).gpu_type == "a100"
    types.pass_time(seconds=45)
    assert types.get(again.id).flavor == "a100"
