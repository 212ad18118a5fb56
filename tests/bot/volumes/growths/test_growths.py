"""PVCs that are made larger: what it does and costs is said first, and it is for good."""

from datetime import timedelta

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import ConflictError, LimitError, UserError
from bot.volumes.growths.tables import GrowthPhase
from playground.arm.estate import TIB
from playground.arm.trident import Wanted, export
from playground.ledger import Fault
from tests.bot.ground import BOB, CAROL, ERIN
from tests.bot.volumes.growths.growing import Growing
from tests.bot.volumes.losing import find, lose, said
from tests.bot.volumes.repairs.repairing import APPROVE
from tests.bot.volumes.rig import CLAIM
from tests.databases import ON_BOTH

CLAIMS = "patch persistentvolumeclaims"


def refusal(growing: Growing, size: str = "2Ti", claim: str = CLAIM) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        growing.offer(size, claim)
    return caught.value.message, caught.value.hint


def test_what_it_does_is_said_first(growing: Growing) -> None:
    assert [" ".join(each.split()) for each in growing.offer().splitlines()] == [
        "Grow lane-data to 2 TiB?",
        "This is permanent: PVCs cannot shrink.",
        "Size 1 TiB → 2 TiB",
        "Pool standard: 2 TiB free afterwards",
        "Throughput 16.4 MiB/s → about 32.8 MiB/s",
        "Cost 153.60 a month more of what the pool already costs",
        "[Grow it]",
    ]
    assert growing.effects() == []


def test_foreign_claims_do_not_grow(growing: Growing) -> None:
    marks = {"quartermaster.dev/dataset-share": "s1", "quartermaster.dev/installation": "i"}
    growing.world.patch("persistentvolumeclaims", CLAIM, {"metadata": {"labels": marks}}, "team-a")
    growing.look()
    assert refusal(growing) == (
        "PVC lane-data shows the cache of a dataset, which is shared.",
        "Name one of the team's own PVCs: `/anf volumes` lists them.",
    )


def test_claim_and_volume_grow(growing: Growing) -> None:
    row_id = growing.grow()
    growing.later(minutes=1)
    assert growing.growth(row_id).phase == GrowthPhase.DONE
    assert growing.claim()["status"]["capacity"] == {"storage": "2Ti"}
    assert growing.volume.quota == 2 * TIB
    assert growing.effects() == [CLAIMS]
    assert growing.notes(row_id) == {"ended": f"<@{ERIN}> `lane-data` has grown to 2 TiB."}
    lines = growing.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in lines] == [
        ("anf.grow", ERIN), ("anf.grow_ended", None),
    ]  # fmt: skip


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_grows_it_once(growing: Growing, fault: Fault) -> None:
    row_id = growing.grow()
    growing.outside.ledger.by_name[CLAIMS] = [fault]
    growing.later(minutes=2)
    assert (growing.growth(row_id).phase, growing.volume.quota) == (GrowthPhase.DONE, 2 * TIB)


@ON_BOTH
def test_every_step_outlives_a_restart(growing: Growing) -> None:
    row_id = growing.grow()
    for _ in range(20):
        growing.restart()
        growing.later(seconds=2)
    assert (growing.growth(row_id).phase, growing.effects()) == (GrowthPhase.DONE, [CLAIMS])


@ON_BOTH
def test_growth_above_the_threshold_is_approved(growing: Growing) -> None:
    assert "An approver other than you has to approve it." in growing.offer("3Ti")
    row_id = growing.grow("3Ti")
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.effects()) == (GrowthPhase.ASKED, [])
    assert "@U0CAROL can decide." in growing.card_of(row_id, APPROVE)
    growing.say(row_id)
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.volume.quota) == (GrowthPhase.DONE, 3 * TIB)
    assert growing.asked_anew == [(CAROL,)]


def test_denied_growth_asks_for_nothing(growing: Growing) -> None:
    row_id = growing.grow("3Ti")
    growing.later(minutes=1)
    growing.say(row_id, Verdict.DENY)
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.effects()) == (GrowthPhase.DENIED, [])
    assert growing.notes(row_id) == {
        "ended": f"<@{ERIN}> The growth of `lane-data` was denied. Nothing was changed."
    }


def test_approver_who_lost_the_right_is_asked_anew(growing: Growing) -> None:
    row_id = growing.grow("3Ti")
    growing.later(minutes=1)
    growing.say(row_id)
    growing.let_approve(ERIN)
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.effects()) == (GrowthPhase.ASKED, [])
    said = "An approver lost the right to approve, so a new approval is needed."
    assert said in growing.card_of(row_id)
    growing.let_approve(BOB, CAROL)
    growing.say(row_id)
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.volume.quota) == (GrowthPhase.DONE, 3 * TIB)


def test_full_pool_refuses_before_and_at_the_act(growing: Growing) -> None:
    assert refusal(growing, "8Ti") == (
        "Pool standard has 3 TiB free, but lane-data needs 7 TiB more.",
        "Ask for less, or ask an admin to grow the pool in Azure.",
    )
    row_id = growing.grow("3Ti")
    growing.later(minutes=1)
    growing.arm.estate.add_volume(growing.arm.standard, "other", 2 * TIB)
    growing.say(row_id)
    growing.later(minutes=1)
    row = growing.growth(row_id)
    assert (row.phase, row.reason, growing.effects()) == (
        GrowthPhase.FAILED,
        "Pool standard has 1 TiB free, but lane-data needs 2 TiB more.",
        [],
    )


def test_what_cannot_grow_is_refused_with_reasons(growing: Growing) -> None:
    assert refusal(growing, "1Ti") == (
        "PVC lane-data has 1 TiB, and PVCs cannot shrink.",
        "Ask for more, for example `/anf grow lane-data 2Ti`.",
    )
    models = growing.arm.estate.add_volume(growing.arm.premium, "models", TIB)
    export(growing.world, models, "models", Wanted("team-a", "models", 1024))
    assert refusal(growing, claim="models")[0] == (
        "The PV of PVC models was created manually. Kubernetes cannot grow such PVs."
    )
    with pytest.raises(ConflictError):
        growing.offer(claim="imagenet")
    growing.world.patch("storageclasses", "azurenetappfiles", {"allowVolumeExpansion": False})
    assert refusal(growing)[0] == "Storage class azurenetappfiles does not allow PVCs to grow."


def test_lost_volume_does_not_grow(growing: Growing) -> None:
    lose(growing, CLAIM)
    assert refusal(growing) == said(CLAIM, "grown")
    find(growing)
    row_id = growing.grow()
    lose(growing, CLAIM)
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.effects()) == (GrowthPhase.FAILED, [])


def test_two_who_ask_get_one_growth(growing: Growing) -> None:
    growing.grow("3Ti")
    assert refusal(growing)[0] == f"<@{ERIN}> already requested growth of lane-data to 3 TiB."


def test_quota_of_the_namespace_is_said_in_words(growing: Growing) -> None:
    hard = {"hard": {"requests.storage": "2Ti"}}
    growing.world.create(
        "resourcequotas", {"metadata": {"name": "storage"}, "spec": hard}, "team-a"
    )
    row_id = growing.grow()
    growing.later(minutes=1)
    row = growing.growth(row_id)
    assert row.phase == GrowthPhase.FAILED
    assert row.reason.startswith("The namespace's ResourceQuota does not allow it.")


def test_volume_moved_a_moment_ago_does_not_grow(growing: Growing) -> None:
    growing.volume.pool = growing.arm.premium
    assert refusal(growing) == said(CLAIM, "grown")
    row_id = growing.grow()
    growing.later(minutes=1)
    assert (growing.growth(row_id).phase, growing.effects()) == (GrowthPhase.FAILED, [])
    growers = growing.world.inside.claims.growers
    told = growers["csi.trident.netapp.io"](growing.pv, 2 * TIB)
    assert told == f"could not find volume {growing.pv}"


def test_growth_that_never_comes_ends_with_words(growing: Growing) -> None:
    growing.world.inside.claims.growers["csi.trident.netapp.io"] = lambda _name, _size: "no room"
    row_id = growing.grow()
    growing.later(minutes=2)
    assert "Kubernetes reports: ControllerResizeError: no room" in growing.card_of(row_id)
    growing.outside.clock.moment += timedelta(hours=25)
    growing.later(minutes=1)
    row = growing.growth(row_id)
    assert (row.phase, row.reason) == (
        GrowthPhase.FAILED, "It did not grow within 1d. ControllerResizeError: no room",
    )  # fmt: skip
    assert row.unblock.startswith("The PVC keeps requesting 2 TiB, which cannot be undone.")


def test_without_changes_nothing_grows(growing: Growing) -> None:
    told = growing.policy.model_dump()
    told["anf"]["changes"] = None
    growing.policy = type(growing.policy).model_validate(told)
    assert refusal(growing)[0] == "Changing volumes is not enabled."


def test_more_than_azure_makes_is_refused(growing: Growing) -> None:
    with pytest.raises(LimitError):
        growing.offer("200Ti")
