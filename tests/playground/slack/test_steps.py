"""Steps of workflows as Slack documents them: what it sends, takes and refuses."""

import copy
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from bot.app import commands
from bot.slack.grammar.manifest import manifest
from playground.slack.errors import PersonError
from playground.slack.installed import ManifestError, installed
from playground.slack.steps import StepExecution
from tests.playground.slack.served import Served

WITH_STEP = manifest(commands(), workflow_steps=True)
STEP = "request_gpu_quota"
INPUTS = {
    "person": "U0ALICE",
    "channel": "C0TEAMA",
    "gpus": "8",
    "length": "3d",
    "reason": "CVPR",
}
OUTPUTS = {"decision": "approved", "decided_by": "-", "length": "3d", "number": "4f09ab"}


@pytest.fixture
def execution(slack: Served) -> StepExecution:
    slack.workspace.install(WITH_STEP)
    return slack.act(slack.workspace.run_step(STEP, INPUTS))


def ended(slack: Served, method: str, **arguments: Any) -> str:
    """The error of Slack's answer; empty if it took it."""
    try:
        slack.bot.api_call(f"functions.{method}", json=arguments)
    except SlackApiError as error:
        return str(error.response["error"])
    return ""


def test_a_step_ends_once_with_outputs(slack: Served, execution: StepExecution) -> None:
    about = {"function_execution_id": execution.id, "outputs": OUTPUTS}
    assert ended(slack, "completeSuccess", **about) == ""
    assert (execution.outputs, execution.is_running) == (OUTPUTS, False)
    assert ended(slack, "completeSuccess", **about) == "execution_not_in_running_state"


def test_a_step_may_end_with_an_error(slack: Served, execution: StepExecution) -> None:
    about = {"function_execution_id": execution.id, "error": "Declined."}
    assert ended(slack, "completeError", **about) == ""
    assert (execution.error, execution.is_running) == ("Declined.", False)


@pytest.mark.parametrize("outputs", [{}, OUTPUTS | {"number": 7}, OUTPUTS | {"more": "x"}])
def test_outputs_are_those_of_the_manifest(
    slack: Served, execution: StepExecution, outputs: dict[str, Any]
) -> None:
    about = {"function_execution_id": execution.id, "outputs": outputs}
    assert ended(slack, "completeSuccess", **about) == "parameter_validation_failed"
    assert execution.is_running


def test_an_unknown_execution_is_refused(slack: Served, execution: StepExecution) -> None:
    about = {"function_execution_id": "Fx0", "outputs": OUTPUTS}
    assert ended(slack, "completeSuccess", **about) == "function_execution_not_found"
    assert execution.is_running


def test_workflow_builder_takes_declared_inputs_alone(slack: Served) -> None:
    slack.workspace.install(WITH_STEP)
    for inputs, said in (
        ({**INPUTS, "person": "Alice"}, "person must be of type slack#/types/user_id"),
        ({}, "person is missing"),
        ({**INPUTS, "more": "x"}, "more is unknown"),
    ):
        with pytest.raises(PersonError, match=said):
            slack.act(slack.workspace.run_step(STEP, inputs))


def test_an_app_without_steps_offers_none(slack: Served) -> None:
    with pytest.raises(PersonError, match="there is no step request_gpu_quota; there is: none"):
        slack.act(slack.workspace.run_step(STEP, INPUTS))


@pytest.mark.parametrize("key", ["function_runtime", "org_deploy_enabled"])
def test_steps_need_settings_of_the_app(key: str) -> None:
    lacking = copy.deepcopy(WITH_STEP)
    del lacking["settings"][key]
    with pytest.raises(ManifestError, match=f"/settings/{key}: must be"):
        installed(lacking)
