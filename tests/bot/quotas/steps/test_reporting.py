"""Slack learns how a step ended, once, even if its answer is lost."""

from datetime import datetime

import pytest
from sqlmodel import Session

from bot.app import commands
from bot.errors import ChatError
from bot.quotas.steps.controller import StepController
from bot.quotas.steps.tables import QuotaStep, StepPhase
from bot.reconcile.frame import ControllerContext
from bot.slack.client import SlackClient
from bot.slack.grammar.manifest import manifest
from playground.ledger import Fault
from playground.slack.steps import StepExecution
from tests.bot.quotas.rig import Rig
from tests.bot.slack.receiving.dispatchers import client_of
from tests.playground.slack.served import Served

INPUTS = {
    "person": "U0ALICE",
    "channel": "C0TEAMA",
    "gpus": "8",
    "length": "3d",
    "reason": "CVPR",
}


@pytest.fixture
def execution(slack: Served) -> StepExecution:
    slack.workspace.install(manifest(commands(), workflow_steps=True))
    return slack.act(slack.workspace.run_step("request_gpu_quota", INPUTS))


def controller(rig: Rig, client: SlackClient) -> StepController:
    context = ControllerContext(rig.database, rig.clock, rig.settings, {}, lambda text: text)
    return StepController(context, rig.service, client)


def refused(rig: Rig, execution: str) -> str:
    """The id of a step that is to fail."""

    def work(session: Session) -> str:
        row = QuotaStep(
            workspace_id="T0QM",
            execution_id=execution,
            asked_at=rig.clock.now(),
            phase=StepPhase.REFUSED,
            error="No team.",
        )
        session.add(row)
        return row.id

    return rig.do(work)


def steps(rig: Rig, client: SlackClient, row_id: str) -> datetime | None:
    """Takes one step; returns when the row was ended."""
    rig.do(controller(rig, client).step(row_id).save)
    return rig.do(lambda session: session.get_one(QuotaStep, row_id).ended_at)


def test_an_end_with_lost_answer_is_told_once(
    rig: Rig, slack: Served, execution: StepExecution
) -> None:
    client, row_id = client_of(slack), refused(rig, execution.id)
    slack.workspace.ledger.by_name["functions.completeError"] = [Fault.LOSE_ANSWER]
    with pytest.raises(ChatError):
        steps(rig, client, row_id)
    assert (execution.error, execution.is_running) == ("No team.", False)
    assert steps(rig, client, row_id) is not None
    assert ("functions.completeError", "execution_not_in_running_state") in (
        slack.workspace.refusals
    )


def test_a_workflow_that_is_gone_ends_it(rig: Rig, slack: Served) -> None:
    assert steps(rig, client_of(slack), refused(rig, "Fx0")) is not None


def test_an_end_is_told_again_after_an_outage(
    rig: Rig, slack: Served, execution: StepExecution
) -> None:
    client, row_id = client_of(slack), refused(rig, execution.id)
    slack.workspace.ledger.by_name["functions.completeError"] = [Fault.REFUSE]
    with pytest.raises(ChatError):
        steps(rig, client, row_id)
    assert execution.is_running
    assert steps(rig, client, row_id) is not None
    assert execution.error == "No team."
