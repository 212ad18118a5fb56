"""Workloads that wait for GPUs: how many GPUs, since when, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import Session, col

from bot.config import Team
from bot.quotas import Engine
from bot.quotas.engines.standing import Item
from bot.training.kinds import gpus_of, is_known
from bot.training.spec import spec_of
from bot.training.tables import WAITING, Run


@dataclass(frozen=True)
class Waits:
    """A workload that waits for GPUs; `since` is None and `why` empty if unknown."""

    name: str
    team: str
    gpus: Decimal
    since: datetime | None
    why: str


def waiting(
    session: Session, cluster: str, teams: Mapping[str, Team], engine: Engine
) -> list[Waits]:
    """What waits on a cluster, the longest first: from its engine, else from our own runs."""
    runs = _runs(session, cluster)
    found: dict[tuple[str, str], Waits] = {}
    for name, team in teams.items():
        for item in _items(engine, team) if cluster in team.reach else ():
            if item.gpus:
                run = runs.get(item.uid)
                found[item.namespace, item.name] = _of_item(item, name, engine, run)
    for run in runs.values():
        if (run.namespace, run.job_name) not in found and run.team in teams:
            gpus = gpus_of(spec_of(run)) if is_known(run) else Decimal(0)
            if gpus:
                waits = Waits(run.reference, run.team, gpus, run.since, run.reason)
                found[run.namespace, run.job_name] = waits
    return sorted(found.values(), key=lambda each: (each.since is None, each.since, each.name))


def _items(engine: Engine, team: Team) -> Iterable[Item]:
    queue = engine.queues.behind(team.namespace, team.queue)
    names = {each.queue for each in queue.figures} or {queue.name} if queue else set()
    known = (engine.queues.waiting(name) for name in sorted(names))
    return [item for each in known if each for item in each.items]


def _of_item(item: Item, team: str, engine: Engine, run: Run | None) -> Waits:
    blocked = item.blocked
    why = engine.words.causes[blocked.cause][0] if blocked else ""
    if run is not None:
        return Waits(run.reference, run.team, item.gpus, run.since, run.reason or why)
    return Waits(item.name, team, item.gpus, item.created_at, why)


def _runs(session: Session, cluster: str) -> dict[str, Run]:
    """Our own waiting runs, by the uid of their root object, else by their id."""
    chosen = select(Run).where(
        col(Run.cluster) == cluster, col(Run.ended_at).is_(None), col(Run.phase).in_(WAITING)
    )
    return {run.job_uid or run.id: run for run in session.scalars(chosen)}
