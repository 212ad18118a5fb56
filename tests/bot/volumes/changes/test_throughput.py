"""The throughput of volumes in pools with manual QoS, for good and for a while."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from bot.cluster import labels
from bot.errors import ConflictError, LimitError, NotAllowedError, UserError
from bot.volumes.changes.tables import ChangePhase
from tests.bot.volumes.changes.rig import BOB, ERIN, Rig, mibps
from tests.databases import ON_BOTH

HALF_A_DAY = 12 * 3600


def refusal(rig: Rig, claim: str, wanted: float) -> UserError:
    with pytest.raises(UserError) as caught:
        rig.plan(mibps(claim, wanted))
    return caught.value


@ON_BOTH
def test_throughput_is_set_and_put_back(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    lane.own_throughput = 40
    row_id = rig.ask(mibps("lane", 100, seconds=HALF_A_DAY, reason="fill"))
    rig.pass_time(minutes=1)
    assert lane.throughput == 100
    assert rig.card(row_id).splitlines() == [
        "✅ team-a/lane to 100 MiB/s · Active",
        "  Throughput    40 MiB/s → 100 MiB/s",
        "  Cost          unchanged: no pool changes its size",
        "  Until         2026-11-22 00:00 UTC",
        "  Requested by  Erin in #C0TEAMA",
        "  Reason        fill",
        "  [Revert now]",
        f"Change `{row_id[-6:]}`",
    ]
    rig.pass_time(hours=13)
    assert lane.throughput == 40
    assert rig.effects() == ["PATCH volumes", "PATCH volumes"]
    assert rig.row(row_id).phase == ChangePhase.RETURNED
    assert rig.notes(row_id)["ended"] == f"<@{ERIN}> `lane` was reverted to 40 MiB/s."


def test_foreign_claims_are_not_changed(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    of = rig.claimed("lane")
    metadata = structs.replace(of.claim.metadata, labels={labels.RUN: "r1", labels.TEAM: "team-b"})
    foreign = replace(of, claim=structs.replace(of.claim, metadata=metadata))
    with pytest.raises(NotAllowedError) as caught:
        rig.do(lambda session: rig.service.check(session, mibps("lane", 100), foreign))
    assert caught.value.message == "PVC lane was created for team team-b."


def test_put_back_is_late_after_an_outage(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=HALF_A_DAY))
    rig.pass_time(minutes=1)
    rig.clock.moment += timedelta(days=3)
    rig.restart()
    rig.pass_time(minutes=1)
    assert lane.throughput == 16
    assert rig.row(row_id).phase == ChangePhase.RETURNED


def test_clock_set_back_changes_nothing_twice(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=HALF_A_DAY))
    rig.pass_time(minutes=1)
    rig.clock.moment -= timedelta(hours=6)
    rig.restart()
    rig.pass_time(hours=17)
    assert (lane.throughput, rig.row(row_id).phase) == (100, ChangePhase.HELD)
    rig.pass_time(hours=2)
    assert (lane.throughput, rig.row(row_id).phase) == (16, ChangePhase.RETURNED)
    rig.clock.moment -= timedelta(hours=6)
    rig.pass_time(hours=12)
    assert rig.effects() == ["PATCH volumes", "PATCH volumes"]


def test_throughput_for_good_ends_at_once(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100))
    rig.pass_time(days=2)
    assert lane.throughput == 100
    assert rig.row(row_id).phase == ChangePhase.DONE
    assert rig.notes(row_id) == {"ended": f"<@{ERIN}> `lane` has 100 MiB/s."}


def test_automatic_qos_is_refused_with_what_helps(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    error = refusal(rig, "data", 100)
    assert isinstance(error, ConflictError)
    assert error.message == (
        "Pool standard has automatic QoS: the throughput of a volume follows its size, 16 MiB/s"
        " per TiB."
    )
    assert error.hint == ("A larger volume or a higher level has more: `/anf level PVC LEVEL`.")


def test_more_than_the_pool_has_is_refused(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned, 512)
    rig.volume("other", rig.arm.tuned, 512).own_throughput = 60
    error = refusal(rig, "lane", 100)
    assert isinstance(error, LimitError)
    assert error.message == (
        "Pool tuned has 71.1 MiB/s for this volume, of 131.1 MiB/s: its other volumes have the"
        " rest."
    )
    assert refusal(rig, "lane", 5000).message == (
        "A volume can have 1 to 4,500 MiB/s, not 5,000 MiB/s."
    )
    assert refusal(rig, "lane", 16).message == "The volume already has 16 MiB/s."


@ON_BOTH
def test_second_person_is_told_of_the_first(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    rig.ask(mibps("lane", 100, seconds=HALF_A_DAY))
    rig.pass_time(minutes=1)
    with pytest.raises(ConflictError) as caught:
        rig.begin(mibps("lane", 60), BOB)
    assert caught.value.message == (
        "<@U0ERIN> requested another change of this volume: lane to 100 MiB/s. It has not ended."
    )
    assert rig.effects() == ["PATCH volumes"]


def test_what_somebody_set_meanwhile_is_left(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=HALF_A_DAY))
    rig.pass_time(minutes=1)
    lane.own_throughput = 70
    rig.pass_time(hours=13)
    assert lane.throughput == 70
    assert rig.card(row_id).splitlines()[:2] == [
        "⚠️ team-a/lane to 100 MiB/s · Reverted",
        "The throughput was set to 70 MiB/s outside Quartermaster, so it was not reverted.",
    ]


def test_holder_can_have_it_put_back_early(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=HALF_A_DAY))
    rig.pass_time(minutes=1)
    rig.give_back(row_id)
    rig.pass_time(minutes=1)
    assert lane.throughput == 16
    assert rig.row(row_id).phase == ChangePhase.RETURNED


def test_without_the_setting_nothing_is_changed(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    anf = rig.policy.anf
    assert anf is not None
    rig.policy = rig.policy.model_copy(update={"anf": anf.model_copy(update={"changes": None})})
    with pytest.raises(ConflictError, match="Changing levels and throughput is not enabled"):
        rig.begin(mibps("lane", 100))
