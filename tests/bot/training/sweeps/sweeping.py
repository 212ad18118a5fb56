"""Sweeps as tests submit them: batch sizes 32, 64 and 128, of which 64 is fastest."""

from collections.abc import Sequence
from typing import Any

from sqlmodel import col, select

from bot.slack.card import Card, Reply
from bot.slack.grammar.container_parameters import SweptParameter
from bot.slack.text import as_text
from bot.training.submission.building import Submission
from bot.training.sweeps.card import SweepRenderer
from bot.training.sweeps.service import StoppedSweep
from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run
from playground.cluster.control.training import Training
from tests.bot.ground import ALICE, TEAM_A
from tests.bot.training.rig import IMAGE, Rig

SIZES = SweptParameter("bs", ("32", "64", "128"))
COMMAND = ("python", "train.py", "--epochs", "3", "--bs", "{bs}")
FASTEST = {"metric": "images/sec", "best": "max"}


def asked(name: str = "wide", **more: Any) -> Submission:
    """A sweep of three cells with one GPU each."""
    fields: dict[str, Any] = {"image": IMAGE, "gpus": 1, "command": COMMAND, "sweep": (SIZES,)}
    return Submission(name, **(fields | more))


def sweeps(rig: Rig, name: str = "wide", person: str = ALICE, **more: Any) -> str:
    """Somebody of team-a submits a sweep; its id. Each batch size has its own throughput."""
    for size, rate in (("32", 400.0), ("64", 900.5), ("128", 700.0)):
        rig.world.behaviours[f"--bs {size}"] = Training(images_per_second=rate)
    by = rig.caller(person)
    now = rig.clock.now()
    return rig.do(lambda s: rig.sweeps.submit(s, by, asked(name, **more), now).sweep.id)


def stops(rig: Rig, sweep_id: str, person: str = ALICE) -> StoppedSweep:
    """Somebody stops a sweep."""
    by, now = rig.caller(person), rig.clock.now()
    return rig.do(lambda s: rig.sweeps.stop(s, by, rig.sweeps.get(s, sweep_id), now))


def sweep(rig: Rig, sweep_id: str) -> Sweep:
    """The row of a sweep."""
    return rig.do(lambda session: rig.sweeps.get(session, sweep_id))


def shown(rig: Rig, sweep_id: str) -> str:
    """The card of a sweep as text."""
    return as_text(Reply(card=shown_card(rig, sweep_id)))


def shown_card(rig: Rig, sweep_id: str) -> Card:
    """The card of a sweep."""
    renderer = SweepRenderer(rig.clock, rig.words)
    card = rig.do(lambda session: renderer.card(session, sweep_id, TEAM_A))
    assert card is not None
    return card


def runs(rig: Rig) -> Sequence[Run]:
    """All runs, in the order in which they were submitted."""
    return rig.do(lambda session: session.scalars(select(Run).order_by(col(Run.id))).all())


def phases(rig: Rig) -> dict[str, str]:
    """The phase of each run by its reference."""
    return {run.reference: run.phase for run in runs(rig)}
