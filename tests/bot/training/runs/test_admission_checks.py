"""Admission checks of Kueue: told while they are open, and the end where one rejects the run."""

from typing import Any

import pytest

from bot.quotas.engines.admission import AdmissionPhase, Blocked, Cause
from bot.quotas.engines.kueue.conditions import blocked
from bot.quotas.engines.kueue.runs import standing_of
from bot.training.tables import RunPhase
from playground.cluster.objects.conditions import set_condition
from playground.cluster.objects.kinds import WORKLOAD
from tests.bot.ground import ALICE
from tests.bot.training.objects import condition, workload
from tests.bot.training.rig import Rig

RESERVED = condition("QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue team-a")
# As workload_controller.go of Kueue 0.19 puts it together.
REJECTED = 'AdmissionCheck in Rejected state: "prov" (no A3 machines in europe-west4)'
GAVE_UP = "An admission check rejected it, and Kueue gave up on it:"


def check(state: str, message: str = "", name: str = "prov") -> dict[str, Any]:
    return {"name": name, "state": state, "message": message}


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        (
            (check("Pending", "Provisioning Request is not yet accepted."), check("Ready")),
            "AdmissionCheck prov is Pending: Provisioning Request is not yet accepted",
        ),
        (
            (check("Retry", "no capacity\nin zone b"), check("Pending", name="budget")),
            "AdmissionCheck prov is Retry: no capacity in zone b; AdmissionCheck budget is Pending",
        ),
        ((), ""),
    ],
)
def test_open_checks_say_what_they_wait_for(checks: tuple[Any, ...], said: str) -> None:
    assert blocked(workload(RESERVED, checks=checks)) == Blocked(Cause.CHECKS, said)


@pytest.mark.parametrize(
    ("conditions", "checks", "quote"),
    [
        (  # 0.10 and later
            [
                condition(
                    "Evicted",
                    "DeactivatedDueToAdmissionCheck",
                    f"The workload is deactivated due to {REJECTED}",
                )
            ],
            (check("Pending", "Reset to Pending after eviction. Previously: Rejected"),),
            REJECTED,
        ),
        (  # with the cause in the message alone
            [condition("Evicted", "Deactivated", f"The workload is deactivated due to {REJECTED}")],
            (),
            REJECTED,
        ),
        (  # before 0.14 checks stay as they were
            [condition("Evicted", "InactiveWorkload", "The workload is deactivated")],
            (check("Rejected", "over budget"),),
            "AdmissionCheck prov is Rejected: over budget",
        ),
        (  # 0.6
            [condition("Finished", "AdmissionChecksRejected", "Admission checks [prov] rejected")],
            (check("Rejected"),),
            "Admission checks [prov] rejected",
        ),
    ],
)
def test_rejection_is_the_end_in_every_version(
    conditions: list[Any], checks: tuple[Any, ...], quote: str
) -> None:
    is_finished = conditions[0]["type"] == "Finished"
    found = standing_of(workload(*conditions, checks=checks, active=is_finished))
    assert (found.phase, found.reason, found.quote) == (AdmissionPhase.GIVEN_UP, GAVE_UP, quote)


def test_hold_by_a_person_is_no_rejection() -> None:
    held = condition("Evicted", "Deactivated", "The workload is deactivated")
    found = standing_of(workload(held, checks=(check("Pending"),), active=False))
    assert (found.phase, found.reason) == (
        AdmissionPhase.WAITING,
        "It is on hold: its Workload was deactivated.",
    )


def test_retry_goes_back_to_its_queue() -> None:
    message = 'Evicted due to AdmissionCheck in Retry state: "prov" (no capacity)'
    found = standing_of(workload(condition("Evicted", "AdmissionCheck", message)))
    assert (found.phase, found.quote) == (AdmissionPhase.WAITING, message)


def test_a_rejected_run_ends_and_frees_its_quota(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    (work,) = rig.world.list("workloads", "team-a")

    def reject(obj: Any) -> None:
        why = ("AdmissionCheck", REJECTED)
        set_condition(obj, "DeactivationTarget", status=True, why=why, now=rig.clock.now())
        obj["spec"]["active"] = False

    with rig.world.inside.lock:
        rig.world.inside.world.change(WORKLOAD, ("team-a", work["metadata"]["name"]), reject)
    rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == RunPhase.FAILED
    assert rig.notes(run_id)["ended"].startswith(
        f"<@{ALICE}> lane failed before it started. {GAVE_UP} {REJECTED}."
    )
    assert rig.world.list("jobs", "team-a") == []
