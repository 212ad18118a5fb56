"""Steps of the app in Slack's Workflow Builder: running one, and how the app ends it."""

import re
from collections.abc import Iterator, Mapping

from playground.slack.arguments import Arguments
from playground.slack.errors import PersonError, SlackError
from playground.slack.events import publish
from playground.slack.methods import Method
from playground.slack.rates import TIER_3
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.steps import StepExecution
from playground.slack.transcript import Kind

_ID = {"slack#/types/user_id": "UW", "slack#/types/channel_id": "CGD"}


def run(state: State, callback_id: str, inputs: Json) -> StepExecution:
    """A workflow comes to a step of the app, which is told."""
    function = state.app.functions.get(callback_id)
    if function is None:
        offered = ", ".join(state.app.functions) or "none"
        raise PersonError(f"there is no step {callback_id}; there is: {offered}")
    wrong = list(_wrong(function["input_parameters"], inputs))
    if wrong:
        raise PersonError(f"Workflow Builder does not take this: {'; '.join(wrong)}")
    number = len(state.executions) + 1
    execution = StepExecution(f"Fx0QM{number:06}", callback_id, inputs)
    state.executions[execution.id] = execution
    state.note(Kind.SUBMITTED, "", f"a workflow runs the step {function['title']}")
    inner = {
        "type": "function_executed",
        "function": _described(callback_id, function),
        "inputs": inputs,
        "function_execution_id": execution.id,
        "workflow_execution_id": f"Wx0QM{number:06}",
        "event_ts": state.next_ts(),
        "bot_access_token": f"xwfp-{execution.id}",
    }
    publish(state, "function_executed", inner)
    return execution


def complete(state: State, args: Arguments) -> Json:
    """functions.completeSuccess."""
    execution = _running(state, args)
    outputs = args.json("outputs", "invalid_arguments")
    function = state.app.functions[execution.callback_id]
    wrong = list(_wrong(function["output_parameters"], outputs))
    if wrong:
        said = {"messages": [f"[ERROR] {each}" for each in wrong]}
        raise SlackError("parameter_validation_failed", response_metadata=said)
    execution.outputs, execution.is_running = outputs, False
    state.changed()
    return {}


def fail(state: State, args: Arguments) -> Json:
    """functions.completeError."""
    execution = _running(state, args)
    execution.error, execution.is_running = args.need("error"), False
    state.changed()
    return {}


def _running(state: State, args: Arguments) -> StepExecution:
    execution = state.executions.get(args.need("function_execution_id"))
    if execution is None:
        raise SlackError("function_execution_not_found")
    if not execution.is_running:
        raise SlackError("execution_not_in_running_state")
    return execution


def _described(callback_id: str, function: Json) -> Json:
    """A function as an event describes it: its parameters are lists there."""
    return {
        "id": "Fn0QM",
        "callback_id": callback_id,
        "title": function["title"],
        "description": function["description"],
        "type": "app",
        "input_parameters": list(function["input_parameters"].values()),
        "output_parameters": list(function["output_parameters"].values()),
    }


def _wrong(parameters: Mapping[str, Json], values: object) -> Iterator[str]:
    """What is missing, unknown, or of another type than declared."""
    if not isinstance(values, dict):
        yield "must be an object"
        return
    yield from (f"{name} is unknown" for name in values.keys() - parameters.keys())
    for name, declared in parameters.items():
        if name not in values:
            if declared["is_required"]:
                yield f"{name} is missing"
        elif not isinstance(values[name], str):
            yield f"{name} must be a string"
        elif (first := _ID.get(declared["type"])) and not re.match(f"[{first}]", values[name]):
            yield f"{name} must be of type {declared['type']}"


METHODS = {
    "functions.completeSuccess": Method(complete, TIER_3, effect=True),
    "functions.completeError": Method(fail, TIER_3, effect=True),
}
