"""Repairs: shown, approved, written, started anew, checked; and what stands when one fails."""

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import ConflictError
from bot.volumes.records import ClaimPlace, stale
from bot.volumes.repairs.tables import RepairPhase
from playground.arm.trident import CONTROLLER, HOME
from playground.ledger import Fault
from tests.bot.ground import CAROL, ERIN
from tests.bot.volumes.repairs.repairing import APPROVE, Workshop
from tests.bot.volumes.rig import CLAIM
from tests.databases import ON_BOTH

PLACE = ClaimPlace("default", "team-a", CLAIM)


def is_stale(shop: Workshop) -> bool:
    return shop.do(lambda session: stale(session, PLACE)) is not None


def test_repair_is_shown_to_the_letter(shop: Workshop) -> None:
    old = shop.record()
    plan = shop.plan()
    assert (plan.volume_name, plan.old_id, plan.new_id) == (shop.pv, old, shop.place)
    assert shop.effects() == []


@ON_BOTH
def test_approved_repair_tells_trident(shop: Workshop) -> None:
    shop.look_at_azure()
    assert is_stale(shop)
    row_id = shop.ask()
    shop.later(minutes=1)
    assert (shop.effects(), shop.found(row_id).phase) == ([], RepairPhase.ASKED)
    shop.decide(row_id)
    shop.later(minutes=2)
    row = shop.found(row_id)
    assert (row.phase, shop.record(), is_stale(shop)) == (RepairPhase.DONE, shop.place, False)
    assert shop.effects() == ["patch tridentvolumes", "patch deployments"]
    assert shop.asked_anew == [(ERIN,)]
    assert shop.notes(row_id) == {
        "ended": f"<@{CAROL}> Trident's record of `lane-data` is repaired."
    }
    lines = shop.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in lines] == [
        ("anf.repair", CAROL),
        ("approval.approve", ERIN),
        ("anf.repair_ended", None),
    ]


def test_restart_is_as_kubectl_does_it(shop: Workshop) -> None:
    before = shop.deployment()
    shop.approved()
    shop.later(minutes=2)
    after = shop.deployment()
    (mark,) = after["spec"]["template"]["metadata"]["annotations"].items()
    assert mark[0] == "kubectl.kubernetes.io/restartedAt"
    assert after["spec"]["template"]["spec"] == before["spec"]["template"]["spec"]
    assert after["status"]["observedGeneration"] == before["metadata"]["generation"] + 1


@pytest.mark.parametrize("name", ["patch tridentvolumes", "patch deployments"])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_repair_all_the_same(shop: Workshop, name: str, fault: Fault) -> None:
    row_id = shop.approved()
    shop.outside.ledger.by_name[name] = [fault]
    shop.later(minutes=3)
    assert (shop.found(row_id).phase, shop.record()) == (RepairPhase.DONE, shop.place)
    generation = shop.deployment()["metadata"]["generation"]
    assert generation == 2


def test_every_step_survives_a_restart(shop: Workshop) -> None:
    row_id = shop.approved()
    seen = []
    for _ in range(40):
        shop.restart()
        shop.later(seconds=3)
        phase = shop.found(row_id).phase
        if phase not in seen:
            seen.append(phase)
    assert seen[-1] == RepairPhase.DONE
    assert shop.effects() == ["patch tridentvolumes", "patch deployments"]


def test_look_meanwhile_does_not_call_it_mended(shop: Workshop) -> None:
    shop.look_at_azure()
    row_id = shop.approved()
    shop.look()
    shop.loop.run_due()
    while shop.found(row_id).phase in {RepairPhase.ASKED, RepairPhase.PATCHING}:
        shop.later(seconds=2)
    assert shop.record() == shop.place
    shop.look_at_azure()
    assert is_stale(shop)
    shop.later(minutes=2)
    assert not is_stale(shop)


def test_denied_repair_changes_nothing(shop: Workshop) -> None:
    row_id = shop.ask()
    shop.decide(row_id, verdict=Verdict.DENY)
    shop.later(minutes=1)
    assert (shop.found(row_id).phase, shop.effects()) == (RepairPhase.DENIED, [])
    assert shop.notes(row_id) == {
        "ended": f"<@{CAROL}> The repair of `lane-data` was denied. Nothing was changed."
    }


def test_nobody_decides_until_it_expires(shop: Workshop) -> None:
    row_id = shop.ask()
    shop.later(hours=25)
    assert (shop.found(row_id).phase, shop.effects()) == (RepairPhase.EXPIRED, [])


def test_approver_who_lost_the_right_is_asked_anew(shop: Workshop) -> None:
    row_id = shop.approved()
    shop.let_approve(CAROL)
    shop.later(minutes=1)
    assert (shop.found(row_id).phase, shop.effects()) == (RepairPhase.ASKED, [])
    assert "a new approval is needed" in shop.shown(row_id)


def test_volume_that_moved_on_fails_with_nothing_done(shop: Workshop) -> None:
    row_id = shop.approved()
    shop.volume.pool = shop.arm.ultra
    shop.later(minutes=1)
    row = shop.found(row_id)
    assert (row.phase, row.reason, row.stands) == (
        RepairPhase.FAILED, "The volume is now somewhere else in Azure.", "Nothing was changed.",
    )  # fmt: skip
    assert shop.effects() == []


def test_other_id_in_the_record_is_left_alone(shop: Workshop) -> None:
    row_id = shop.approved()
    shop.set_record("/somebody/else")
    shop.later(minutes=1)
    row = shop.found(row_id)
    assert row.reason == (
        "Trident's record was changed outside Quartermaster to id /somebody/else."
    )
    assert (shop.record(), shop.effects()) == ("/somebody/else", [])


def test_record_changed_meanwhile_is_looked_at_again(shop: Workshop) -> None:
    row_id = shop.approved()
    shop.world.faults.conflicts = 1
    shop.later(minutes=2)
    assert (shop.found(row_id).phase, shop.record()) == (RepairPhase.DONE, shop.place)


def test_record_that_is_right_already_needs_a_start(shop: Workshop) -> None:
    row_id = shop.approved()
    shop.set_record(shop.place)
    shop.later(minutes=2)
    assert (shop.found(row_id).phase, shop.effects()) == (RepairPhase.DONE, ["patch deployments"])


def test_trident_that_writes_the_old_id_back(shop: Workshop) -> None:
    old = shop.record()
    row_id = shop.approved()
    while shop.found(row_id).phase != RepairPhase.ROLLING:
        shop.later(seconds=2)
    shop.set_record(old)
    shop.later(minutes=3)
    assert (shop.found(row_id).phase, shop.record(), shop.starts()) == (
        RepairPhase.DONE,
        shop.place,
        2,
    )


NOT_STARTED = (
    "TridentVolume PV has the new id of the volume, but Trident was not restarted and still uses"
    " the old id. Restart it: `kubectl -n trident rollout restart deployment/trident-controller`."
)


@pytest.mark.parametrize(
    ("resource", "stands"),
    [("tridentvolumes", "Nothing was changed."), ("deployments", NOT_STARTED)],
)
def test_right_that_is_missing_says_what_stands(shop: Workshop, resource: str, stands: str) -> None:
    row_id = shop.approved()
    shop.world.forbid("patch", resource)
    shop.later(minutes=1)
    row = shop.found(row_id)
    assert (row.phase, row.stands) == (RepairPhase.FAILED, stands.replace("PV", shop.pv))
    assert "forbidden" in row.reason
    assert "quartermaster doctor" in row.unblock


def test_controller_that_stays_away_is_told(shop: Workshop) -> None:
    row_id = shop.approved()
    shop.world.miss_image("docker.io/netapp/trident:26.06.0")
    shop.later(minutes=30)
    row = shop.found(row_id)
    assert row.phase == RepairPhase.FAILED
    assert row.reason.startswith("Trident's controller did not become ready.")
    assert "Until it is ready, no Trident volume is mounted or created." in row.stands
    assert "rollout undo deployment/trident-controller" in row.unblock


def test_two_who_ask_get_one_repair(shop: Workshop) -> None:
    plan = shop.plan()
    shop.ask(plan)
    with pytest.raises(ConflictError) as caught:
        shop.ask(plan)
    assert caught.value.message == f"<@{CAROL}> already requested the repair of lane-data."


def test_what_needs_no_repair_is_refused(shop: Workshop) -> None:
    shop.set_record(shop.place)
    with pytest.raises(ConflictError) as caught:
        shop.plan()
    assert caught.value.message == (
        "Trident's record of PVC lane-data is correct. There is nothing to repair."
    )
    shop.volume.pool = shop.arm.standard
    with pytest.raises(ConflictError) as caught:
        shop.plan()
    assert caught.value.message == (
        "The volume of PVC lane-data is where its PV says. There is nothing to repair."
    )


def test_card_shows_both_writes_to_deciders(shop: Workshop) -> None:
    old, row_id = shop.record(), shop.ask()
    told = shop.shown(row_id, APPROVE)
    assert f"    - {old}\n    + {shop.place}" in told
    assert f"Deployment {HOME}/{CONTROLLER}, as kubectl rollout restart does:" in told
    assert f"@{ERIN} can decide." in told
    assert "can decide" not in shop.shown(row_id)


def test_rollout_long_after_the_first_is_not_late(shop: Workshop) -> None:
    row_id = shop.ask()
    shop.later(hours=2)
    shop.decide(row_id)
    shop.later(minutes=2)
    assert (shop.found(row_id).phase, shop.found(row_id).reason) == (RepairPhase.DONE, "")
