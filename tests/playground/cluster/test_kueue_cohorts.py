from dataclasses import replace
from typing import Any

import pytest

from playground.cluster.objects.errors import ApiError
from playground.cluster.story import cluster_queue
from tests.playground.cluster.queued import (
    gpus_of,
    is_suspended,
    reserved,
    submit,
    submit_with_priority,
)
from tests.playground.cluster.served import JSON_PATCH, KUEUE, Served, conditions, refusal


def add_team(served: Served, team: str, gpus: str, cohort: str, **limits: str) -> None:
    body = cluster_queue(team, gpus, cohort)
    rows = body["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    rows[2] |= limits
    served.cluster.create("namespaces", {"metadata": {"name": team}})
    served.cluster.create("clusterqueues", body)
    queue = {"metadata": {"name": team}, "spec": {"clusterQueue": team}}
    served.cluster.create("localqueues", queue, team)


def add_cohort(served: Served, name: str, parent: str = "", **limits: str) -> None:
    spec: dict[str, Any] = {"parentName": parent} if parent else {}
    if limits:
        quota = {"name": "nvidia.com/gpu", "nominalQuota": "0", **limits}
        flavors = [{"name": "h100", "resources": [quota]}]
        spec["resourceGroups"] = [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]
    served.cluster.create("cohorts", {"metadata": {"name": name}, "spec": spec})


def test_quota_of_another_branch_is_borrowed(served: Served) -> None:
    add_cohort(served, "org")
    add_cohort(served, "left", "org")
    add_cohort(served, "right", "org")
    add_team(served, "team-l", "4", "left")
    add_team(served, "team-r", "4", "right")
    submit(served, "wide", 8, "team-l")
    assert gpus_of(served, "team-l") == ("8", "4")


def test_lending_limit_of_a_cohort_keeps_its_quota(served: Served) -> None:
    add_cohort(served, "org")
    add_cohort(served, "left", "org")
    add_cohort(served, "right", "org", lendingLimit="1")
    add_team(served, "team-l", "4", "left")
    add_team(served, "team-r", "4", "right")
    submit(served, "wide", 8, "team-l")
    assert reserved(served, "wide", "team-l")[2].endswith("> maximum capacity (5)")
    submit(served, "less", 5, "team-l")
    assert not is_suspended(served, "less", "team-l")


def test_borrowing_limit_of_a_cohort_caps_its_teams(served: Served) -> None:
    add_cohort(served, "org")
    add_cohort(served, "left", "org", borrowingLimit="2")
    add_cohort(served, "right", "org")
    add_team(served, "team-l", "4", "left")
    add_team(served, "team-r", "8", "right")
    submit(served, "wide", 7, "team-l")
    assert reserved(served, "wide", "team-l")[2].endswith("> maximum capacity (6)")


def test_quota_is_reclaimed_across_branches(served: Served) -> None:
    add_cohort(served, "org")
    add_cohort(served, "left", "org")
    add_cohort(served, "right", "org")
    add_team(served, "team-l", "4", "left")
    add_team(served, "team-r", "4", "right")
    submit(served, "wide", 8, "team-l")
    served.pass_time(5)
    submit(served, "owner", 4, "team-r")
    told = conditions(served.workload("wide", "team-l"))["Preempted"]
    assert told[1] == "InCohortReclamation"
    assert told[2].endswith("preemptor path: /org/right/team-r; preemptee path: /org/left/team-l")


def test_cohorts_in_a_circle_admit_nobody(served: Served) -> None:
    add_cohort(served, "one", "two")
    add_cohort(served, "two", "one")
    add_team(served, "team-l", "4", "one")
    submit(served, "lane", 1, "team-l")
    assert reserved(served, "lane", "team-l")[1:] == (
        "Inadmissible",
        "ClusterQueue team-l is inactive",
    )


def test_borrower_may_push_out_lower_priority(served: Served) -> None:
    borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": 50}
    preemption = {"reclaimWithinCohort": "Any", "borrowWithinCohort": borrowing}
    add_team(served, "team-l", "2", "other")
    add_team(served, "team-r", "2", "other")
    add_team(served, "team-s", "2", "other")
    served.cluster.patch("clusterqueues", "team-l", {"spec": {"preemption": preemption}})
    submit(served, "lent", 4, "team-r")
    served.pass_time(10)
    submit_with_priority(served, "urgent", 4, "high", "team-l")
    told = conditions(served.workload("lent", "team-r"))["Preempted"]
    assert told[1] == "InCohortReclaimWhileBorrowing"


@pytest.mark.parametrize("granular", [False, True])
def test_reasons_are_granular_behind_their_gate(served: Served, granular: bool) -> None:  # noqa: FBT001 -- both sides of a gate
    served.cluster.inside.kueue = replace(served.cluster.inside.kueue, granular_reasons=granular)
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "lane", 4)
    submit(served, "next", 4)
    assert reserved(served, "next")[1] == ("WaitingForQuota" if granular else "Pending")


def test_equal_jobs_behind_one_are_passed_over(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "lane", 4)
    for name in ("second", "third"):
        served.pass_time(2)
        submit(served, name, 4)
    assert reserved(served, "second")[:2] == ("False", "Pending")
    assert "QuotaReserved" not in conditions(served.workload("third"))


def test_pods_that_do_not_start_lose_their_quota(served: Served) -> None:
    served.cluster.miss_image("ghcr.io/acme/long:1")
    submit(served, "lane", 4)
    served.pass_time(30 * 60 + 5)
    workload = served.workload("lane")
    told = conditions(workload)
    message = f"Exceeded the PodsReady timeout team-a/{workload['metadata']['name']}"
    assert told["Evicted"] == ("True", "PodsReadyTimeout", message)
    assert told["Requeued"] == ("False", "PodsReadyTimeout", message)
    assert workload["status"]["requeueState"]["count"] == 1
    assert is_suspended(served, "lane")
    served.pass_time(70)
    again = served.workload("lane")
    assert conditions(again)["Admitted"][0] == "True"
    assert again["status"]["requeueState"] == {"count": 1}
    served.pass_time(30 * 60 + 65)
    assert served.workload("lane")["status"]["requeueState"]["count"] == 2
    assert is_suspended(served, "lane")


def test_preemptor_keeps_its_place_until_its_victim_left(served: Served) -> None:
    submit(served, "borrower", 8)
    served.pass_time(10)
    submit_with_priority(served, "wide", 10, "high", "team-b")
    submit(served, "owner", 8, "team-b")
    served.pass_time(10)
    assert is_suspended(served, "borrower")
    assert not is_suspended(served, "owner", "team-b")
    assert is_suspended(served, "wide", "team-b")


LIMITS = "spec.resourceGroups[0].flavors[0].resources[2]"


def test_webhook_refuses_more_lent_than_owned(served: Served) -> None:
    add_team(served, "team-l", "4", "left", lendingLimit="4")
    path = "/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota"
    lower = [{"op": "replace", "path": path, "value": "3"}]
    answer = served.admin.patch(
        f"{KUEUE}/clusterqueues/team-l", json=lower, headers={"Content-Type": JSON_PATCH}
    )
    code, reason, words = refusal(answer)
    assert (code, reason) == (403, "Forbidden")
    assert words == (
        f'admission webhook "vclusterqueue.kb.io" denied the request: {LIMITS}.lendingLimit: '
        'Invalid value: "4": must be less than or equal to the nominalQuota'
    )
    add_cohort(served, "right", "org", lendingLimit="4")
    with pytest.raises(ApiError, match=r"vcohort\.kb\.io.*must be nil when parent is empty"):
        add_cohort(served, "alone", lendingLimit="1")
