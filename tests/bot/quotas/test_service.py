"""What people may ask of quotas, what they are shown, and what they are refused."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.audit import AuditLine
from bot.errors import QuartermasterError
from bot.quotas.tables import Override, OverridePhase
from bot.slack.markup import when
from bot.slack.messages import Message
from tests.bot.quotas.people import ALICE, APPROVE, BOB, CAROL, DAY, START, TEAM_A, TEAM_B, settings
from tests.bot.quotas.queue_server import workload
from tests.bot.quotas.rig import Rig

HOUR = timedelta(hours=1)


def refusal(rig: Rig, amount: str = "+8", **more: Any) -> tuple[str, str]:
    with pytest.raises(QuartermasterError) as caught:
        rig.ask(amount, **more)
    return caught.value.message, caught.value.hint


def test_request_writes_card_audit_and_approval(rig: Rig) -> None:
    override_id = rig.ask(donor="team-b", amount="+2")
    cards = rig.do(lambda s: s.exec(select(Message.channel).where(Message.purpose == "card")).all())
    assert sorted(cards) == [APPROVE, TEAM_A, TEAM_B]
    (line,) = rig.do(lambda s: s.exec(select(AuditLine)).all())
    assert (line.person, line.team, line.verb, line.subject_id, line.facts) == (
        ALICE,
        "team-a",
        "quota.request",
        override_id,
        {
            "change": "nominal quota 4 → 6 GPUs of h100",
            "reason": "CVPR deadline",
            "mode": "transfer",
        },
    )


def test_absolute_amount_is_difference_to_present(rig: Rig) -> None:
    assert rig.row(rig.ask("12")).amount == Decimal(8)


@pytest.mark.parametrize(
    ("amount", "more", "message", "hint"),
    [
        (
            "+8",
            {"length": 30 * DAY},
            "An override lasts at most 14d, not 30d.",
            "Request less time, for example `--for 14d`.",
        ),
        ("4", {}, "team-a already has 4 GPUs of h100.", "Nothing would change."),
        (
            "-5",
            {},
            "team-a has 4 GPUs of h100, so it cannot have 5 GPUs fewer.",
            "The maximum is 4.",
        ),
        (
            "+2000",
            {},
            "A change of 2000 GPUs is too large for one request.",
            "The maximum is 1024.",
        ),
        (
            "+8",
            {"gpu_type": "a100"},
            "team-a has no GPU type a100 in cluster default.",
            "It has: h100.",
        ),
        (
            "+8",
            {"donor": "team-x"},
            "`--from team-x` is not another team.",
            "Use one of: team-b.",
        ),
        (
            "+9",
            {"donor": "team-b"},
            "team-b has 8 GPUs of h100 to lend, not 9.",
            "For example `+8`.",
        ),
    ],
)
def test_refuses_what_makes_no_sense(
    rig: Rig, amount: str, more: dict[str, Any], message: str, hint: str
) -> None:
    assert refusal(rig, amount, **more) == (message, hint)
    assert rig.do(lambda s: s.exec(select(Message)).all()) == []


def test_refuses_a_queue_that_was_not_seen(rig: Rig) -> None:
    rig.kueue.queues.pop("team-a")
    rig.look()
    assert refusal(rig) == (
        (
            "LocalQueue team-a in namespace team-a of cluster default, or its ClusterQueue, was"
            " not found."
        ),
        (
            "Try again in a minute. If the problem persists, ask a platform admin to check the"
            " team's `local_queue`."
        ),
    )


def test_refuses_raising_a_limit_without_limit(rig: Rig) -> None:
    rig.policy = settings(override="borrowing_limit")
    assert refusal(rig) == (
        "ClusterQueue team-a can already borrow h100 without limit.",
        "More becomes available as soon as other teams leave GPUs idle.",
    )


@pytest.mark.parametrize(
    ("amount", "message", "hint"),
    [
        ("2", "team-a can already borrow up to 2 GPUs of h100.", "Nothing would change."),
        (
            "-5",
            "team-a can borrow up to 2 GPUs of h100, so it cannot borrow 5 GPUs fewer.",
            "The maximum is 2.",
        ),
    ],
)
def test_refusals_name_the_borrowing_limit(rig: Rig, amount: str, message: str, hint: str) -> None:
    rig.policy = settings(override="borrowing_limit")
    rig.kueue.add("team-a", "4", borrowingLimit=2)
    rig.look()
    assert refusal(rig, amount) == (message, hint)


def test_lending_house_asks_for_the_lender(rig: Rig) -> None:
    rig.policy = settings(override="transfer")
    assert refusal(rig) == (
        "Here, quota is lent from team to team, so a lending team is required.",
        "Add `--from` with one of: team-b.",
    )


def test_break_glass_is_for_admins_and_alerts(rig: Rig) -> None:
    assert refusal(rig, person=ALICE, channel="D0ALICE", break_glass=True)[0] == (
        "This requires the right break_glass, which you do not have here."
    )
    override_id = rig.ask(person=CAROL, channel="D0CAROL", break_glass=True)
    rig.run()
    assert rig.kueue.value("team-a") == "12"
    assert rig.said(override_id)["break-glass"] == (
        "*Break-glass*: <@U0CAROL> approved alone: team-a, nominal quota 4 → 12 GPUs of h100. "
        "CVPR deadline"
    )


def test_only_requester_lead_or_admin_revokes(rig: Rig) -> None:
    override_id = rig.ask(person=CAROL)
    with pytest.raises(QuartermasterError) as caught:
        rig.revoke(override_id, ALICE)
    assert (caught.value.message, caught.value.hint) == (
        f"Override {override_id[-6:]} was requested by <@U0CAROL>.",
        "They, a lead of the team or a platform admin can revoke it.",
    )
    rig.revoke(override_id, BOB)
    rig.run()
    with pytest.raises(QuartermasterError) as caught:
        rig.revoke(override_id, CAROL)
    assert caught.value.message == f"Override {override_id[-6:]} is already revoked."


def test_an_override_is_revoked_only_once(rig: Rig) -> None:
    override_id = rig.approved("+8")
    rig.revoke(override_id, ALICE)
    with pytest.raises(QuartermasterError) as caught:
        rig.revoke(override_id, BOB)
    assert caught.value.message == f"Override {override_id[-6:]} is already revoked."


def test_card_weighs_request_for_those_who_decide(rig: Rig) -> None:
    rig.kueue.use("team-b", 10, borrowed=2)
    rig.kueue.hold(workload("lane", 12), workload("next", 4))
    override_id = rig.ask("+8")
    card = rig.card(override_id)
    assert (card.title, card.state) == (
        "Quota override for team-a: +8 h100",
        "Waiting for approval",
    )
    assert card.facts == (
        ("Change", "nominal quota 4 → 12 GPUs of h100"),
        ("Requested by", "U0ALICE in <#C0TEAMA>"),
        ("Reason", "CVPR deadline"),
        ("Until", "3d after approval"),
    )
    assert card.lines == (
        f"Waiting for 1 approval until {when(START + DAY)}.",
        "<@U0BOB> or <@U0CAROL> can decide.",
        (
            "Nominal quotas of h100 would total 20 of 16 allocatable GPUs: 4 more than exist, so"
            " runs may be admitted and then wait for a node."
        ),
        "Other queues borrow now, and these GPUs can be reclaimed: team-b 2.",
        "`lane` (12 GPUs) would start once borrowed GPUs are reclaimed.",
        "`next` (4 GPUs) would still wait.",
        (
            "When it ends, nothing is evicted: runs above quota continue until other queues reclaim"
            " the GPUs."
        ),
    )
    assert [button.action for button in card.buttons] == ["approval.approve", "approval.deny"]
    own = rig.card(override_id, TEAM_A)
    assert (own.buttons, own.lines) == ((), card.lines[:1])


@pytest.mark.parametrize(("base", "lowers"), [("2", True), ("6", False)])
def test_card_says_what_lowering_leaves(rig: Rig, base: str, *, lowers: bool) -> None:
    said = (
        "When the quota is lowered, nothing is evicted: runs above quota continue until other"
        " queues reclaim the GPUs."
    )
    assert (said in rig.card(rig.set_base(base, TEAM_A)).lines) is lowers


def test_the_approvers_channel_decides_its_own_requests(rig: Rig) -> None:
    card = rig.card(rig.set_base("6", APPROVE), APPROVE)
    assert [button.action for button in card.buttons] == ["approval.approve", "approval.deny"]


def test_card_of_transfer_names_the_lender(rig: Rig) -> None:
    rig.kueue.use("team-b", 7)
    rig.look()
    card = rig.card(rig.ask("+3", donor="team-b"))
    assert card.lines[2:5] == (
        "Nominal quotas of h100 would total 12 of 16 allocatable GPUs.",
        "team-b lends 3 GPUs (8 → 5); it uses 7 now, of which 2 could then be reclaimed.",
        "team-a has no pending workloads.",
    )


def test_history_tells_who_what_and_how(rig: Rig) -> None:
    first = rig.approved("+8", length=DAY)
    rig.pass_time(DAY)
    second = rig.ask("+1")
    assert [str(line) for line in rig.history().lines] == [
        (
            f"`{second[-6:]}` team-a: nominal quota 4 → 5 GPUs of h100 (CVPR deadline), requested"
            f" by <@U0ALICE> {when(START + DAY)}, pending."
        ),
        (
            f"`{first[-6:]}` team-a: nominal quota 4 → 12 GPUs of h100 (CVPR deadline), requested"
            f" by <@U0ALICE> {when(START)}, approved by <@U0CAROL>, ended {when(START + DAY)}."
        ),
    ]


def test_history_says_approved_only_once(rig: Rig) -> None:
    override_id = rig.ask("+8")
    rig.vote(override_id)

    def approve(session: Session) -> None:
        session.get_one(Override, override_id).phase = OverridePhase.APPROVED

    rig.do(approve)
    (line,) = map(str, rig.history().lines)
    assert line.endswith("approved by <@U0CAROL>, starting.")


def test_status_shows_figures_and_active_overrides(rig: Rig) -> None:
    override_id = rig.approved("+8", length=DAY)
    rig.kueue.use("team-a", 12, borrowed=0, pending=1)
    rig.kueue.use("team-b", 3)
    rig.kueue.hold(workload("lane", 2))
    card = rig.status("team-a", "team-b")
    assert card.table is not None
    assert card.table.header == (
        "Team", "GPU type", "Nominal", "In use", "Borrowed", "Free to borrow", "Pending",
    )  # fmt: skip
    assert card.table.rows == (
        ("team-a", "h100", "12", "12", "0", "5", "1 (2 GPUs)"),
        ("team-b", "h100", "8", "3", "0", "0", "0"),
    )
    assert card.lines == (
        f"Override `{override_id[-6:]}`: team-a +8 h100, until {when(START + DAY)}.",
    )
    assert card.footer == ()


def test_what_waits_is_counted_before_kueue_says_so(rig: Rig) -> None:
    rig.kueue.use("team-a", 4, pending=0)
    rig.kueue.hold(workload("lane", 2))
    card = rig.status("team-a")
    assert card.table is not None
    assert card.table.rows == (("h100", "4", "4", "0", "8", "1 (2 GPUs)"),)


def test_status_never_shows_unknown_as_zero(rig: Rig) -> None:
    rig.kueue.queues["team-a"]["status"] = {}
    rig.look()
    card = rig.status("team-a")
    assert card.table is not None
    assert card.table.rows == (("h100", "4", "unknown", "unknown", "unknown", "unknown"),)


def test_status_says_how_old_it_is(rig: Rig) -> None:
    rig.age_seconds = 40.0
    assert rig.status("team-a").footer == ("As of 40 s ago.",)
