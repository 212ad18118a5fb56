"""Runs above a cost limit: requested, approved once, checked again, and submitted once."""

from datetime import timedelta

import pytest
from sqlmodel import Session, select

from bot.approvals import ApprovalPhase, Verdict
from bot.audit import lines_about
from bot.datasets.tables import Dataset
from bot.errors import ConflictError, LimitError, NotAllowedError, UserError
from bot.holds import Hold
from bot.slack.grammar.container_parameters import DataMount, VolumeMount
from bot.slack.messages import Message
from bot.training.placing.limits import CostlyRunError
from bot.training.requests.tables import RequestPhase
from bot.training.templates.candidates import candidates_of
from tests.bot.datasets.caches.rows import add_cache, add_cached, add_version
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, TEAM_A
from tests.bot.training.requests.requesting import APPROVALS, DATASETS, Requesting
from tests.bot.training.templates.two_clusters import policy
from tests.databases import ON_BOTH

DAY = timedelta(days=1)


def lines(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.splitlines()]


def test_a_costly_run_waits_for_approval(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.pass_time(minutes=30)
    assert requesting.runs() == []
    assert requesting.effects() == []
    assert requesting.told.splitlines() == [
        "On template burst, this run costs 36.00 USD an hour; its limit is 20.00 USD an hour.",
        (
            "Requested an approval to submit `wide` for team-a. @U0CAROL or @U0ERIN can give it"
            " until 2026-11-22 12:00 UTC."
        ),
        "Then the run is submitted. A card in this channel shows the request.",
    ]
    assert requesting.places(row_id) == [APPROVALS, TEAM_A]


def test_approvers_see_command_cost_and_limit(requesting: Requesting) -> None:
    row_id = requesting.request(time=timedelta(hours=10))
    assert lines(requesting.shown(row_id, APPROVALS)) == [
        "⏳ Run wide of team-a, above a cost limit · Waiting for approval",
        (
            "It is submitted once its cost is approved. Until then it has no place in a queue, and"
            " its name stays free."
        ),
        "1. It waits on dgx (queue team-a of cluster default) for 10m. It costs 16.00 USD an hour.",
        (
            "2. It waits on burst (queue team-a of cluster lab) until it is admitted."
            " It costs 36.00 USD an hour."
        ),
        "Waiting for 1 approval until 2026-11-22 12:00 UTC.",
        "@U0CAROL or @U0ERIN can decide.",
        (
            "Cost on burst 36.00 USD an hour, at most 360.00 USD within its time limit of 10h;"
            " the limit is 20.00 USD an hour"
        ),
        "Uses 8 GPUs of h100, 64 cores and 576Gi memory (including 64Gi of /dev/shm)",
        "Image `ghcr.io/acme/lane:3.1`",
        "Command `python train.py --epochs 3`",
        "Requested by Alice in #C0TEAMA",
        "[Approve] [Deny]",
    ]
    assert lines(requesting.shown(row_id))[-1] == "[Withdraw]"


def test_an_approved_run_is_submitted_once(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    assert requesting.runs() == [("wide", ALICE, TEAM_A)]
    assert (requesting.row(row_id).phase, requesting.approval(row_id).phase) == (
        RequestPhase.SUBMITTED, ApprovalPhase.USED,
    )  # fmt: skip
    assert requesting.asked_anew == [ERIN]
    run = requesting.get(str(requesting.row(row_id).run_id))
    assert [each.price for each in candidates_of(run)] == [
        "16.00 USD an hour", "36.00 USD an hour",
    ]  # fmt: skip
    assert requesting.jobs("wide") == ["default"]
    assert requesting.notes(row_id) == {
        "ended": (
            f"<@{ALICE}> The cost of `wide` was approved, and it is submitted. Its own card"
            " follows it."
        )
    }
    told = requesting.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("run.request", ALICE), ("approval.approve", ERIN), ("run.request_ended", None),
    ]  # fmt: skip


@ON_BOTH
def test_every_step_of_it_outlives_restarts(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.restart()
    requesting.decides(row_id)
    for _ in range(10):
        requesting.restart()
        requesting.pass_time(seconds=2)
    assert requesting.row(row_id).phase == RequestPhase.SUBMITTED
    assert requesting.runs() == [("wide", ALICE, TEAM_A)]
    assert [each for each in requesting.effects() if each == "create jobs"] == ["create jobs"]


def test_it_waits_while_slack_does_not_answer(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.slack_is_down = True
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    assert requesting.runs() == []
    assert "Slack does not answer. Retrying." in requesting.shown(row_id)
    requesting.slack_is_down = False
    requesting.pass_time(minutes=10)
    assert requesting.runs() == [("wide", ALICE, TEAM_A)]


def test_a_request_changes_nothing_else(requesting: Requesting) -> None:
    """All of a submission is tried before it is requested; nothing of that stays."""
    row_id = requesting.request()
    messages = requesting.do(lambda session: session.exec(select(Message)).all())
    assert {each.subject_id for each in messages} == {row_id}
    assert requesting.do(lambda session: session.exec(select(Hold)).all()) == []


def test_what_is_impossible_is_not_requested(requesting: Requesting) -> None:
    requesting.look()
    mount = VolumeMount("absent", "/mnt", read_only=False)
    with pytest.raises(UserError) as caught:
        requesting.submit("wide", gpus=8, templates=("burst",), pvc=(mount,))
    assert not isinstance(caught.value, CostlyRunError)
    assert caught.value.message.endswith("Namespace team-a has no PVC absent.")
    taken = requesting.submit("wide")
    with pytest.raises(ConflictError, match="wide has not ended"):
        requesting.submit("wide", gpus=8, templates=("burst",))
    assert requesting.get(taken).is_live


@pytest.mark.parametrize(
    ("verdict", "phase", "said"),
    [
        (Verdict.DENY, RequestPhase.DENIED, "was denied. Nothing was submitted."),
        (None, RequestPhase.EXPIRED, "was not decided in time. Nothing was submitted."),
    ],
)
def test_without_approval_nothing_is_submitted(
    requesting: Requesting, verdict: Verdict | None, phase: RequestPhase, said: str
) -> None:
    row_id = requesting.request()
    if verdict is not None:
        requesting.decides(row_id, verdict=verdict)
    requesting.pass_time(hours=25)
    assert (requesting.row(row_id).phase, requesting.runs()) == (phase, [])
    assert requesting.notes(row_id)["ended"] == f"<@{ALICE}> The request to submit `wide` {said}"


def test_a_withdrawn_request_cannot_be_approved(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.withdraws(row_id)
    with pytest.raises(ConflictError, match="This request is already voided"):
        requesting.decides(row_id)
    with pytest.raises(ConflictError, match="The request to submit wide has already ended"):
        requesting.withdraws(row_id)
    requesting.pass_time(minutes=5)
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.WITHDRAWN, [])
    assert "[Withdraw]" not in requesting.shown(row_id)


def test_a_lead_can_withdraw_for_others(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.withdraws(row_id, ERIN)
    assert f"Withdrawn by @{ERIN}" in lines(requesting.shown(row_id))
    assert requesting.notes(row_id)["ended"].startswith(f"<@{ALICE}> The request to submit")


def test_the_requester_never_decides_it(requesting: Requesting) -> None:
    requesting.set_policy(approvers=(ALICE, BOB))
    row_id = requesting.request()
    with pytest.raises(NotAllowedError, match="You cannot decide your own request"):
        requesting.decides(row_id, ALICE)
    with pytest.raises(NotAllowedError, match="You are not an approver of this request"):
        requesting.decides(row_id, ERIN)
    requesting.set_policy(approvers=(ALICE,))
    requesting.withdraws(row_id)
    with pytest.raises(LimitError, match="This request cannot be approved"):
        requesting.request()


def test_a_former_lead_does_not_count(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.decides(row_id)
    team = requesting.policy.teams["team-a"]
    requesting.policy.teams["team-a"] = team.model_copy(update={"leads": team.members})
    requesting.pass_time(minutes=5)
    assert (requesting.approval(row_id).phase, requesting.runs()) == (ApprovalPhase.ASKED, [])
    assert "An approver lost the right to approve" in requesting.shown(row_id)
    requesting.decides(row_id, CAROL)
    requesting.pass_time(minutes=1)
    assert requesting.runs() == [("wide", ALICE, TEAM_A)]


def test_a_name_taken_meanwhile_is_refused(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.submit("wide", ERIN, gpus=8, templates=("burst",))
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    assert requesting.runs() == [("wide", ERIN, TEAM_A)]
    card = lines(requesting.shown(row_id))
    assert card[0] == "❌ Run wide of team-a, above a cost limit · Not submitted"
    assert "wide has not ended, and live runs of a team must have different names." in card
    assert requesting.approval(row_id).phase == ApprovalPhase.USED


@ON_BOTH
def test_a_price_changed_meanwhile_is_refused(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.decides(row_id)
    requesting.set_policy({"price_per_gpu_hour": 6})
    requesting.pass_time(minutes=1)
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.REFUSED, [])
    assert requesting.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ALICE}> `wide` was not submitted. It would cost 48.00 USD an hour on burst now,"
            " and 36.00 USD an hour on burst was approved. Nothing was submitted."
        ),
        "Submit the run again, which requests that.",
    ]


def test_a_limit_lowered_meanwhile_is_refused(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.decides(row_id)
    requesting.set_policy({"leads_above": 10})
    requesting.pass_time(minutes=1)
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.REFUSED, [])
    assert requesting.row(row_id).reason == (
        "Template burst has changed since its cost was approved; its limit is 10.00 USD an hour"
        " now. Nothing was submitted."
    )


def test_a_raised_limit_submits_it_anyway(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.decides(row_id)
    requesting.set_policy({"leads_above": 100})
    requesting.pass_time(minutes=1)
    assert requesting.row(row_id).phase == RequestPhase.SUBMITTED


def test_a_template_gone_meanwhile_is_refused(requesting: Requesting) -> None:
    row_id = requesting.request()
    requesting.decides(row_id)
    requesting.policy = policy({"dgx": {}})
    requesting.pass_time(minutes=1)
    assert requesting.row(row_id).reason == "team-a has no compute template burst."
    assert requesting.runs() == []


def test_a_former_member_gets_no_run(requesting: Requesting) -> None:
    row_id = requesting.request()
    team = requesting.policy.teams["team-a"]
    requesting.policy.teams["team-a"] = team.model_copy(update={"members": team.leads})
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    assert requesting.row(row_id).reason == "Alice may no longer submit runs of team-a."
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.REFUSED, [])


def test_one_request_for_a_name_at_once(requesting: Requesting) -> None:
    row_id = requesting.request()
    with pytest.raises(ConflictError) as caught:
        requesting.request()
    assert (caught.value.message, caught.value.hint) == (
        f"<@{ALICE}> already requested to submit wide; it waits for an approval.",
        f"Its card in <#{TEAM_A}> shows it. Withdraw it there, or choose another name.",
    )
    requesting.withdraws(row_id)
    requesting.request()


def test_a_costly_resubmission_is_requested_too(requesting: Requesting) -> None:
    run_id = requesting.submit("wide", ERIN, gpus=8, templates=("dgx", "burst"))
    requesting.pass_time(seconds=30)
    requesting.stop(run_id, ERIN)
    requesting.pass_time(minutes=1)
    requesting.decides(requesting.request_again("wide"))
    requesting.pass_time(minutes=1)
    assert requesting.runs() == [("wide", ERIN, TEAM_A), ("wide#2", ALICE, TEAM_A)]


def test_the_data_shown_is_the_data_read(requesting: Requesting) -> None:
    """A version that is recorded while it waits changes nothing."""
    requesting.set_policy(datasets=DATASETS, dgx={"leads_above": 10})
    dataset_id = requesting.do(lambda session: add_cached(session).dataset_id)
    data = (DataMount("chest-xray", "/data"),)
    row_id = requesting.request(templates=("dgx",), data=data)
    assert "Data chest-xray@v3" in lines(requesting.shown(row_id))
    assert requesting.do(lambda session: session.exec(select(Hold)).all()) == []

    def newer(session: Session) -> None:
        dataset = session.get_one(Dataset, dataset_id)
        add_cache(session, add_version(session, dataset, "v4", digest="sha256:" + 64 * "b"))

    requesting.do(newer)
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    run = requesting.get(str(requesting.row(row_id).run_id))
    assert [each["reference"] for each in run.spec["data"]] == ["chest-xray@v3"]
