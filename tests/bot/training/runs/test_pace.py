from datetime import UTC, datetime, timedelta

from sqlmodel import Session

from bot.database.database import Database
from bot.slack.messages import Subject, show_card
from bot.training.runs.controller import FRESH_SECONDS, Pace
from tests.moments import off_the_minute

NOON = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


def add_live_cards(session: Session, count: int) -> None:
    for number in range(count):
        subject = Subject("T0QM", "run", f"run-{number}")
        show_card(session, subject, "C0TEAMA", NOON, live=True)


def test_live_cards_are_counted_every_few_seconds(database: Database) -> None:
    seconds = 0.0
    pace = Pace(lambda: seconds)
    assert database.read(pace.interval) == timedelta(seconds=30)
    database.transaction(lambda session: add_live_cards(session, 50))
    assert database.read(pace.interval) == timedelta(seconds=30)
    seconds = FRESH_SECONDS
    assert database.read(pace.interval) == timedelta(minutes=2)
