"""Whose the figures of a node are, where nobody says what those of pods did."""

import pytest

from bot.gpus.samples.joining import of_nodes, of_shared
from bot.gpus.samples.pods import KnownPod
from bot.gpus.sources.source import Figures

LANE, NOTEBOOK = ("team-a", "lane-x"), ("team-a", "nb-x")
NODE = Figures(gpus=8, busy=1.5, idle=6, memory_used=90_000, memory_total=640_000)
RESTING = Figures(gpus=8, busy=0.04, idle=8, memory_used=9_000, memory_total=640_000)


def pod(gpus: float, node: str = "gpu-1", first: int = 0, last: int | None = None) -> KnownPod:
    return KnownPod("uid", 1, int(gpus * 1000), node, first, last)


def test_whoever_is_alone_did_it() -> None:
    told = {"gpu-1": NODE, "gpu-2": NODE}
    found = of_nodes(told, {LANE: pod(2), NOTEBOOK: pod(8, "gpu-2")}, 5)
    assert found == {
        LANE: Figures(gpus=2, busy=1.5, idle=0, memory_used=90_000, memory_total=160_000),
        NOTEBOOK: NODE,
    }


def test_of_several_nobody_knows_who_worked() -> None:
    pods = {LANE: pod(2), NOTEBOOK: pod(6)}
    assert of_nodes({"gpu-1": NODE}, pods, 5) == {}


def test_where_nothing_ran_nobody_worked() -> None:
    found = of_nodes({"gpu-1": RESTING}, {LANE: pod(2), NOTEBOOK: pod(0.5)}, 5)
    assert found == {LANE: Figures(2, 0.01, 2), NOTEBOOK: Figures(1, 0.005, 1)}


def test_a_gpu_nobody_measured_may_have_worked() -> None:
    part = RESTING._replace(gpus=7, idle=7)
    assert of_nodes({"gpu-1": part}, {LANE: pod(2), NOTEBOOK: pod(6)}, 5) == {}
    # Of one pod it is known for as many as were measured.
    assert of_nodes({"gpu-1": part}, {LANE: pod(8)}, 5)[LANE].gpus == 7


@pytest.mark.parametrize(
    ("first", "last", "is_alone"), [(0, 5, True), (6, None, True), (5, None, False), (0, 6, False)]
)
def test_only_who_was_there_counts(first: int, last: int | None, *, is_alone: bool) -> None:
    pods = {LANE: pod(2), NOTEBOOK: pod(2, first=first, last=last)}
    assert (LANE in of_nodes({"gpu-1": NODE}, pods, 5)) == is_alone


def test_who_may_be_anywhere_hides_all() -> None:
    pods = {LANE: pod(2), NOTEBOOK: pod(2, node="")}
    assert of_nodes({"gpu-1": NODE}, pods, 5) == {}


RESERVATION = ("kai-resource-reservation", "gpu-reservation-x")
WORKS = Figures(gpus=1, busy=0.6, idle=0, memory_used=30_000, memory_total=80_000)


def shared(amount: int, group: str = "g1", last: int | None = None) -> KnownPod:
    return KnownPod("uid", 1, amount, "gpu-1", 0, last, group)


def test_parts_of_a_gpu_did_what_it_did() -> None:
    pods = {
        RESERVATION: shared(0),
        LANE: shared(500),
        NOTEBOOK: shared(250),
        ("team-b", "gone"): shared(250, last=5),
        ("team-b", "another"): shared(250, "g2"),
    }
    without_memory = WORKS._replace(memory_used=0, memory_total=0)
    assert of_shared({RESERVATION: WORKS, LANE: NODE}, pods, 5) == {
        LANE: without_memory,
        NOTEBOOK: without_memory,
    }
    del pods[NOTEBOOK]
    assert of_shared({RESERVATION: WORKS}, pods, 5) == {LANE: WORKS}
    assert of_shared({("x", "unknown"): WORKS}, pods, 5) == {}
