from dataclasses import replace
from decimal import Decimal

import pytest

from playground.cluster.kueue.configuration import FINAL_SHARE, INITIAL_SHARE, FairSharing
from playground.story import fairness
from playground.story.fairness import STAGES, Work
from playground.story.shared_gpus import share_gpus
from tests.playground.cluster.fairly import (
    allocated,
    play,
    shares,
    usage,
    waiting,
    work,
)
from tests.playground.cluster.served import Served, conditions


@pytest.fixture
def fair(served: Served) -> Served:
    share_gpus(served.cluster)
    return served


def test_stages_end_as_the_guide_says(fair: Served) -> None:
    for stage in STAGES:
        play(fair, stage)
        assert allocated(fair) == dict(stage.allocated), stage.section
        left = waiting(fair)
        for pair in stage.either:
            assert len(left & set(pair)) == 1
            left -= set(pair)
        assert left == set(stage.waits), stage.section
        quotas = fairness.QUOTAS
        over = {team: max(0, stage.allocated[team] - quotas[team]) for team in quotas}
        assert {team: usage(fair, team)[1] for team in quotas} == over


def test_weighted_share_is_per_mille_of_the_cohort(fair: Served) -> None:
    play(fair, STAGES[0])
    # 20 of 160 tenths are borrowed: 125 per mille, divided by a weight of 2 and rounded up.
    assert shares(fair) == {"team-a": 0, "team-b": 63, "team-c": 63, "team-d": 0}


def test_borrowers_are_told_who_reclaims(fair: Served) -> None:
    for stage in STAGES[:2]:
        play(fair, stage)
    for victim, preemptor in (("b-4-gg", "d-2-gg"), ("c-4-gg", "d-3-gg")):
        team = f"team-{victim[0]}"
        by = fair.workload(preemptor, "team-d")["metadata"]
        job = by["labels"]["kueue.x-k8s.io/job-uid"]
        told = conditions(fair.workload(victim, team))
        assert told["Preempted"] == (
            "True",
            "InCohortReclamation",
            (
                f"Preempted to accommodate a workload (UID: {by['uid']}, JobUID: {job}) due to "
                "reclamation within the cohort; preemptor path: /tr4858/team-d; preemptee path: "
                f"/tr4858/{team}"
            ),
        )
        assert told["Requeued"][:2] == ("True", "Preempted")


def test_lower_share_takes_from_the_higher_one(fair: Served) -> None:
    fair.cluster.set_quota("team-d", "0", resource=fairness.GPU_TENTHS)
    for name in ("b-1", "b-2", "b-3"):
        work(fair, Work(name, Decimal(2)))
    assert usage(fair, "team-b") == (6, 4)
    work(fair, Work("a-1", Decimal(4)))
    fair.pass_time(40)
    # team-a takes its quota, although team-b borrows: 2 of the cohort's 8 GPUs stay with it.
    assert (usage(fair, "team-a"), usage(fair, "team-b")) == ((4, 0), (4, 2))
    told = conditions(fair.workload("b-3", "team-b"))["Preempted"]
    assert told[1] == "InCohortReclamation"


def test_borrowers_share_by_their_weights(fair: Served) -> None:
    fair.cluster.patch("clusterqueues", "team-c", {"spec": {"fairSharing": {"weight": "6"}}})
    for name in ("b-1", "b-2", "b-3", "b-4", "b-5", "b-6", "b-7", "b-8"):
        work(fair, Work(name, Decimal(2)))
    assert allocated(fair)["team-b"] == 16
    for name in ("c-1", "c-2", "c-3", "c-4", "c-5", "c-6", "c-7"):
        work(fair, Work(name, Decimal(2)))
    fair.pass_time(120)
    # 12 GPUs are above the two quotas; runs of 2 come nearest to 2 : 6 with 2 and 10 of them.
    assert (allocated(fair)["team-b"], allocated(fair)["team-c"]) == (4, 12)
    told = conditions(fair.workload("b-8", "team-b"))["Preempted"]
    assert told[1] == "InCohortReclamation"
    reasons = {
        conditions(fair.workload(f"b-{number}", "team-b")).get("Preempted", ("", ""))[1]
        for number in range(1, 9)
    }
    assert reasons == {"", "InCohortReclamation", "InCohortFairSharing"}


@pytest.mark.parametrize(
    ("strategies", "waits"), [((FINAL_SHARE,), "c-1"), ((FINAL_SHARE, INITIAL_SHARE), "b-1")]
)
def test_second_strategy_preempts_whom_the_first_spares(
    fair: Served, strategies: tuple[str, ...], waits: str
) -> None:
    rule = FairSharing(preemption_strategies=strategies)
    fair.cluster.inside.kueue = replace(fair.cluster.inside.kueue, fair_sharing=rule)
    # b-1 is the only run of team-b: without it team-b would borrow less than team-c wants to.
    work(fair, Work("b-1", Decimal(8)))
    work(fair, Work("d-1", Decimal(4)))
    work(fair, Work("c-1", Decimal(6)))
    fair.pass_time(60)
    assert waiting(fair) == {waits}


def test_weight_zero_borrows_last_and_gives_first(fair: Served) -> None:
    fair.cluster.patch("clusterqueues", "team-b", {"spec": {"fairSharing": {"weight": "0"}}})
    for name in ("b-1", "b-2"):
        work(fair, Work(name, Decimal(2)))
    assert shares(fair)["team-b"] == 2**63 - 1
    for name in ("c-1", "c-2", "c-3", "c-4", "c-5", "c-6", "c-7"):
        work(fair, Work(name, Decimal(2)))
    fair.pass_time(60)
    assert (allocated(fair)["team-b"], allocated(fair)["team-c"]) == (2, 14)
