"""Every five minutes: deletes rows that are no longer needed, a few at a time."""

from datetime import UTC, datetime, timedelta

from bot import deliveries, holds, schedule
from bot.database.database import Session
from bot.gpus.waits import service as waits
from bot.quotas.steps import service as steps
from bot.reconcile import due
from bot.services import Services
from bot.slack import documents, messages
from bot.slack.home import tabs
from bot.training.follows import service
from bot.training.logs import tails
from bot.training.offers import service as offers
from bot.training.watches import service as watches
from jobs.job import Job

_RUNS_KEPT = timedelta(days=30)
_HOLDS_KEPT = timedelta(days=1)


def work(_services: Services, session: Session, now: datetime) -> None:
    """Deletes what docs/growth.md lists, so that no table grows without bound."""
    remove(session, now, datetime.now(UTC))


def remove(session: Session, now: datetime, real_now: datetime) -> None:
    """Deletes rows too old at `now`; `real_now` is for rows that a playground does not shift."""
    documents.forget(session, real_now)
    messages.forget(session, now)
    deliveries.forget(session, real_now)
    tabs.forget(session, real_now)
    due.forget(session)
    holds.forget(session, now - _HOLDS_KEPT)
    tails.forget(session, now)
    service.forget(session, now)
    offers.forget(session, now)
    watches.forget(session)
    waits.forget(session, now)
    steps.forget(session, now)
    schedule.forget_runs(session, now - _RUNS_KEPT)


job = Job("retention", "*/5 * * * *", work)
