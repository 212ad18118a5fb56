"""What queues can have of trees of cohorts; the cases and figures are those of Kueue's own tests.

They are from TestAvailable of pkg/cache/scheduler/resource_test.go of Kueue 0.19.2 (Apache-2.0).
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.resources import CLUSTER_QUEUES, COHORTS
from bot.cluster.view import View
from bot.quotas.engines.cohorts import available
from bot.quotas.engines.engine import Figures
from bot.quotas.engines.kueue.queues import KueueQueues
from bot.quotas.status import free_to_borrow
from bot.training.expecting import capacity

Quota = tuple[float, float | None, float | None]
RESOURCE = "nvidia.com/gpu"


def quota(nominal: float, borrowing: float | None = None, lending: float | None = None) -> Quota:
    return nominal, borrowing, lending


@dataclass(frozen=True)
class Case:
    """Queues and cohorts as (what is above, quota), what is used, and what Kueue makes of it."""

    queues: dict[str, tuple[str, Quota]]
    cohorts: dict[str, tuple[str, Quota | None]] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    available: dict[str, float] = field(default_factory=dict)
    potential: dict[str, float] = field(default_factory=dict)


CASES = {
    "alone": Case(
        queues={"cq1": ("", quota(0)), "cq2": ("", quota(5))},
        used={"cq1": 1, "cq2": 2.5},
        available={"cq1": 0, "cq2": 2.5},
        potential={"cq1": 0, "cq2": 5},
    ),
    "with cohort": Case(
        queues={"cq1": ("cohort", quota(10)), "cq2": ("cohort", quota(10, None, 9))},
        cohorts={"cohort": ("", quota(10))},
        used={"cq1": 1, "cq2": 0.5},
        available={"cq1": 28, "cq2": 28.5},
        potential={"cq1": 29, "cq2": 30},
    ),
    "borrows from cohort": Case(
        queues={"cq1": ("cohort", quota(10))},
        cohorts={"cohort": ("", quota(10))},
        used={"cq1": 11},
        available={"cq1": 9},
        potential={"cq1": 20},
    ),
    "oversubscription spills into cohort": Case(
        queues={"cq1": ("cohort", quota(10)), "cq2": ("cohort", quota(10, 0, 0))},
        cohorts={"cohort": ("", quota(10))},
        used={"cq1": 31},
        available={"cq1": 0, "cq2": 0},
        potential={"cq1": 20, "cq2": 10},
    ),
    "lending and borrowing limits": Case(
        queues={
            "cq1": ("cohort", quota(10)),
            "cq2": ("cohort", quota(10, 2)),
            "cq3": ("cohort", quota(10, None, 5)),
        },
        cohorts={"cohort": ("", quota(10))},
        used={"cq1": 20, "cq2": 10, "cq3": 6},
        available={"cq1": 4, "cq2": 2, "cq3": 4},
        potential={"cq1": 35, "cq2": 12, "cq3": 40},
    ),
    "tree": Case(
        queues={"cq1": ("left", quota(10)), "cq2": ("right", quota(10, None, 0))},
        cohorts={
            "root": ("", None),
            "left": ("root", quota(10)),
            "right": ("root", quota(10)),
        },
        used={"cq1": 10, "cq2": 5},
        available={"cq1": 20, "cq2": 25},
        potential={"cq1": 30, "cq2": 40},
    ),
    "borrowing limit of a cohort": Case(
        queues={
            "left-cq1": ("left", quota(10)),
            "left-cq2": ("left", quota(10, 5)),
            "right-cq": ("right", quota(10)),
        },
        cohorts={
            "root": ("", None),
            "left": ("root", quota(10, 5)),
            "right": ("root", quota(10)),
        },
        available={"left-cq1": 35, "left-cq2": 15, "right-cq": 50},
        potential={"left-cq1": 35, "left-cq2": 15, "right-cq": 50},
    ),
    "lending limit of a cohort": Case(
        queues={
            "left-cq1": ("left", quota(10, None, 5)),
            "left-cq2": ("left", quota(10)),
            "right-cq": ("right", quota(0)),
            "root-cq": ("root", quota(0)),
        },
        cohorts={
            "root": ("", None),
            "left": ("root", quota(0, None, 5)),
            "right": ("root", quota(0)),
        },
        available={"left-cq1": 20, "left-cq2": 15, "right-cq": 5, "root-cq": 5},
        potential={"left-cq1": 20, "left-cq2": 15, "right-cq": 5, "root-cq": 5},
    ),
}


@pytest.mark.parametrize("parent", ["parentName", "parent"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_queues_can_have_what_kueue_gives(case: Case, parent: str) -> None:
    queues = seen(case, parent)
    found = {each.queue: each for each in queues.figures()}
    now = {name: available(each, queues.pool(each)) for name, each in found.items()}
    assert {name: max(Decimal(0), amount or Decimal(0)) for name, amount in now.items()} == (
        case.available
    )
    most = {name: capacity(each, queues.pool(each)) for name, each in found.items()}
    assert most == case.potential


def test_free_to_borrow_leaves_out_its_own() -> None:
    queues = seen(CASES["borrowing limit of a cohort"], "parentName")
    free = {each.queue: borrowable(queues, each) for each in queues.figures()}
    assert free == {"left-cq1": 25, "left-cq2": 5, "right-cq": 40}


def test_a_cohort_that_changes_counts_at_once() -> None:
    case = CASES["borrowing limit of a cohort"]
    queues = seen(case, "parentName")
    assert borrowable(queues, queues.figures()[0]) == 25
    narrower = {**case.cohorts, "left": ("root", quota(10, 1))}
    show(queues.view, narrower, "parentName")
    assert borrowable(queues, queues.figures()[0]) == 21


def test_cohorts_in_a_circle_are_survived() -> None:
    case = Case(
        queues={"cq1": ("a", quota(4)), "cq2": ("b", quota(4))},
        cohorts={"a": ("b", None), "b": ("a", None)},
    )
    queues = seen(case, "parentName")
    assert all(borrowable(queues, each) is not None for each in queues.figures())


def borrowable(queues: KueueQueues, own: Figures) -> Decimal | None:
    return free_to_borrow(own, queues.pool(own))


def seen(case: Case, parent: str) -> KueueQueues:
    view = View((CLUSTER_QUEUES, COHORTS))
    bodies = [queue(name, *each, case.used.get(name, 0)) for name, each in case.queues.items()]
    view.store(CLUSTER_QUEUES).replace([read(CLUSTER_QUEUES, each) for each in bodies])
    show(view, case.cohorts, parent)
    return KueueQueues(view, RESOURCE)


def show(view: View, cohorts: dict[str, tuple[str, Quota | None]], parent: str) -> None:
    bodies = [
        {"metadata": {"name": name}, "spec": {parent: above, "resourceGroups": groups(own)}}
        for name, (above, own) in cohorts.items()
    ]
    view.store(COHORTS).replace([read(COHORTS, each) for each in bodies])


def read(resource: Any, body: dict[str, Any]) -> Any:
    return decode(msgspec.json.encode(body), resource.type, "Reading")


def queue(name: str, cohort: str, own: Quota, used: float) -> dict[str, Any]:
    usage = [{"name": "red", "resources": [{"name": RESOURCE, "total": f"{used}"}]}]
    return {
        "metadata": {"name": name},
        "spec": {"cohortName": cohort, "resourceGroups": groups(own)},
        "status": {"flavorsUsage": usage, "flavorsReservation": usage},
    }


def groups(own: Quota | None) -> list[dict[str, Any]]:
    if own is None:
        return []
    limits = dict(zip(("nominalQuota", "borrowingLimit", "lendingLimit"), own, strict=True))
    told = {name: f"{amount}" for name, amount in limits.items() if amount is not None}
    flavor = {"name": "red", "resources": [{"name": RESOURCE, **told}]}
    return [{"coveredResources": [RESOURCE], "flavors": [flavor]}]
