"""Every night: what nobody can need any more goes."""

from datetime import UTC, datetime, timedelta

from bot import deliveries, schedule
from bot.database.database import Session
from bot.schedule import ScheduledJob
from bot.slack import messages
from bot.training import offers

_RUNS_KEPT = timedelta(days=30)


def work(session: Session, now: datetime) -> None:
    """Forgets old deliveries, offers and slots, and messages of what ended long ago."""
    messages.forget(session, now)
    deliveries.forget(session, datetime.now(UTC))
    offers.forget(session, now)
    schedule.forget_runs(session, now - _RUNS_KEPT)


job = ScheduledJob("retention", "17 3 * * *", "UTC", work)
