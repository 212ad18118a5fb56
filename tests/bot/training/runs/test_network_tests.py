"""Tests of the network between nodes: what they measure, and what they are compared with."""

import shlex
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from bot.charts.values import described
from bot.config import Settings
from bot.errors import ConflictError, LimitError, QuartermasterError, UsageError
from bot.quotas.engines.registry import Engines
from bot.slack.card import Card
from bot.slack.grammar.parameters import Nodes
from bot.slack.text import text_of
from bot.training.records.network_history import NetworkHistoryService, history_card
from bot.training.service import TrainingService
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_node
from tests.bot.ground import ERIN, INSTALLATION
from tests.bot.training.rig import Rig

PROGRAM = "/opt/nccl-tests/build/all_reduce_perf"
ASKED: dict[str, Any] = {
    "kind": "nccl", "nodes": Nodes(2, 2), "gpus": Decimal(6), "image": "", "command": (),
}  # fmt: skip


def measured(rig: Rig, name: str = "nccl", **more: Any) -> str:
    """A test between both nodes that has ended; its id."""
    run_id = rig.submit(name, **(ASKED | more))
    rig.pass_time(minutes=5)
    return run_id


def behaves(rig: Rig, **more: Any) -> None:
    """Says how tests of the network go."""
    rig.world.behaviours["nccl-tests"] = Training(**more)


def add_adapters(rig: Rig) -> None:
    """Both nodes have EFA, which Kueue leaves out of quotas."""
    excluded = ("vpc.amazonaws.com/", "hugepages-")
    rig.world.inside.kueue = replace(rig.world.inside.kueue, excluded_prefixes=excluded)
    more = {"vpc.amazonaws.com/efa": "4", "hugepages-2Mi": "10Gi"}
    for name in ("gpu-1", "gpu-2"):
        rig.world.remove_node(name)
        add_node(rig.world, name, NODE_RESOURCES | more, PRODUCT)
    rig.policy = Settings.model_validate(
        rig.policy.model_dump() | {"clusters": {"default": {"excluded_resources": excluded}}}
    )
    engines = Engines(rig.settings, rig.clusters)
    rig.service = TrainingService(
        rig.settings, engines.get, INSTALLATION, rig.words, rig.run_snapshots
    )
    rig.look()


def test_a_test_shows_what_it_measured(rig: Rig) -> None:
    run_id = measured(rig)
    run = rig.get(run_id)
    assert run.results == {
        "average bus bandwidth": "10.13 GB/s",
        "maximum bus bandwidth": "41.74 GB/s",
        "network": "efa",
    }
    assert run.reason == "It is the first test with this many GPUs on gpu-1, gpu-2."
    assert rig.notes(run_id)["ended"].splitlines()[0] == (
        "<@U0ALICE> nccl succeeded after 1m 6s. network efa · average bus bandwidth 10.13 GB/s"
        " · maximum bus bandwidth 41.74 GB/s. It is the first test with this many GPUs on gpu-1,"
        " gpu-2."
    )


def test_what_is_left_out_is_filled_in(rig: Rig) -> None:
    run_id = rig.submit("nccl", **(ASKED | {"gpus": Decimal(0), "nodes": Nodes(1, 1)}))
    spec = rig.get(run_id).spec
    assert (spec["image"], spec["gpus"], spec["efa"], spec["time_limit_seconds"]) == (
        "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1", "8", 0, 1800,
    )  # fmt: skip
    assert shlex.join(spec["command"]) == f"{PROGRAM} -b 8 -e 1G -f 2 -g 1 -c 1 -n 100"


def test_a_test_is_compared_with_the_last(rig: Rig) -> None:
    measured(rig)
    behaves(rig, bandwidth=20.0)
    again = rig.get(measured(rig, "again"))
    assert again.reason == (
        "The last test on these nodes, nccl (2026-11-21 12:01 UTC), averaged 10.13 GB/s: this"
        " is 45 % less."
    )


def test_another_number_of_gpus_is_no_comparison(rig: Rig) -> None:
    measured(rig)
    other = rig.get(measured(rig, "other", gpus=Decimal(4)))
    assert other.reason == "It is the first test with this many GPUs on gpu-1, gpu-2."


def test_adapters_are_asked_for_and_used(rig: Rig) -> None:
    add_adapters(rig)
    run = rig.get(measured(rig))
    container = rig.job(run.id)["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"]["vpc.amazonaws.com/efa"] == "4"
    assert {"name": "FI_PROVIDER", "value": "efa"} in container["env"]


def test_adapters_that_were_not_used_are_said(rig: Rig) -> None:
    add_adapters(rig)
    behaves(rig, provider="socket")
    assert rig.get(measured(rig)).reason == (
        "EFA was not used, though gpu-1, gpu-2 have it: NCCL chose socket. The image needs"
        " aws-ofi-nccl. It is the first test with this many GPUs on gpu-1, gpu-2."
    )


def test_a_test_without_adapters_is_possible(rig: Rig) -> None:
    add_adapters(rig)
    behaves(rig, provider="socket")
    run = rig.get(measured(rig, efa=0))
    assert run.spec["efa"] == 0
    assert run.reason.partition(" It is")[0] == (
        "EFA was not used, though gpu-1, gpu-2 have it: NCCL chose socket. The run needs `--efa`,"
        " and its image aws-ofi-nccl."
    )


def test_the_log_of_a_failed_test_is_kept(rig: Rig) -> None:
    behaves(rig, fails_after=5, exit_code=3)
    run = rig.get(measured(rig))
    assert (run.phase, run.reason) == (
        RunPhase.FAILED,
        "Its program ended with exit code 3. It happened in pod 0.",
    )


def test_no_two_pods_share_a_node(rig: Rig) -> None:
    run_id = rig.submit("nccl", **(ASKED | {"gpus": Decimal(1)}))
    rig.pass_time(seconds=10)
    pods = rig.world.list("pods", "team-a")
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == ["gpu-1", "gpu-2"]
    assert rig.get(run_id).phase == RunPhase.RUNNING


@pytest.mark.parametrize(
    ("asked", "error", "message", "hint"),
    [
        (
            {"nodes": Nodes(3, 3), "gpus": Decimal(0)},
            ConflictError,
            "A test on 3 nodes needs as many nodes with GPUs, but the cluster has 2.",
            "Use `--nodes 2`.",
        ),
        (
            {"gpus": Decimal("0.5")},
            UsageError,
            "This cluster allocates whole GPUs only, not 0.5.",
            (
                "Use `--gpus 1`. A platform admin can allow fractions with `fractions` of the"
                " cluster in quartermaster.yaml: MIG, shared GPUs, HAMi, or a resource that counts"
                " tenths."
            ),
        ),
        (
            {"gpus": Decimal(40)},
            LimitError,
            "80 GPUs exceed the limit of team-a for one run: 64.",
            "Use `--gpus 64` or fewer, or ask an admin for a higher limit.",
        ),
    ],
)
def test_tests_that_cannot_be_are_refused(
    rig: Rig, asked: dict[str, Any], error: type[QuartermasterError], message: str, hint: str
) -> None:
    with pytest.raises(error) as refused:
        rig.submit("nccl", **(ASKED | asked))
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_nodes_without_gpus_do_not_count(rig: Rig) -> None:
    add_node(rig.world, "cpu-1", {"cpu": "64", "memory": "256Gi", "pods": "110"}, {})
    rig.look()
    run_id = rig.submit("nccl", person=ERIN, **(ASKED | {"gpus": Decimal(0)}))
    assert rig.get(run_id).spec["gpus"] == "8"


TYPE = {"node.kubernetes.io/instance-type": "p4d.24xlarge"}
REFERENCES = [
    {"type": "p4d.24xlarge", "efa": 4, "maximum": 42.04, "average": 8.24},
    {"type": "p4d.24xlarge", "efa": 0, "maximum": 2.38},
]


def refer(rig: Rig, *references: dict[str, Any]) -> None:
    """Sets references, and names the type of both nodes."""
    for name in ("gpu-1", "gpu-2"):
        rig.world.patch("nodes", name, {"metadata": {"labels": TYPE}})
    test = {"training": {"network_test": {"references": list(references)}}}
    rig.policy = Settings.model_validate(rig.policy.model_dump() | test)
    rig.look()


def test_a_result_is_a_share_of_its_reference(rig: Rig) -> None:
    add_adapters(rig)
    refer(rig, *REFERENCES)
    assert rig.get(measured(rig)).reason == (
        "41.74 GB/s, 99 % of the reference for p4d.24xlarge with 4 EFA adapters (42.04 GB/s); on"
        " average 10.13 GB/s, 123 % (8.24 GB/s). It is the first test with this many GPUs on"
        " gpu-1, gpu-2."
    )


def test_the_reference_depends_on_adapters(rig: Rig) -> None:
    refer(rig, *REFERENCES)
    behaves(rig, provider="socket", bandwidth=1.19)
    assert rig.get(measured(rig)).reason == (
        "1.19 GB/s, 50 % of the reference for p4d.24xlarge without EFA (2.38 GB/s). It is the first"
        " test with this many GPUs on gpu-1, gpu-2."
    )


def test_other_hardware_has_no_reference(rig: Rig) -> None:
    refer(rig, REFERENCES[0])
    assert rig.get(measured(rig)).reason == (
        "It is the first test with this many GPUs on gpu-1, gpu-2."
    )


def test_the_gpu_type_names_a_reference_too(rig: Rig) -> None:
    refer(rig, {"type": "h100", "maximum": 83.48})
    assert rig.get(measured(rig)).reason.startswith(
        "41.74 GB/s, 50 % of the reference for h100 without EFA (83.48 GB/s). It is the first"
    )


def history(rig: Rig) -> Card:
    """What `/gpu network` shows."""
    service = NetworkHistoryService(rig.settings, rig.clusters)
    team = rig.settings().teams["team-a"]
    found = rig.database.read(lambda session: service.tested(session, team))
    return history_card("team-a", found, "/gpu nccl --nodes 2")


def test_no_tests_say_how_to_run_one(rig: Rig) -> None:
    assert text_of(history(rig)) == (
        "Network tests in the clusters of team-a. There are none yet. `/gpu nccl --nodes 2` runs"
        " one."
    )


def test_tests_are_listed_and_drawn_by_nodes(rig: Rig) -> None:
    refer(rig, {"type": "h100", "maximum": 83.48})
    measured(rig)
    behaves(rig, bandwidth=20.87)
    measured(rig, "again")
    measured(rig, "small", gpus=Decimal(4))
    card = history(rig)
    assert card.table is not None
    assert card.table.rows == (
        (
            "gpu-1, gpu-2", "8", "0", "1", "20.72 GB/s", "20.72 GB/s", "5.70 GB/s", "25 %",
            "2026-11-21 12:11 UTC",
        ),
        (
            "gpu-1, gpu-2", "12", "0", "2", "20.73 GB/s", "41.74 GB/s", "5.75 GB/s", "25 %",
            "2026-11-21 12:06 UTC",
        ),
    )  # fmt: skip
    assert [described(each) for each in card.charts] == [
        (
            "Bus bandwidth between gpu-1, gpu-2, in GB/s. 11-21 12:01: maximum 41.7, average 10.1;"
            " 11-21 12:06: maximum 20.7, average 5.8. Reference for h100: 83.5."
        )
    ]


PAIRS: dict[str, Any] = {"form": "all-pairs", "nodes": Nodes(4, 4), "gpus": Decimal(1)}


def add_nodes(rig: Rig) -> None:
    """Two more nodes, so that there are six pairs."""
    for name in ("gpu-3", "gpu-4"):
        add_node(rig.world, name, NODE_RESOURCES, PRODUCT | TYPE)
    rig.look()


def pairs_of(rig: Rig, name: str = "nccl", **slow: Any) -> dict[str, str]:
    """What of the results of a test is about pairs, if these are slow."""
    behaves(rig, **slow)
    results = rig.get(measured(rig, name, **PAIRS)).results
    return {k: v for k, v in results.items() if k.endswith(("pairs", "nodes"))}


def test_pairs_within_reach_are_said(rig: Rig) -> None:
    add_nodes(rig)
    assert pairs_of(rig, slow_pairs={"0-2": 41.0}) == {
        "pairs": (
            "all 6 within reach, the slowest gpu-1 and gpu-3: 41.00 GB/s (97 % of the fastest pair)"
        )
    }


def test_a_slow_pair_is_named_by_its_nodes(rig: Rig) -> None:
    add_nodes(rig)
    assert pairs_of(rig, slow_pairs={"0-2": 5.1}) == {
        "slow pairs": "gpu-1 and gpu-3: 5.10 GB/s (12 % of the fastest pair)",
        "pairs": "6 measured, the fastest 42.30 GB/s",
    }


def test_a_slow_node_is_named_once(rig: Rig) -> None:
    add_nodes(rig)
    refer(rig, {"type": "p4d.24xlarge", "maximum": 42.04})
    slow = {"0-3": 5.1, "1-3": 0.0, "2-3": 5.3, "0-1": 21.02}
    assert pairs_of(rig, slow_pairs=slow) == {
        "slow nodes": "gpu-4: at most 5.30 GB/s (13 % of the reference)",
        "slow pairs": "gpu-1 and gpu-2: 21.02 GB/s (50 % of the reference)",
        "pairs": "6 measured, the fastest 42.30 GB/s",
    }


def test_all_pairs_can_be_slow(rig: Rig) -> None:
    add_nodes(rig)
    refer(rig, {"type": "p4d.24xlarge", "maximum": 83.48})
    assert pairs_of(rig) == {"pairs": "all 6 slow, the fastest 42.30 GB/s (51 % of the reference)"}


def test_pairs_are_shown_while_they_are_measured(rig: Rig) -> None:
    add_nodes(rig)
    behaves(rig, seconds_per_epoch=600.0)
    run_id = rig.submit("nccl", **(ASKED | PAIRS))
    rig.pass_time(minutes=8)
    assert rig.get(run_id).results["pairs"] == "2 of 6 measured, the fastest 42.30 GB/s"
    assert "1 of 3 steps" in rig.card(run_id)


def test_a_test_of_pairs_has_more_time(rig: Rig) -> None:
    add_nodes(rig)
    run_id = rig.submit("nccl", **(ASKED | PAIRS))
    assert rig.get(run_id).spec["time_limit_seconds"] == (30 + 2 * (3 + 4)) * 60


def test_the_history_names_slow_nodes(rig: Rig) -> None:
    add_nodes(rig)
    pairs_of(rig, slow_pairs={"0-3": 5.1, "1-3": 0.0, "2-3": 5.3})
    measured(rig, "later", nodes=Nodes(4, 4), gpus=Decimal(1))
    card = history(rig)
    assert [str(line) for line in card.lines] == [
        (
            "gpu-1, gpu-2, gpu-3, gpu-4, 2026-11-21 12:01 UTC: slow nodes gpu-4: at most 5.30 GB/s"
            " (13 % of the fastest pair)"
        )
    ]


def test_a_failed_test_names_slow_nodes(rig: Rig) -> None:
    add_nodes(rig)
    slow = {"0-3": 5.1, "1-3": 0.0, "2-3": 5.3}
    behaves(rig, slow_pairs=slow, fails_after=66, exit_code=3)
    run = rig.get(measured(rig, **PAIRS))
    assert run.reason == (
        "Its program ended with exit code 3. It happened in pod 0. Measured between its nodes: slow"
        " nodes gpu-4: at most 5.30 GB/s (13 % of the fastest pair)."
    )
