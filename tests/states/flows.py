"""States of the cards of saved flows."""

from collections.abc import Iterator
from typing import Any

from bot.training.saved_flows.tables import Flow, FlowPhase
from tests.states.runs import SPEC
from tests.states.state import DAY, HOUR, NOW, SILENT, State, card, usual

CRON = {
    "phase": FlowPhase.SCHEDULED, "cron": "0 2 * * *", "time_zone": "UTC", "scheduler": "U0ALICE",
    "next_at": NOW + 14 * HOUR,
}  # fmt: skip


def step(name: str, gpus: int, **edge: Any) -> dict[str, Any]:
    """A run of the flow, which waits for another one if `step` names it."""
    spec = SPEC | {"gpus": str(gpus), "command": ["python", f"{name}.py"]}
    after = [edge] if edge else []
    root = f"{name}-4c81d2e7"
    return {"name": name, "root_name": root, "cluster": "default", "spec": spec, "after": after}


STEPS = [
    step("prep", 0),
    step("train", 4, step="prep"),
    step("report", 0, step="train", is_any=True),
]


def flow(**more: Any) -> Flow:
    """A flow of three runs that was saved a day ago."""
    fields = usual(name="nightly", steps=STEPS, asked_at=NOW - DAY)
    del fields["namespace"], fields["cluster"]
    return Flow(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    yield card("flow-saved", flow())
    yield card("flow-scheduled", flow(**CRON))
    live = {"skipped": 1, "reason": "train#2 of the last start has not ended."}
    yield card("flow-skipped", flow(**CRON, **live))
    yield card("flow-skipped-often", flow(**CRON, **(live | {"skipped": 3})))
    refused = {
        "reason": (
            "Run train of the flow was refused: 4 GPUs exceed the limit of team-a for one run: 2."
        ),
        "unblock": "Use `--gpus 2` or fewer, or ask an admin for a higher limit.",
    }
    yield card("flow-refused", flow(**CRON, **refused))
    waits = "Whether Alice may submit runs is being checked. Retrying every minute."
    yield card("flow-waiting", flow(**CRON, obstacle=waits))
    yield card("flow-retrying", flow(**CRON, trouble=SILENT))
    paused = {
        "phase": FlowPhase.PAUSED, "next_at": None,
        "reason": "Alice may no longer submit runs of team-a.",
        "unblock": (
            "A member of the team can start the schedule again:"
            ' `/train flow schedule nightly --cron "0 2 * * *"`'
        ),
    }  # fmt: skip
    yield card("flow-paused", flow(**(CRON | paused)))
    yield card("flow-deleted", flow(phase=FlowPhase.DELETED, ended_at=NOW))
