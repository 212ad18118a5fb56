"""Operations of Azure that fail, are cancelled or never end, for each act of a change."""

import pytest

from bot.volumes.changes.tables import ChangePhase
from playground.arm.estate import GIB, TIB
from playground.arm.operations import Outcome
from tests.bot.volumes.changes.rig import ERIN, Rig, level, mibps

HOUR = 3600
FAILED = (
    "Azure ended the operation as Failed: InternalServerError: An internal error occurred. Retry"
    " the operation."
)
CANCELED = "Azure ended the operation as Canceled."
AGAIN = "Nothing else was changed. Request it again later."


def outcomes(rig: Rig, *wanted: Outcome, after: int = 0) -> None:
    """How the next operations end, after so many that succeed."""
    good: list[Outcome] = ["Succeeded"] * after
    rig.arm.app.routes.operations.outcomes = [*good, *wanted]


def changed(rig: Rig, act: str) -> str:
    """A change that does this, and was approved; the acts before it succeed."""
    if act == "setting 100 MiB/s":
        rig.volume("lane", rig.arm.tuned)
        return rig.ask(mibps("lane", 100, seconds=12 * HOUR))
    rig.volume("data", rig.arm.standard)
    rig.arm.estate.add_volume(rig.arm.premium, "other", 1536 * GIB)
    asked = level("data", "Premium", pool="premium", is_shrinking=True, seconds=30 * HOUR)
    row_id = rig.ask(asked)
    rig.run()
    rig.vote(row_id)
    return row_id


# How many acts come before it.
ACTS = {
    "growing pool premium": 0,
    "moving to pool premium": 1,
    "shrinking pool standard": 2,
    "setting 100 MiB/s": 0,
}
ENDS = pytest.mark.parametrize(("outcome", "said"), [("Failed", FAILED), ("Canceled", CANCELED)])


@pytest.mark.parametrize("act", ACTS)
def test_what_never_ends_is_late(rig: Rig, act: str) -> None:
    row_id = changed(rig, act)
    outcomes(rig, "never", after=ACTS[act])
    rig.pass_time(hours=2)
    told = rig.card(row_id)
    assert told.splitlines()[0].startswith("⚠️")
    assert told.splitlines()[0].endswith(act)
    assert "Late: Azure has been working since 2026-11-21 12:0" in told
    assert "Still waiting." in told
    assert len(rig.effects()) == ACTS[act] + 1
    (*_, going) = rig.arm.app.routes.operations.all.values()
    going.outcome = "Succeeded"
    rig.restart()
    rig.pass_time(minutes=15)
    assert rig.row(row_id).phase == ChangePhase.HELD
    assert "Late" not in rig.card(row_id)
    assert len(rig.effects()) == (3 if "pool" in act else 1)


@ENDS
@pytest.mark.parametrize("act", ["growing pool premium", "setting 100 MiB/s"])
def test_what_fails_first_changes_nothing(rig: Rig, act: str, outcome: Outcome, said: str) -> None:
    row_id = changed(rig, act)
    outcomes(rig, outcome)
    rig.pass_time(minutes=5)
    row = rig.row(row_id)
    assert (row.phase, row.outcome, row.hint) == (ChangePhase.FAILED, said, AGAIN)
    assert rig.notes(row_id)["ended"].splitlines()[-1] == AGAIN
    assert {said, AGAIN} <= set(rig.card(row_id).splitlines())
    assert (len(rig.effects()), rig.arm.premium.size) == (1, 2 * TIB)


@ENDS
def test_source_that_stays_large_is_told(rig: Rig, outcome: Outcome, said: str) -> None:
    row_id = changed(rig, "shrinking pool standard")
    outcomes(rig, outcome, after=2)
    rig.pass_time(minutes=5)
    assert (rig.row(row_id).phase, rig.arm.standard.size) == (ChangePhase.HELD, 4 * TIB)
    remains = f"Pool standard was not shrunk. {said}"
    assert remains in rig.card(row_id).splitlines()
    assert rig.notes(row_id)["effect"].splitlines()[-1] == remains


@ENDS
@pytest.mark.parametrize("number", [0, 1])
def test_way_back_that_fails_is_tried_again(
    rig: Rig, number: int, outcome: Outcome, said: str
) -> None:
    """There is no room in the old pool, or no move to it."""
    row_id = changed(rig, "moving to pool premium")
    rig.pass_time(minutes=10)
    outcomes(rig, outcome, outcome, after=number)
    rig.pass_time(hours=30)
    told = rig.card(row_id)
    assert told.startswith("⚠️ team-a/data to Premium (pool premium) · Reverting")
    assert f"Late: {said} Next attempt: 2026-11-22 19:" in told
    assert rig.notes(row_id)["not-returned"] == (
        f"<@{ERIN}> `data` cannot be reverted yet. {said} Retrying every hour."
    )
    rig.pass_time(hours=3)
    assert rig.row(row_id).phase == ChangePhase.RETURNED
    assert (rig.arm.standard.size, rig.arm.premium.size) == (4 * TIB, 2 * TIB)
    assert (rig.row(row_id).grown_from, rig.row(row_id).remains) == (None, "")


@ENDS
def test_throughput_that_stays_is_told(rig: Rig, outcome: Outcome, said: str) -> None:
    row_id = changed(rig, "setting 100 MiB/s")
    rig.pass_time(minutes=10)
    outcomes(rig, outcome)
    rig.pass_time(hours=12)
    assert f"cannot be reverted yet. {said}" in rig.notes(row_id)["not-returned"]
    rig.pass_time(hours=2)
    assert (rig.row(row_id).phase, rig.effects()) == (ChangePhase.RETURNED, ["PATCH volumes"] * 3)


@ENDS
def test_target_that_stays_grown_is_told(rig: Rig, outcome: Outcome, said: str) -> None:
    row_id = changed(rig, "moving to pool premium")
    rig.pass_time(minutes=10)
    outcomes(rig, outcome, after=2)
    rig.pass_time(hours=31)
    assert (rig.row(row_id).phase, rig.arm.premium.size) == (ChangePhase.RETURNED, 3 * TIB)
    told = rig.card(row_id)
    assert told.startswith("⚠️ team-a/data to Premium (pool premium) · Reverted")
    assert f"Pool premium was not shrunk. {said}" in told
    assert "Target pool   premium: 2 TiB → 3 TiB (grown)" in told
    assert "Pool premium was not shrunk." in rig.notes(row_id)["ended"]
