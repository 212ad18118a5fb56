"""What the workspace knows of a run of a step in a workflow."""

from dataclasses import dataclass, field

from playground.slack.shapes import Json


@dataclass
class StepExecution:
    """One run of a step; `error` is what its author sees where it failed."""

    id: str
    callback_id: str
    inputs: Json
    outputs: Json = field(default_factory=dict)
    error: str = ""
    is_running: bool = True
