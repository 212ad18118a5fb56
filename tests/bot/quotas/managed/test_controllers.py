"""Overrides from approval to end, over HTTP."""

import json
from datetime import timedelta
from typing import Any

import pytest

from bot.approvals import Verdict
from bot.errors import ConflictError
from bot.quotas.engines.quota import BORROWING
from bot.quotas.tables import OverridePhase
from bot.slack.markup import when
from tests.bot.quotas.people import BOB, CAROL, DAY, settings
from tests.bot.quotas.queue_server import workload
from tests.bot.quotas.rig import Rig

SOON = timedelta(minutes=1)


def test_approval_raises_quota_and_end_restores_it(rig: Rig) -> None:
    override_id = rig.ask()
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ASKED, "4")
    rig.vote(override_id)
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ACTIVE, "12")
    rig.pass_time(3 * DAY + SOON)
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ENDED, "4")
    assert rig.kueue.patches == ["team-a 12", "team-a 4"]
    assert rig.kueue.annotated("team-a") is None


def test_interval_starts_when_it_is_approved(rig: Rig) -> None:
    override_id = rig.ask()
    rig.pass_time(timedelta(hours=5))
    rig.vote(override_id)
    rig.run()
    row = rig.row(override_id)
    assert row.starts_at == row.asked_at + timedelta(hours=5)
    assert row.ends_at == row.asked_at + timedelta(hours=5) + 3 * DAY


def test_annotation_tells_how_to_put_back(rig: Rig) -> None:
    override_id = rig.approved()
    assert json.loads(rig.kueue.annotated("team-a") or "") == {
        "installation": "0123456789abcdef",
        "fields": {
            "h100/nvidia.com/gpu/nominalQuota": {
                "ids": [override_id],
                "baseline": "4",
                "value": "12",
                "until": "2026-11-24T12:00:46+00:00",
            }
        },
    }


def test_end_is_made_up_for_after_downtime(rig: Rig) -> None:
    override_id = rig.approved()
    rig.clock.moment += 9 * DAY
    rig.restart()
    assert rig.kueue.value("team-a") == "12"
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ENDED, "4")


def test_overlapping_overrides_end_in_any_order(rig: Rig) -> None:
    first = rig.approved("+8", length=DAY)
    second = rig.approved("+2", length=2 * DAY)
    third = rig.approved("-1", length=3 * DAY)
    assert rig.kueue.value("team-a") == "13"
    rig.revoke(second)
    rig.run()
    assert rig.kueue.value("team-a") == "11"
    rig.pass_time(DAY + SOON)
    assert rig.kueue.value("team-a") == "3"
    rig.pass_time(2 * DAY)
    assert (rig.kueue.value("team-a"), rig.kueue.annotated("team-a")) == ("4", None)
    assert [rig.row(each).phase for each in (first, second, third)] == [
        OverridePhase.ENDED,
        OverridePhase.REVOKED,
        OverridePhase.ENDED,
    ]


def test_denied_and_expired_requests_change_nothing(rig: Rig) -> None:
    denied, expired = rig.ask(), rig.ask("+1")
    rig.vote(denied, Verdict.DENY)
    rig.pass_time(2 * DAY)
    assert rig.row(denied).phase == OverridePhase.DENIED
    assert rig.row(expired).phase == OverridePhase.EXPIRED
    assert rig.kueue.patches == []
    assert rig.said(denied) == {
        "decision": f"<@U0ALICE> denied by <@{CAROL}>. Nothing was changed."
    }
    assert rig.said(expired)["decision"] == (
        "<@U0ALICE> this request expired without a decision. Nothing was changed."
    )


def test_revoking_a_request_ends_it_unapproved(rig: Rig) -> None:
    override_id = rig.ask()
    rig.revoke(override_id)
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.REVOKED
    assert rig.said(override_id) == {
        "ended": "<@U0ALICE> revoked by <@U0ALICE>. It had not started; nothing was changed."
    }


def test_transfer_lowers_donor_first_restores_last(rig: Rig) -> None:
    override_id = rig.approved("+3", donor="team-b")
    rig.revoke(override_id, CAROL)
    rig.run()
    assert rig.kueue.patches == ["team-b 5", "team-a 7", "team-a 4", "team-b 8"]
    assert rig.row(override_id).phase == OverridePhase.REVOKED


def test_borrowing_limit_is_raised_where_configured(rig: Rig) -> None:
    rig.policy = settings(override="borrowing_limit")
    rig.kueue.add("team-a", "4", borrowingLimit=2)
    rig.look()
    rig.approved("+8", length=DAY)
    assert rig.kueue.value("team-a", BORROWING) == "10"
    rig.pass_time(DAY + SOON)
    assert (rig.kueue.value("team-a", BORROWING), rig.kueue.value("team-a")) == ("2", "4")


def test_new_base_stays_under_running_overrides(rig: Rig) -> None:
    override_id = rig.approved("+8", length=DAY)
    base = rig.set_base("6")
    rig.vote(base, who=BOB)
    rig.run()
    assert (rig.kueue.value("team-a"), rig.row(base).phase) == ("14", OverridePhase.ENDED)
    rig.pass_time(DAY + SOON)
    assert rig.row(override_id).phase == OverridePhase.ENDED
    assert (rig.kueue.value("team-a"), rig.kueue.annotated("team-a")) == ("6", None)


def test_approver_who_lost_the_right_counts_no_more(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id, who=BOB)
    rig.take_right_from(BOB)
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ASKED, "4")
    assert rig.card(override_id).lines[:3] == (
        f"<@U0BOB> approved {when(rig.clock.moment)}",
        "An approver lost the right to approve, so a new approval is needed.",
        f"Waiting for 1 approval until {when(rig.clock.moment + DAY)}.",
    )
    rig.vote(override_id, who=CAROL)
    rig.run()
    assert rig.kueue.value("team-a") == "12"


def test_approvers_are_asked_about_before_the_act(rig: Rig) -> None:
    rig.guests = {BOB}
    override_id = rig.ask()
    rig.vote(override_id, who=BOB)
    rig.run()
    assert rig.asked_about == [[BOB]]
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.ASKED, "4")


def test_nothing_is_changed_while_slack_is_silent(rig: Rig) -> None:
    rig.is_slack_down = True
    override_id = rig.ask()
    rig.vote(override_id)
    rig.loop.run_due()
    rig.loop.run_due()
    assert rig.kueue.value("team-a") == "4"
    rig.is_slack_down = False
    rig.run()
    assert rig.kueue.value("team-a") == "12"


def test_changed_request_voids_its_approval(rig: Rig) -> None:
    override_id = rig.ask()
    rig.vote(override_id)
    rig.raise_amount(override_id, 100)
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.value("team-a")) == (OverridePhase.FAILED, "4")


def test_what_became_impossible_fails_with_words(rig: Rig) -> None:
    override_id = rig.ask("+6", donor="team-b")
    rig.kueue.set("team-b", "5")
    rig.vote(override_id)
    rig.run()
    assert rig.row(override_id).phase == OverridePhase.FAILED
    assert rig.said(override_id)["decision"] == (
        "<@U0ALICE> this cannot take effect: The nominal quota of ClusterQueue team-b would be -1. "
        "Nothing was changed."
    )


def test_requester_is_told_at_decision_and_end(rig: Rig) -> None:
    override_id = rig.approved("+8", length=DAY)
    rig.pass_time(DAY + SOON)
    assert rig.said(override_id) == {
        "decision": (
            "<@U0ALICE> approved by <@U0CAROL>: nominal quota 4 → 12 GPUs of h100, until "
            "<!date^1795348846^{date_short_pretty} {time}|2026-11-22 12:00 UTC>."
        ),
        "ended": (
            "<@U0ALICE> The override has ended: the nominal quota of team-a is 4 GPUs of h100."
        ),
    }


def test_runs_above_quota_are_kept_and_named(rig: Rig) -> None:
    override_id = rig.approved("+8", length=DAY)
    rig.kueue.hold(workload("lane", 12, admitted="2026-11-21T13:00:00Z"))
    rig.pass_time(DAY + SOON)
    assert rig.stopped.names == []
    assert rig.said(override_id)["ended"] == (
        "<@U0ALICE> The override has ended: the nominal quota of team-a is 4 GPUs of h100. "
        "Above quota, running until other queues reclaim the GPUs: `lane`."
    )


def test_runs_above_quota_are_stopped_after_notice(rig: Rig) -> None:
    rig.policy = settings(after_end="stop", stop_notice="30m")
    override_id = rig.approved("+8", length=DAY)
    rig.kueue.hold(
        workload("old", 4, admitted="2026-11-21T12:30:00Z"),
        workload("new", 6, admitted="2026-11-21T13:00:00Z"),
    )
    rig.pass_time(DAY - timedelta(minutes=20))
    assert rig.said(override_id)["notice"] == (
        "<@U0ALICE> this override ends "
        "<!date^1795348846^{date_short_pretty} {time}|2026-11-22 12:00 UTC>. "
        "Workloads above quota then will be stopped: `new`."
    )
    assert rig.stopped.names == []
    rig.pass_time(timedelta(minutes=30))
    assert rig.stopped.names == ["job-new: the quota override of team-a has ended"]
    assert rig.said(override_id)["ended"] == (
        "<@U0ALICE> The override has ended: the nominal quota of team-a is 4 GPUs of h100. "
        "Stopped because they were above quota: `new`."
    )


def refusal(rig: Rig, amount: str = "+8", **more: Any) -> tuple[str, str]:
    with pytest.raises(ConflictError) as caught:
        rig.ask(amount, **more)
    return caught.value.message, caught.value.hint


def test_what_is_lent_cannot_be_given(rig: Rig) -> None:
    rig.kueue.add("team-b", "8", lendingLimit="6")
    rig.look()
    said, hint = refusal(rig, "+3", donor="team-b")
    assert said == (
        "ClusterQueue team-b lends up to 6 (lendingLimit), so its nominal quota cannot be 5. A"
        " platform admin can lower its lendingLimit first."
    )
    assert hint == "The maximum is 2."
    rig.approved("+2", donor="team-b")
    assert (rig.kueue.value("team-b"), rig.kueue.value("team-a")) == ("6", "6")
    assert refusal(rig, "+1", donor="team-b")[1] == "It has none to give at present."


def test_lowering_below_what_is_lent_is_refused(rig: Rig) -> None:
    rig.kueue.add("team-a", "4", lendingLimit="4")
    rig.look()
    lent = "ClusterQueue team-a lends up to 4 (lendingLimit), so its nominal quota cannot be 2."
    assert refusal(rig, "-2")[0].startswith(lent)
    with pytest.raises(ConflictError, match="cannot be 2"):
        rig.set_base("2")
    # While it is on there would be room, but not once it has ended.
    rig.approved("+8", length=DAY)
    with pytest.raises(ConflictError, match="cannot be 2"):
        rig.set_base("2")
    rig.approved("-2", length=DAY / 2)
    assert rig.kueue.value("team-a") == "10"


def test_more_lent_meanwhile_stops_with_words(rig: Rig) -> None:
    override_id = rig.approved("+8", length=DAY)
    rig.kueue.set("team-a", "6", "lendingLimit")
    rig.pass_time(DAY + SOON)
    stopped = (
        "ClusterQueue team-a lends up to 6 (lendingLimit), so its nominal quota cannot be 4. A"
        " platform admin can lower its lendingLimit first. Nothing was changed."
    )
    assert rig.card(override_id).lines[-1] == f"*Stopped*: {stopped}"
    assert rig.card(override_id).buttons == ()
    assert f"<@U0ALICE> {stopped}" in rig.said(override_id).values()
    assert (rig.kueue.value("team-a"), len(rig.kueue.patches)) == ("12", 1)
    rig.kueue.set("team-a", "4", "lendingLimit")
    rig.wake_quotas()
    rig.run()
    assert (rig.kueue.value("team-a"), rig.row(override_id).phase) == ("4", OverridePhase.ENDED)


def test_approval_after_more_is_lent_fails(rig: Rig) -> None:
    override_id = rig.ask("+3", donor="team-b")
    rig.kueue.set("team-b", "8", "lendingLimit")
    assert "*Cannot start now*: ClusterQueue team-b lends up to 8" in str(
        rig.card(override_id).lines
    )
    rig.vote(override_id)
    rig.run()
    assert (rig.row(override_id).phase, rig.kueue.patches) == (OverridePhase.FAILED, [])


@pytest.mark.parametrize("amount", ["6", "+2", "2"])
def test_forecast_of_a_base_is_what_is_written(rig: Rig, amount: str) -> None:
    rig.approved("+4", length=DAY)
    base = rig.set_base(amount)
    lines = "\n".join(map(str, rig.card(base).lines))
    rig.vote(base, who=BOB)
    rig.run()
    written = rig.kueue.value("team-a")
    assert f"With the active overrides, the nominal quota is {written};" in lines
    assert f"Nominal quotas of h100 would total {8 + int(str(written))} of" in lines
    rig.pass_time(DAY + SOON)
    assert f"after they end, it is {rig.kueue.value('team-a')}." in lines
