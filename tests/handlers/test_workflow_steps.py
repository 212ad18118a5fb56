"""Steps of workflows ask a person; only their click makes the request."""

from datetime import timedelta

import pytest
from sqlmodel import Session, select

from bot.quotas.steps.notices import DECLINE, REQUEST
from bot.quotas.steps.tables import QuotaStep, StepPhase
from bot.quotas.tables import Override
from bot.slack.messages import Message
from bot.slack.receiving.incoming import StepRun
from tests.handlers.command_client import ALICE, BOB, TEAM_A, CommandClient

DIRECT = "D0ALICE"
SECRET = "ghp_" + "a1B2" * 9
INPUTS = {
    "person": ALICE,
    "channel": TEAM_A,
    "gpus": "8",
    "length": "3d",
    "reason": "CVPR deadline",
}


def runs(client: CommandClient, execution: str = "Fx1", **inputs: str) -> QuotaStep:
    """The row of a step that a workflow runs."""
    run = StepRun("request_gpu_quota", execution, INPUTS | inputs)
    client.application.dispatcher.step_begun(run)
    (row,) = [each for each in steps(client) if each.execution_id == execution]
    return row


def steps(client: CommandClient) -> list[QuotaStep]:
    return client.application.database.read(lambda session: list(session.exec(select(QuotaStep))))


def asked(client: CommandClient) -> list[Override]:
    return client.application.database.read(lambda session: list(session.exec(select(Override))))


def told(client: CommandClient) -> list[Message]:
    offers = select(Message).where(Message.purpose == "offer")
    return client.application.database.read(lambda session: list(session.exec(offers)))


def test_a_step_asks_its_person_once(client: CommandClient) -> None:
    runs(client)
    row = runs(client)
    (message,) = told(client)
    assert message.channel == ALICE
    assert message.content == [
        "A workflow asks you to request 8 more GPUs for team-a, for 3d.",
        "Reason: CVPR deadline",
        "Slack does not say who started it. Nothing is requested unless you click Request.",
    ]
    assert (row.phase, asked(client)) == (StepPhase.OFFERED, [])


def test_the_click_of_the_person_requests_it(client: CommandClient) -> None:
    row = runs(client)
    said = client.clicks(ALICE, DIRECT, REQUEST, row.id).splitlines()
    assert said[0] == "Requested for team-a: nominal quota 4 → 12 GPUs of h100, for 3d."
    (made,) = asked(client)
    assert (made.requester, made.channel, made.reason) == (ALICE, TEAM_A, "CVPR deadline")
    (after,) = steps(client)
    assert (after.phase, after.override_id) == (StepPhase.REQUESTED, made.id)


def test_others_answer_for_no_one_else(client: CommandClient) -> None:
    row = runs(client)
    for action in (REQUEST, DECLINE):
        said = client.clicks(BOB, "D0BOB", action, row.id)
        assert "You are not a member of team-a." in said
    assert (steps(client)[0].phase, asked(client)) == (StepPhase.OFFERED, [])


def test_a_declined_step_requests_nothing(client: CommandClient) -> None:
    row = runs(client)
    said = client.clicks(ALICE, DIRECT, DECLINE, row.id)
    assert said == "Declined. Nothing was requested, and the workflow ends there."
    assert client.clicks(ALICE, DIRECT, REQUEST, row.id) == (
        "This question was answered, or its 7 days are over."
    )
    (after,) = steps(client)
    assert (after.phase, after.error) == (
        StepPhase.REFUSED,
        "<@U0ALICE> declined. Nothing was requested.",
    )
    assert asked(client) == []


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        (
            {"channel": "C0DAILY"},
            (
                "The channel of this step belongs to no team. Choose a channel in which"
                " `/quota request` works."
            ),
        ),
        ({"gpus": "many"}, "`gpus` takes a number of GPUs to add, such as `8`, not `many`."),
        ({"gpus": "-8"}, "`gpus` takes a number of GPUs to add, such as `8`, not `-8`."),
        ({"person": "everyone"}, "This step names no person. Choose who requests the quota."),
        (
            {"reason": ""},
            "`reason` takes 1 to 300 characters, not 0. Say in a sentence what the GPUs are for.",
        ),
        (
            {"person": BOB},
            "<@U0BOB> may not request GPU quota for team-a. Choose a person of the team.",
        ),
        ({"gpu_type": "a100"}, "team-a has no GPU type a100 in cluster default."),
        (
            {"reason": f"use {SECRET}"},
            ("Something in this step looks like a secret. None of it was stored. Take it out."),
        ),
    ],
)
def test_a_step_that_cannot_be_fails(
    client: CommandClient, inputs: dict[str, str], error: str
) -> None:
    row = runs(client, **inputs)
    assert row.phase == StepPhase.REFUSED
    assert row.error.startswith(error)
    assert SECRET not in repr(row)
    assert told(client) == []


def test_an_answer_after_a_week_is_refused(client: CommandClient) -> None:
    row = runs(client)

    def age(session: Session) -> None:
        session.get_one(QuotaStep, row.id).asked_at -= timedelta(days=7)

    client.application.database.transaction(age)
    assert client.clicks(ALICE, DIRECT, REQUEST, row.id) == (
        "This question was answered, or its 7 days are over."
    )
    assert asked(client) == []


def test_a_step_may_name_the_type(client: CommandClient) -> None:
    runs(client, gpu_type="h100")
    (message,) = told(client)
    assert message.content is not None
    assert message.content[0] == (
        "A workflow asks you to request 8 more GPUs of h100 for team-a, for 3d."
    )


def test_a_person_is_asked_five_times(client: CommandClient) -> None:
    for number in range(5):
        assert runs(client, f"Fx{number}").phase == StepPhase.OFFERED
    assert runs(client, "Fx5").error == (
        "<@U0ALICE> has 5 such questions to answer, the maximum. They can answer them in their"
        " direct messages with the bot."
    )
    assert len(told(client)) == 5


def test_an_unknown_step_is_left_alone(client: CommandClient) -> None:
    client.application.dispatcher.step_begun(StepRun("other", "Fx1", {}))
    assert steps(client) == []
