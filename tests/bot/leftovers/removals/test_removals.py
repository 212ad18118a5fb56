"""Removals above a limit: requested, decided by another person, checked again, done once."""

import pytest

from bot.approvals import ApprovalPhase, Verdict
from bot.audit import lines_about
from bot.config import Circle, Leftovers, Settings
from bot.datasets.caches.tables import CacheIntent
from bot.errors import ConflictError, LimitError, NotAllowedError
from bot.leftovers.removals.tables import RemovalKind, RemovalPhase
from bot.snapshots.deletions.tables import DeletionPhase
from bot.snapshots.tables import SnapshotIntent
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, TEAM_A
from tests.bot.leftovers.removals.removing import TEN_GIB, Removing
from tests.bot.snapshots.resizes.resizing import APPROVALS, PRICES
from tests.databases import ON_BOTH

STAYS = "PVC imagenet was not removed."


@pytest.mark.parametrize(
    ("limit", "size_gib", "cost", "needs"),
    [
        ({}, None, None, False),
        (TEN_GIB, 10, None, False),
        (TEN_GIB, 10.5, 0, True),
        (TEN_GIB, None, 0, True),
        ({"approve_above": 5}, 1, None, True),
        ({"approve_above": 5}, 5000, 5, False),
        ({"approve_above": 5}, 1, 5.01, True),
        ({"approve_above": 5, **TEN_GIB}, 9, None, False),
        ({"approve_above": 5, **TEN_GIB}, 9, 6, True),
        ({"approve_above": 5, **TEN_GIB}, None, None, True),
        ({"approve_above_gib": 0}, 0, None, False),
    ],
)
def test_what_is_unknown_needs_an_approval(
    limit: dict[str, float], size_gib: float | None, cost: float | None, *, needs: bool
) -> None:
    size = None if size_gib is None else int(size_gib * 2**30)
    assert Leftovers.model_validate(limit).needs_approval(size, cost) is needs


def test_without_limits_nothing_is_requested(removing: Removing) -> None:
    removing.set_limit({})
    assert removing.asks(removing.claim_value()) == ""
    removing.set_limit({"approve_above_gib": 1024})
    assert removing.asks(removing.claim_value()) == ""


def test_a_large_claim_waits_for_approval(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    removing.pass_time(minutes=30)
    assert removing.deletions_begun() == []
    assert removing.effects() == []
    assert removing.told.splitlines() == [
        "It holds 1 TiB and costs 102.40 a month; above 10 GiB a removal needs approval.",
        (
            "Requested an approval to remove PVC imagenet. @U0CAROL can give it until"
            " 2026-11-22 12:00 UTC."
        ),
        "Until then it stays. A card in this channel shows the request.",
    ]
    assert removing.places(row_id) == [APPROVALS, TEAM_A]
    assert removing.shown(row_id, APPROVALS) == [
        "⏳ Remove PVC imagenet · Waiting for approval",
        "Its volume and data are deleted with it, unless its PV is retained.",
        "This cannot be undone. It is checked once more that nothing needs it.",
        "Waiting for 1 approval until 2026-11-22 12:00 UTC.",
        "@U0CAROL can decide.",
        "Place namespace team-a of cluster default",
        "Holds 1 TiB",
        "Monthly cost 102.40",
        "Requested by Erin in #C0TEAMA",
        "[Approve] [Deny]",
    ]
    assert removing.shown(row_id)[-1] == "[Withdraw]"


@ON_BOTH
def test_an_approved_claim_is_deleted_once(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    removing.restart()
    removing.decides(row_id)
    for _ in range(5):
        removing.restart()
        removing.pass_time(seconds=2)
    removing.pass_time(minutes=1)
    assert removing.request(row_id).phase == RemovalPhase.STARTED
    assert removing.deletions_begun() == [(ERIN, DeletionPhase.DONE)]
    assert removing.claim("imagenet") is None
    assert removing.effects() == ["delete persistentvolumeclaims"]
    assert (removing.approval(row_id).phase, removing.asked_anew) == (ApprovalPhase.USED, [CAROL])
    told = removing.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("removal.request", ERIN), ("approval.approve", CAROL), ("removal.ended", None),
    ]  # fmt: skip
    assert removing.notes(row_id) == {
        "ended": (
            f"<@{ERIN}> The removal of PVC imagenet was approved, and has started. It is checked"
            " once more that nothing needs it."
        )
    }


def test_a_snapshot_is_taken_first_after_approval(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value(saves=True))
    assert removing.shown(row_id)[2] == (
        "A snapshot is taken first, and stays. Then it is checked that nothing needs the PVC."
    )
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.claim("imagenet") is None
    assert len(removing.objects()) == 1


def test_nobody_approves_their_own_removal(removing: Removing) -> None:
    removing.set_limit(TEN_GIB, (CAROL, ERIN))
    row_id = removing.asks(removing.claim_value())
    with pytest.raises(NotAllowedError) as caught:
        removing.decides(row_id, by=ERIN)
    assert caught.value.message == "You cannot decide your own request."
    removing.pass_time(minutes=1)
    assert removing.claim("imagenet") is not None


def test_without_approvers_nothing_is_removed(removing: Removing) -> None:
    removing.set_limit(TEN_GIB, ())
    with pytest.raises(LimitError) as caught:
        removing.asks(removing.claim_value())
    assert caught.value.message == (
        "This request cannot be approved: it needs 1 approver(s) other than you, and there are 0."
    )
    assert "approvals.removal" in caught.value.hint
    assert removing.deletions_begun() == []


@pytest.mark.parametrize(
    ("end", "phase", "said"),
    [
        ("deny", RemovalPhase.DENIED, "was denied"),
        ("expire", RemovalPhase.EXPIRED, "was not decided in time"),
        ("withdraw", RemovalPhase.WITHDRAWN, "was withdrawn"),
    ],
)
def test_what_is_not_approved_stays(
    removing: Removing, end: str, phase: RemovalPhase, said: str
) -> None:
    row_id = removing.asks(removing.claim_value())
    if end == "deny":
        removing.decides(row_id, Verdict.DENY)
    elif end == "withdraw":
        removing.withdraws(row_id)
    removing.pass_time(hours=25)
    assert removing.request(row_id).phase == phase
    assert removing.notes(row_id)["ended"] == (
        f"<@{ERIN}> The request to remove PVC imagenet {said}. {STAYS}"
    )
    assert removing.claim("imagenet") is not None
    again = removing.asks(removing.claim_value())
    assert again not in {"", row_id}


def test_one_request_at_a_time_for_one_thing(removing: Removing) -> None:
    removing.asks(removing.claim_value())
    with pytest.raises(ConflictError) as caught:
        removing.asks(removing.claim_value(saves=True), person=ERIN)
    assert caught.value.message == (
        "<@U0ERIN> already requested to remove PVC imagenet; it waits for an approval."
    )


def test_only_owner_and_heads_withdraw(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    with pytest.raises(NotAllowedError) as caught:
        removing.withdraws(row_id, ALICE)
    assert caught.value.message == "<@U0ERIN> requested this removal."
    removing.withdraws(row_id, CAROL)
    with pytest.raises(ConflictError):
        removing.withdraws(row_id)


def test_what_is_mounted_meanwhile_stays(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    removing.mount()
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.request(row_id).phase == RemovalPhase.REFUSED
    assert removing.notes(row_id)["ended"].splitlines() == [
        f"<@{ERIN}> PVC imagenet is needed now. Pod user mounts it. {STAYS}",
        "Stop what uses it, or wait until it has ended. Then delete it again.",
    ]
    assert removing.approval(row_id).phase == ApprovalPhase.VOIDED
    assert removing.deletions_begun() == []


def test_what_has_grown_meanwhile_is_asked_again(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    removing.grow("2Ti")
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ERIN}> It holds or costs more than was approved: 2 TiB and 204.80 a month now,"
            f" 1 TiB and 102.40 a month then. {STAYS}"
        ),
        "Request it again, with what it is now.",
    ]
    assert removing.claim("imagenet") is not None


def test_another_claim_of_that_name_stays(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    body = removing.claim("imagenet")
    removing.world.delete("persistentvolumeclaims", "imagenet", "team-a")
    fresh = {"metadata": {"name": "imagenet"}, "spec": body["spec"] | {"volumeName": ""}}
    removing.pass_time(minutes=1)
    removing.world.create("persistentvolumeclaims", fresh, "team-a")
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.request(row_id).reason == (
        f"PVC imagenet is now a different PVC of the same name. Nothing was deleted. {STAYS}"
    )
    assert removing.claim("imagenet") is not None


def test_former_leads_remove_nothing(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    teams = removing.policy.teams
    team = teams["team-a"].model_copy(update={"leads": Circle(people=(BOB,))})
    removing.policy = removing.policy.model_copy(update={"teams": {**teams, "team-a": team}})
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.request(row_id).reason == f"Erin may no longer remove it. {STAYS}"
    assert removing.claim("imagenet") is not None


def test_it_waits_while_slack_does_not_answer(removing: Removing) -> None:
    row_id = removing.asks(removing.claim_value())
    removing.slack_is_down = True
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.deletions_begun() == []
    assert "Slack does not answer. Retrying." in removing.shown(row_id)
    removing.slack_is_down = False
    removing.pass_time(minutes=10)
    assert removing.deletions_begun() == [(ERIN, DeletionPhase.DONE)]


def test_former_approvers_count_no_longer(removing: Removing) -> None:
    removing.set_limit(TEN_GIB, (CAROL, BOB))
    row_id = removing.asks(removing.claim_value())
    removing.slack_is_down = True
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    removing.set_limit(TEN_GIB, (BOB,))
    removing.slack_is_down = False
    removing.pass_time(minutes=10)
    assert removing.deletions_begun() == []
    shown = removing.shown(row_id)
    assert shown[0] == "⏳ Remove PVC imagenet · Waiting for approval"
    assert "An approver lost the right to approve, so a new approval is needed." in shown
    assert "Slack does not answer. Retrying." not in shown
    removing.decides(row_id, by=BOB)
    removing.pass_time(minutes=1)
    assert removing.deletions_begun() == [(ERIN, DeletionPhase.DONE)]


def test_snapshots_count_with_the_size_of_their_claim(removing: Removing) -> None:
    snapshot = removing.taken()
    row_id = removing.asks(snapshot.id, RemovalKind.SNAPSHOT, ALICE)
    assert removing.told.splitlines()[0] == (
        "It holds 1 TiB and costs an unknown sum; above 10 GiB a removal needs approval."
    )
    removing.pass_time(minutes=1)
    assert removing.found(snapshot.id).wanted == SnapshotIntent.KEPT
    removing.decides(row_id)
    removing.pass_time(minutes=1)
    assert removing.objects() == []


def test_large_caches_are_evicted_after_approval(removing: Removing) -> None:
    cache = removing.cached()
    row_id = removing.asks(cache, RemovalKind.CACHE, ALICE)
    assert removing.cache(cache).wanted == CacheIntent.READY
    assert removing.shown(row_id)[1:3] == [
        "Caching it again copies everything again.",
        "It is checked once more that nothing needs it.",
    ]
    removing.decides(row_id)
    removing.pass_time(seconds=10)
    assert removing.cache(cache).wanted == CacheIntent.EVICT
    assert removing.cache(cache).evict_by == ALICE


def test_caches_cost_what_their_cluster_charges(removing: Removing) -> None:
    removing.set_limit({"approve_above": 100.0})
    east = {"classes": {"standard": {"price_per_gib_month": 2.0}}}
    told = {
        "clusters": {"default": {}, "east": {}},
        "datasets": PRICES | {"clusters": {"east": east}},
    }
    removing.policy = Settings.model_validate(removing.policy.model_dump() | told)
    assert removing.asks(removing.cached(), RemovalKind.CACHE, ALICE) == ""
    row_id = removing.asks(removing.cached(cluster="east"), RemovalKind.CACHE, ALICE)
    assert removing.shown(row_id)[4:7] == [
        "Place class standard of cluster east",
        "Holds 300 GiB",
        "Monthly cost 600.00",
    ]


def test_leftover_objects_wait_but_jobs_do_not(removing: Removing) -> None:
    removing.set_limit(TEN_GIB, (CAROL, BOB))
    orphan = removing.left_over()
    row_id = removing.asks(orphan, RemovalKind.OBJECT, CAROL, APPROVALS)
    assert removing.orphan(orphan).wanted_by is None
    removing.decides(row_id, by=BOB)
    removing.pass_time(seconds=10)
    assert removing.orphan(orphan).wanted_by == CAROL
    job = removing.left_over("Job", uid="2")
    assert removing.asks(job, RemovalKind.OBJECT, CAROL, APPROVALS) == ""
