"""What goes wrong on the way: lost answers, crashes, external values, lost rows."""

import pytest
from sqlmodel import delete

from bot.cluster.resources import CLUSTER_QUEUES
from bot.cluster.view import Change
from bot.database.database import Session
from bot.quotas.tables import ManagedQuota, Override, OverridePhase, QuotaAdjustment
from bot.quotas.watching import QueueChanges
from bot.reconcile import due
from tests.bot.quotas.people import DAY
from tests.bot.quotas.rig import Rig

DRIFT = (
    "*Stopped*: the nominal quota of ClusterQueue team-a (h100) was set to 6 outside"
    " Quartermaster; it should be 12. Nothing was changed."
)


def test_lost_answer_is_not_taken_for_drift(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    rig.kueue.fault.lose_answer = 1
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.ACTIVE
    assert rig.kueue.patches == ["team-a 12"]


def test_answer_lost_before_revocation_is_put_back(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    rig.kueue.fault.lose_answer = 1
    rig.step_until_patched()
    rig.revoke(override_id)
    rig.restart()
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.REVOKED
    assert (rig.kueue.value("team-a"), rig.kueue.annotated("team-a")) == ("4", None)


@pytest.mark.parametrize("steps", range(12))
def test_death_after_any_step_changes_nothing(rig: Rig, steps: int) -> None:
    override_id = rig.ask("+3", donor="team-b", length=DAY)
    rig.vote(override_id)
    rig.die_in_step(steps)
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.ACTIVE
    rig.die_in_step(steps)
    rig.pass_time(2 * DAY)
    assert rig.row(override_id).phase == OverridePhase.ENDED
    assert rig.kueue.patches == ["team-b 5", "team-a 7", "team-a 4", "team-b 8"]


def test_look_before_the_end_releases_nothing(rig: Rig) -> None:
    override_id = rig.approved()
    quotas, overrides, _ = rig.controllers
    looked = quotas.step(rig.quota_id())
    rig.revoke(override_id)
    for _ in range(2):
        rig.do(overrides.step(override_id).save)
    rig.do(looked.save)
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.REVOKED
    assert (rig.kueue.value("team-a"), rig.kueue.annotated("team-a")) == ("4", None)


def test_watch_during_a_transfer_releases_nothing(rig: Rig) -> None:
    override_id = rig.ask("+3", donor="team-b")
    rig.vote(override_id)
    rig.loop.run_due()
    rig.wake_quotas()
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.ACTIVE
    rig.revoke(override_id)
    rig.run()
    assert rig.kueue.patches == ["team-b 5", "team-a 7", "team-a 4", "team-b 8"]
    assert rig.baselines() == {None}


def test_refused_requests_are_tried_again(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    rig.kueue.fault.refuse = 2
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.patches) == (OverridePhase.ACTIVE, ["team-a 12"])


def test_lasting_trouble_is_said_on_card(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    rig.kueue.fault.refuse = 1000
    rig.run()
    assert rig.card(override_id).lines[-1] == (
        "*Late*: Changing ClusterQueue team-a on cluster default: 503 ServiceUnavailable: try "
        "later. Retrying."
    )
    rig.kueue.fault.refuse = 0
    rig.pass_time(DAY / 24)
    assert rig.row(override_id).phase == OverridePhase.ACTIVE
    assert "Late" not in "".join(rig.card(override_id).lines)


def test_an_external_value_stops_us_and_asks(rig: Rig) -> None:
    override_id = rig.approved()
    rig.kueue.set("team-a", "6")
    rig.wake_quotas()
    rig.run()
    card = rig.card(override_id)
    assert card.lines[-1] == DRIFT
    stopped = DRIFT.removeprefix("*Stopped*: ")
    told = f"<@U0ALICE> {stopped} A platform admin decides on the card."
    assert told in rig.said(override_id).values()
    assert [(each.action, each.label) for each in card.buttons] == [
        ("quota.adopt", "Use the external value as base"),
        ("quota.rewrite", "Restore the expected value"),
    ]
    assert card.buttons[0].confirm is not None
    assert card.buttons[0].confirm.text == (
        "The base of ClusterQueue team-a becomes 6. With the active overrides, the value is set"
        " to 14."
    )
    assert rig.card(override_id, "C0TEAMA").buttons == ()
    rig.pass_time(4 * DAY)
    assert (rig.kueue.value("team-a"), rig.row(override_id).phase) == ("6", OverridePhase.ENDING)


def test_their_value_becomes_base_when_taken(rig: Rig) -> None:
    rig.approved()
    rig.kueue.set("team-a", "6")
    rig.wake_quotas()
    rig.run()
    rig.take_over(theirs=True)
    rig.run()
    assert rig.kueue.value("team-a") == "14"
    rig.pass_time(4 * DAY)
    assert rig.kueue.value("team-a") == "6"


def test_our_value_is_written_again_on_request(rig: Rig) -> None:
    override_id = rig.approved()
    rig.kueue.set("team-a", "6")
    rig.wake_quotas()
    rig.run()
    rig.take_over(theirs=False)
    rig.run()
    assert (rig.kueue.value("team-a"), rig.row(override_id).phase) == ("12", OverridePhase.ACTIVE)
    assert DRIFT not in rig.card(override_id).lines


def test_an_external_value_that_goes_is_forgotten(rig: Rig) -> None:
    override_id = rig.approved()
    rig.kueue.set("team-a", "6")
    rig.wake_quotas()
    rig.run()
    rig.kueue.set("team-a", "12")
    rig.wake_quotas()
    rig.run()
    assert DRIFT not in rig.card(override_id).lines


def test_baseline_follows_cluster_between_overrides(rig: Rig) -> None:
    rig.approved("+8", length=DAY)
    rig.pass_time(2 * DAY)
    rig.kueue.set("team-a", "5")
    rig.approved("+8", length=DAY)
    assert rig.kueue.value("team-a") == "13"
    rig.pass_time(2 * DAY)
    assert rig.kueue.value("team-a") == "5"


def test_lost_rows_are_recovered_from_annotation(rig: Rig) -> None:
    rig.approved("+8", length=DAY)

    def lose(session: Session) -> None:
        for table in (QuotaAdjustment, ManagedQuota, Override, due.Due):
            session.exec(delete(table))

    rig.do(lose)
    assert rig.recover() == 0
    rig.clock.moment += 2 * DAY
    assert rig.recover() == 1
    rig.run()
    assert (rig.kueue.value("team-a"), rig.kueue.annotated("team-a")) == ("4", None)
    assert rig.recover() == 0


def test_other_installations_annotation_is_left_alone(rig: Rig) -> None:
    rig.approved("+8", length=DAY)
    rig.pretend_other_installation()
    rig.pass_time(2 * DAY)
    assert rig.recover() == 0
    assert rig.kueue.value("team-a") == "12"


def test_patch_that_arrives_late_is_undone(rig: Rig) -> None:
    override_id = rig.approved("+8")
    late = rig.kueue.copy("team-a")
    rig.revoke(override_id)
    rig.run()
    rig.kueue.put("team-a", late)
    assert rig.recover() == 1
    rig.run()
    assert (rig.kueue.value("team-a"), rig.kueue.annotated("team-a")) == ("4", None)


def test_conflicting_patch_looks_again_first(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    rig.kueue.fault.meddle = 1
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ACTIVE, "12")
    assert rig.kueue.patches == ["team-a 12"]


def test_changed_spec_wakes_quotas_in_hand(rig: Rig) -> None:
    rig.approved()
    handler = QueueChanges(rig.database)
    queue = rig.cluster.view.get(CLUSTER_QUEUES, "team-a")
    other = rig.cluster.view.get(CLUSTER_QUEUES, "team-b")
    woken = [("quota", rig.quota_id(), "cluster:default")]
    assert handler.changes(Change("default", CLUSTER_QUEUES, "modified", queue)) == woken
    assert handler.changes(Change("default", CLUSTER_QUEUES, "modified", queue)) == []
    assert handler.changes(Change("default", CLUSTER_QUEUES, "modified", other)) == []
    assert handler.changes(Change("default", CLUSTER_QUEUES, "synced")) == woken
