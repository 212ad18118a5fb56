"""Every five minutes: what nobody can need any more goes, a few rows at a time."""

from datetime import UTC, datetime, timedelta

from bot import deliveries, due, holds, schedule
from bot.database.database import Session
from bot.schedule import ScheduledJob
from bot.slack import documents, messages
from bot.training import follow_service, logs, offers

_RUNS_KEPT = timedelta(days=30)
_HOLDS_KEPT = timedelta(days=1)


def work(session: Session, now: datetime) -> None:
    """Forgets what docs/growth.md says, so that no table grows without a bound."""
    remove(session, now, datetime.now(UTC))


def remove(session: Session, now: datetime, real_now: datetime) -> None:
    """Forgets what is too old at that moment; `real_now` is for what no playground shifts."""
    documents.forget(session, real_now)
    messages.forget(session, now)
    deliveries.forget(session, real_now)
    due.forget(session)
    holds.forget(session, now - _HOLDS_KEPT)
    logs.forget(session, now)
    follow_service.forget(session, now)
    offers.forget(session, now)
    schedule.forget_runs(session, now - _RUNS_KEPT)


job = ScheduledJob("retention", "*/5 * * * *", "UTC", work)
