"""Days of two teams, as the samples of their GPUs have them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlmodel import Session

from bot.gpus.minutes import PER_HOUR, minute_of
from bot.gpus.tables import Hour, Sampling, Series, What
from bot.training.tables import Run, RunPhase, Span

WHOLE_HOUR = 60 * 1000
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)

# GPUs that are held, and which share of those is measured, busy and idle.
Held = tuple[float, float, float, float]
SERIES = ("lane", "notebook", "sweep")
TEAMS = {"lane": "team-a", "notebook": "team-a", "sweep": "team-b"}
PEOPLE = {"lane": "U0ALICE", "notebook": "U0ERIN", "sweep": "U0BOB"}


def begin(session: Session) -> None:
    """A cluster of 8 GPUs; team-a is owed 4 of them, team-b 2."""
    for number, name in enumerate(SERIES, start=1):
        session.add(
            Series(
                id=number,
                what=What.RUN,
                cluster="default",
                key=name,
                team=TEAMS[name],
                person=PEOPLE[name],
                run_id=f"run-{name}",
                name=name,
                gpu_type="h100",
            )
        )
    for number, (what, team) in enumerate(_OTHERS, start=len(SERIES) + 1):
        key = f"{what}-{team}"
        session.add(Series(id=number, what=what, cluster="default", key=key, team=team))
    first = minute_of(BEGIN)
    session.add(
        Sampling(
            cluster="default",
            rolled=first + 400 * 24 * PER_HOUR,
            measured=first,
            minutes_from=first + 400 * 24 * PER_HOUR,
            fives_from=first + 400 * 24 * PER_HOUR,
        )
    )
    session.flush()


_OTHERS = (
    (What.NODES, ""),
    (What.QUOTA, "team-a"),
    (What.QUOTA, "team-b"),
    (What.BORROWED, "team-b"),
    (What.SAMPLED, ""),
    (What.BORROWED, "team-a"),
    (What.QUOTED, ""),
)
OWED, QUOTED = (5, 6, 7, 9), 10
_THERE = {4: 8.0, 5: 4.0, 6: 2.0, 7: 1.0, 8: 1.0, 9: 0.0, QUOTED: 1.0}


def fill(session: Session, begun: datetime, ended: datetime, held: Mapping[str, Held]) -> None:
    """The same in every hour of a time."""
    for hour in range(minute_of(begun) // PER_HOUR, minute_of(ended) // PER_HOUR):
        for number, gpus in _THERE.items():
            session.add(_hour(hour, number, (gpus, 0, 0, 0)))
        for name, each in held.items():
            session.add(_hour(hour, SERIES.index(name) + 1, each))
    session.flush()


def _hour(hour: int, series: int, held: Held) -> Hour:
    gpus, measured, busy, idle = held
    all_of_it = round(gpus * WHOLE_HOUR)
    return Hour(
        hour=hour,
        series=series,
        allocated=all_of_it,
        measured=round(all_of_it * measured),
        busy=round(all_of_it * busy),
        idle=round(all_of_it * idle),
        memory_used=0,
        memory_total=0,
    )


def add_run(session: Session, name: str, **also: Any) -> Run:
    """A run of the story; it runs, if nothing else is said."""
    fields = {
        "id": f"run-{name}", "workspace_id": "T0QM", "team": TEAMS.get(name, "team-b"),
        "name": name, "number": 1, "person": PEOPLE.get(name, "U0BOB"), "channel": "C0TEAMA",
        "cluster": "default", "namespace": "team-a", "queue": "team-a", "job_name": name,
        "spec": {"image": "lane:1", "cpu": "8", "memory": "64Gi", "gpus": str(Decimal(2))},
        "asked_at": BEGIN, "phase": RunPhase.RUNNING, "since": BEGIN,
    }  # fmt: skip
    run = Run(**{**fields, **also})
    session.add(run)
    session.flush()
    return run


def waited(session: Session, run: Run, phase: RunPhase, began: datetime, ended: datetime) -> None:
    """A stretch of time that a run spent in a phase."""
    session.add(Span(run_id=run.id, phase=phase, nodes=1, began_at=began, ended_at=ended))
    session.flush()
