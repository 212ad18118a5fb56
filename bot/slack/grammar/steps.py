"""Steps that the app offers in Slack's Workflow Builder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Begin = Callable[[Any, Any, str, Mapping[str, str], datetime], None]
"""Begins one run of a step: services, session, its execution id, its inputs and the time.

The same execution again has no further effect.
"""


@dataclass(frozen=True)
class StepParameter:
    """An input or an output of a step; `kind` is Slack's type."""

    name: str
    title: str
    description: str
    kind: str = "string"
    is_required: bool = True


@dataclass(frozen=True)
class WorkflowStep:
    """A step: what people see of it in Workflow Builder, and what begins when it is run."""

    callback_id: str
    title: str
    description: str
    inputs: Sequence[StepParameter]
    outputs: Sequence[StepParameter]
    begin: Begin
