"""States of the cards of sweeps."""

from collections.abc import Iterator
from typing import Any

from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.tables import Run, RunPhase
from tests.handlers.command_client import ERIN
from tests.states.runs import SPEC, ended, run, running
from tests.states.state import HOUR, ID, MINUTE, NOW, SILENT, State, card, usual

GRID = [["lr", ["0.1", "0.01"]], ["bs", ["32", "64"]]]
COMMAND = ["python", "train.py", "--lr", "{lr}", "--bs", "{bs}"]


def sweep(**more: Any) -> Sweep:
    """A sweep of four cells that was submitted two hours ago."""
    asked = NOW - 2 * HOUR
    fields = usual(
        name="wide", spec=SPEC | {"command": COMMAND, "gpus": "1"}, parameters=GRID, at_most=2,
        metric="accuracy", best="max", asked_at=asked, since=asked,
    )  # fmt: skip
    del fields["namespace"]
    return Sweep(**(fields | more))


def cell(number: int, made: Any = run, *args: Any, **more: Any) -> Run:
    """The run of a cell."""
    place = {"cell": {"sweep": ID, "number": number, "has_card": False}}
    name = f"wide-{number}"
    found: Run = made(*args, id=name, name=name, job_name=f"{name}-4c81d2e7", spec=place, **more)
    return found


def states() -> Iterator[State]:
    """All of them."""
    yield card("sweep-submitted", sweep(), cell(1))
    yield from _running()
    yield _on_templates()
    yield from _early()
    yield from _stopped()
    yield from _ended()


def _running() -> Iterator[State]:
    best = cell(2, running, results={"accuracy": "0.931"})
    first = cell(1, ended, RunPhase.SUCCEEDED, results={"accuracy": "0.914"})
    yield card("sweep-running", sweep(), first, best, cell(3, phase=RunPhase.PENDING))
    limit = "team-a has 200 live runs; its limit is 200. Retrying every minute."
    yield card("sweep-blocked", sweep(obstacle=limit), cell(1, running))
    yield card("sweep-retrying", sweep(trouble=SILENT), cell(1, running))
    left = "Alice may no longer submit runs of team-a."
    refused = {"phase": SweepPhase.STOPPING, "reason": left}
    advice = "A member of the team can submit the rest."
    yield card("sweep-refused", sweep(**refused, unblock=advice), cell(1, running))


def _on_templates() -> State:
    places = [
        {"template": name, "cluster": cluster, "queue": "team-a", "after_seconds": 1800,
         "price": price, "spec": SPEC | {"gpus": "1"}}
        for name, cluster, price in (
            ("dgx", "default", "2.00 USD an hour"), ("burst", "aks", "4.50 USD an hour"),
        )
    ]  # fmt: skip
    on = {"candidates": places, "made_at": NOW - 30 * MINUTE}
    return card(
        "sweep-on-templates",
        sweep(places=places, at_most=None),
        cell(1, running, results={"accuracy": "0.914"}, **on),
        cell(2, running, cluster="aks", candidate=1, **on),
        cell(3, phase=RunPhase.PENDING, moving_to=1, **on),
        cell(4, phase=RunPhase.PENDING, **on),
    )


def _early() -> Iterator[State]:
    rule = {"stop_early": "median", "warm_up": 500, "min_cells": 2, "metric": "loss", "best": "min"}
    stop = {"wide-3": {"at": "step 1,200", "value": "1.87", "median": "0.742"}}
    others = [
        cell(1, running, results={"loss": "0.655"}),
        cell(2, running, results={"loss": "0.702"}),
    ]
    going = cell(3, running, wanted="stop", stop_at=NOW, results={"loss": "1.87"})
    mute = cell(4, running)
    yield card(
        "sweep-stopping-early",
        sweep(**rule, early_stops=stop, unjudged=["wide-4"], at_most=None),
        *others, going, mute,
    )  # fmt: skip
    gone = cell(3, ended, RunPhase.STOPPED, results={"loss": "1.87"})
    over = {"phase": SweepPhase.ENDED, "ended_at": NOW - 15 * MINUTE}
    good = [
        cell(number, ended, RunPhase.SUCCEEDED, results={"loss": score})
        for number, score in ((1, "0.512"), (2, "0.548"), (4, "0.590"))
    ]
    yield card("sweep-ended-early-stop", sweep(**rule, **over, early_stops=stop), *good, gone)


def _stopped() -> Iterator[State]:
    by = {"stop_by": ERIN, "stop_at": NOW - MINUTE}
    going = cell(1, running, wanted="stop", stop_at=NOW - MINUTE, stop_by=ERIN)
    yield card("sweep-stopping", sweep(phase=SweepPhase.STOPPING, **by), going)
    end = {"phase": SweepPhase.STOPPED, "ended_at": NOW}
    yield card("sweep-stopped", sweep(**by, **end), cell(1, ended, RunPhase.STOPPED))


def _ended() -> Iterator[State]:
    over = {"phase": SweepPhase.ENDED, "ended_at": NOW - 15 * MINUTE}
    scores = ("0.914", "0.931", "0.889", "0.927")
    good = [
        cell(number, ended, RunPhase.SUCCEEDED, results={"accuracy": score})
        for number, score in enumerate(scores, start=1)
    ]
    yield card("sweep-ended", sweep(**over), *good)
    lost = cell(2, ended, RunPhase.FAILED, results={"accuracy": "0.977"})
    yield card("sweep-ended-with-failures", sweep(**over), good[0], lost, *good[2:])
    bad = [cell(number, ended, RunPhase.FAILED) for number in (1, 2, 3, 4)]
    yield card("sweep-failed", sweep(**over), *bad)
