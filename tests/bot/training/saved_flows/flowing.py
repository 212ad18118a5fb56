"""Flows as tests save them: a preparation, a training that waits for it, an evaluation."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlmodel import col, select

from bot.slack.card import Reply
from bot.slack.grammar.parameters import Reference, RunEnd
from bot.slack.text import as_text
from bot.training.saved_flows.card import FlowRenderer
from bot.training.saved_flows.tables import Flow
from bot.training.tables import Run
from tests.bot.ground import ALICE, TEAM_A
from tests.bot.training.rig import Rig


def after(name: str, number: int | None = None, *, is_any: bool = False) -> dict[str, Any]:
    """The option that has a run wait for another one."""
    return {"after": (RunEnd(Reference(name, number), is_any),)}


def submits(rig: Rig, **of_training: Any) -> tuple[str, str, str]:
    """Alice submits three runs, each of which waits for the one before; their ids."""
    prep = rig.submit("prep", gpus=0)
    train = rig.submit("train", **after("prep"), **of_training)
    return prep, train, rig.submit("eval", gpus=1, **after("train"))


def saves(rig: Rig, name: str = "nightly", run: str = "train") -> str:
    """Alice saves the flow of a run; its id."""
    by, now = rig.caller(ALICE), rig.clock.now()
    return rig.do(
        lambda s: (
            rig.saved_flows.save(s, by, name, rig.service.find(s, "team-a", Reference(run)), now).id
        )
    )


def schedules(
    rig: Rig,
    flow_id: str,
    cron: str = "0 2 * * *",
    person: str = ALICE,
    zone: str | None = None,
) -> None:
    """Somebody has a flow start on a schedule."""
    by, now = rig.caller(person), rig.clock.now()
    rig.do(lambda s: rig.saved_flows.schedule(s, by, s.get_one(Flow, flow_id), (cron, zone), now))


def starts(rig: Rig, flow_id: str, suffix: str = "", person: str = ALICE) -> list[str]:
    """Somebody starts a flow; the references of its runs."""
    by, now = rig.caller(person), rig.clock.now()
    made = rig.do(lambda s: rig.saved_flows.start(s, by, s.get_one(Flow, flow_id), suffix, now))
    return [each.reference for each in made.runs]


def row_of(rig: Rig, flow_id: str) -> Flow:
    """The row of a flow."""
    return rig.do(lambda session: session.get_one(Flow, flow_id))


def shown(rig: Rig, flow_id: str) -> list[str]:
    """The lines of the card of a flow."""
    card = rig.do(lambda session: FlowRenderer(rig.words).card(session, flow_id, TEAM_A))
    assert card is not None
    return as_text(Reply(card=card)).splitlines()


def runs(rig: Rig) -> Sequence[Run]:
    """All runs, in the order in which they were submitted."""
    return rig.do(lambda session: session.scalars(select(Run).order_by(col(Run.id))).all())


def asked(rig: Rig) -> dict[str, datetime]:
    """When each run was submitted, by its reference."""
    return {run.reference: run.asked_at for run in runs(rig)}


def named(rig: Rig, reference: str) -> Run:
    """The run of that reference."""
    return next(run for run in runs(rig) if run.reference == reference)
