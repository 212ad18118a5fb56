"""Writes that a run is to be stopped; its controller stops it."""

from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards
from bot.training.tables import KIND, Run, RunIntent


def stop(session: Session, actor: Actor, run: Run, why: str, now: datetime) -> Run:
    """Stops a live run for the given reason; repeated, it keeps the first reason."""
    if run.wanted != RunIntent.STOP:
        run.wanted, run.stop_by, run.stop_at, run.stop_why = (
            RunIntent.STOP, actor.person, now, why,
        )  # fmt: skip
        session.add(run)
        facts = {"name": run.reference} | ({"why": why} if why else {})
        record(session, actor, "run.stop", (KIND, run.id), facts, at=now)
        refresh_cards(session, run.subject, live=True)
    wake(session, KIND, run.id, cluster_lane(run.cluster), now)
    return run
