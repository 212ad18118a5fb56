"""What Azure refuses, forgets, throttles, loses and never ends, while volumes are changed."""

from datetime import timedelta

import pytest

from bot.reconcile import due
from bot.volumes.changes.tables import ChangePhase
from playground.arm.estate import GIB, TIB, Volume
from playground.arm.operations import Outcome
from playground.ledger import Fault
from tests.bot.volumes.changes.rig import ERIN, Rig, level, mibps

HOUR = 3600


def growing(rig: Rig, **more: object) -> tuple[str, Volume]:
    """An approved change whose target pool has to grow, about to begin."""
    data = rig.volume("data", rig.arm.standard)
    rig.arm.estate.add_volume(rig.arm.premium, "other", 1536 * GIB)
    row_id = rig.ask(level("data", "Premium", pool="premium", **more))
    rig.run()
    rig.vote(row_id)
    return row_id, data


def outcomes(rig: Rig, *wanted: Outcome) -> None:
    rig.arm.app.routes.operations.outcomes = list(wanted)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            "Failed",
            (
                "Azure ended the operation as Failed: InternalServerError: An internal error"
                " occurred. Retry the operation."
            ),
        ),
        ("Canceled", "Azure ended the operation as Canceled."),
    ],
)
def test_failed_move_takes_the_growth_back(rig: Rig, outcome: Outcome, said: str) -> None:
    row_id, data = growing(rig)
    outcomes(rig, "Succeeded", outcome)
    rig.pass_time(minutes=5)
    assert (data.pool, rig.arm.premium.size) == (rig.arm.standard, 2 * TIB)
    assert rig.row(row_id).phase == ChangePhase.FAILED
    assert rig.notes(row_id)["ended"].splitlines()[0] == (
        f"<@{ERIN}> Failed: data to Premium (pool premium). {said}"
    )
    assert rig.row(row_id).grown_from is None


def test_failed_growth_moves_nothing(rig: Rig) -> None:
    row_id, data = growing(rig)
    outcomes(rig, "Failed")
    rig.pass_time(minutes=5)
    assert (data.pool, rig.arm.premium.size) == (rig.arm.standard, 2 * TIB)
    assert rig.effects() == ["PATCH capacityPools"]
    assert rig.row(row_id).phase == ChangePhase.FAILED


def test_pool_that_stays_grown_is_told(rig: Rig) -> None:
    row_id, _ = growing(rig)
    outcomes(rig, "Succeeded", "Failed", "Failed")
    rig.pass_time(minutes=5)
    assert rig.arm.premium.size == 3 * TIB
    told = rig.card(row_id)
    assert told.startswith("❌ team-a/data to Premium (pool premium) · Failed")
    assert "Pool premium was not shrunk. Azure ended the operation as Failed" in told
    assert "Target pool   premium: 2 TiB → 3 TiB (grown)" in told


def test_refusal_is_told_as_azure_words_it(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium"))
    rig.arm.app.routes.permissions.not_actions = ["*/PoolChange/action"]
    rig.pass_time(minutes=1)
    row = rig.row(row_id)
    assert row.phase == ChangePhase.FAILED
    assert row.outcome.startswith(
        "Moving volume data to pool premium: Azure returned AuthorizationFailed: The client"
    )
    assert row.hint == (
        "A platform admin has to give the bot's Azure identity the role in docs/anf.md."
    )


def test_never_ending_move_is_late_and_followed(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    outcomes(rig, "never")
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(hours=2)
    told = rig.card(row_id)
    assert told.startswith(
        "⚠️ team-a/data to Premium (pool premium) · Applying: moving to pool premium"
    )
    assert "Late: Azure has been working since 2026-11-21 12:00 UTC. Still waiting." in told
    asked = rig.arm.asked().count("GET operationResults")
    rig.pass_time(hours=1)
    assert rig.arm.asked().count("GET operationResults") - asked == 12
    assert rig.effects() == ["POST poolChange"]
    (going,) = rig.arm.app.routes.operations.all.values()
    going.outcome = "Succeeded"
    rig.pass_time(minutes=10)
    assert data.pool is rig.arm.premium
    assert rig.row(row_id).phase == ChangePhase.DONE


def test_throttled_request_waits_as_long_as_asked(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100))
    rig.pass_time(seconds=1)
    rig.arm.app.too_many, rig.arm.app.retry_after_seconds = 1, 90
    rig.pass_time(seconds=2)
    begun = rig.clock.moment
    nearest = rig.do(lambda session: due.earliest(session, rig.loop.kinds))
    assert nearest is not None
    assert nearest - begun > timedelta(seconds=80)
    assert "Azure returned TooManyRequests" in rig.card(row_id)
    rig.pass_time(minutes=3)
    assert rig.row(row_id).phase == ChangePhase.DONE


def test_conflict_of_others_is_waited_out(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    rig.arm.app.conflicts = 3
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(minutes=3)
    assert data.pool is rig.arm.premium
    assert rig.row(row_id).phase == ChangePhase.DONE


def test_errors_of_azure_are_tried_again(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(seconds=1)
    rig.arm.app.unavailable = 5
    rig.pass_time(minutes=10)
    assert data.pool is rig.arm.premium
    assert rig.row(row_id).phase == ChangePhase.DONE
    assert len(rig.arm.app.routes.operations.all) == 1


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_change_nothing_twice(rig: Rig, fault: Fault) -> None:
    row_id, data = growing(rig, is_shrinking=True, seconds=30 * HOUR)
    rig.arm.ledger.by_turn = {
        (name, turn): fault
        for name, turns in (("POST poolChange", (1, 3)), ("PATCH capacityPools", (1, 3, 5, 7)))
        for turn in turns
    }
    rig.pass_time(hours=1)
    sizes = (rig.arm.standard.size, rig.arm.premium.size)
    assert (data.pool, sizes) == (rig.arm.premium, (3 * TIB, 3 * TIB))
    rig.pass_time(hours=31)
    sizes = (rig.arm.standard.size, rig.arm.premium.size)
    assert (data.pool, sizes) == (rig.arm.standard, (4 * TIB, 2 * TIB))
    assert rig.row(row_id).phase == ChangePhase.RETURNED
    begun = len(rig.arm.app.routes.operations.all)
    assert begun == 6


def test_operation_that_azure_forgot_is_looked_for(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(seconds=3)
    assert rig.row(row_id).operation
    rig.clock.moment += timedelta(minutes=1)
    rig.arm.app.routes.operations.settle()
    rig.arm.app.routes.operations.all.clear()
    rig.pass_time(minutes=2)
    assert data.pool is rig.arm.premium
    assert rig.row(row_id).phase == ChangePhase.DONE
    assert rig.effects() == ["POST poolChange"]


def test_move_that_others_began_is_adopted(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(seconds=1)
    data.pool = rig.arm.premium
    rig.pass_time(minutes=1)
    assert rig.row(row_id).phase == ChangePhase.DONE
    assert rig.effects() == []


def test_volume_moved_elsewhere_is_left_alone(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium", seconds=30 * HOUR))
    rig.pass_time(minutes=1)
    data.pool = rig.arm.ultra
    rig.pass_time(hours=31)
    assert data.pool is rig.arm.ultra
    assert rig.row(row_id).phase == ChangePhase.RETURNED
    assert rig.row(row_id).remains == (
        "Volume data is no longer in pool premium or standard: it was moved or deleted outside"
        " Quartermaster, so it was not reverted."
    )


def test_pool_that_others_filled_stays_large(rig: Rig) -> None:
    row_id, data = growing(rig, seconds=30 * HOUR)
    rig.pass_time(minutes=5)
    rig.arm.estate.add_volume(rig.arm.premium, "late", 512 * GIB)
    rig.arm.premium.size = 4 * TIB
    rig.arm.estate.add_volume(rig.arm.premium, "later", TIB)
    rig.pass_time(hours=31)
    assert (data.pool, rig.arm.premium.size) == (rig.arm.standard, 3 * TIB)
    assert rig.row(row_id).phase == ChangePhase.RETURNED


def test_identity_that_fails_meanwhile_ends_nothing(rig: Rig) -> None:
    row_id, data = growing(rig)
    outcomes(rig, "Succeeded", "never")
    rig.pass_time(minutes=1)
    rig.arm.app.revoke_tokens()
    rig.pass_time(minutes=10)
    assert "Azure returned InvalidAuthenticationToken: The access token" in rig.card(row_id)
    assert rig.row(row_id).phase == ChangePhase.WORKING
    (*_, going) = rig.arm.app.routes.operations.all.values()
    going.outcome = "Succeeded"
    rig.restart()
    rig.pass_time(minutes=10)
    assert data.pool is rig.arm.premium
    assert rig.row(row_id).phase == ChangePhase.DONE


def test_address_of_a_stranger_gets_no_token(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium"))
    rig.arm.app.routes.operations.elsewhere = "http://127.0.0.1:9"
    rig.pass_time(minutes=1)
    assert data.pool is rig.arm.premium
    assert rig.row(row_id).phase == ChangePhase.DONE
    assert "GET operationResults" not in rig.arm.asked()
