"""What reports say was borrowed where quotas are known for a part of the time alone."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session, select

from bot.config import Prices
from bot.database.database import Database
from bot.gpus.minutes import PER_HOUR, Window, minute_of
from bot.gpus.reports.card import csv_card, report_card
from bot.gpus.reports.report import By, Question, report
from bot.gpus.tables import Hour, Series, What
from bot.slack.text import as_text
from tests.bot.gpus.digests.days import OWED, QUOTED, begin, fill

BEGUN = datetime(2026, 11, 20, tzinfo=UTC)
ENDED = BEGUN + timedelta(days=1)


@pytest.mark.parametrize(
    ("hours", "cell", "field", "said"),
    [
        (24, "24.00", "24.000", ""),
        (
            23,
            "at least 23.00",
            "23.000",
            "Quotas are known for 95.8 % of that time; borrowing excludes the rest.",
        ),
        (
            1,
            "unknown",
            "",
            "Quotas are known for 4.2 % of that time, too little to report borrowing.",
        ),
    ],
)
def test_borrowed_stands_beside_the_same_span(
    database: Database, hours: int, cell: str, field: str, said: str
) -> None:
    def filled_later(session: Session) -> None:
        begin(session)
        fill(session, BEGUN, ENDED, {"sweep": (3.0, 1.0, 1.0, 0.0)})
        later = minute_of(BEGUN) // PER_HOUR + hours
        for row in session.exec(select(Hour).where(Hour.hour >= later)):
            if row.series in {*OWED, QUOTED}:
                session.delete(row)

    database.transaction(filled_later)
    question = Question(Window(BEGUN, ENDED), None, By.TEAM)
    found = database.read(lambda session: report(session, question, Prices(), ENDED))
    card = report_card(found, "gpu report --csv")
    assert card.table is not None
    assert {row[0]: row[5] for row in card.table.rows} == {"team-b": cell, "total": cell}
    assert ("Quotas" in as_text(card)) == bool(said)
    assert said in as_text(card)
    rows = [line.split(",") for line in (csv_card(found).document or "").splitlines()]
    place = rows[0].index("borrowed_gpu_hours")
    assert [row[place] for row in rows[1:]] == [field, field]


def test_another_teams_cluster_hides_no_quota(database: Database) -> None:
    def with_a_small_cluster(session: Session) -> None:
        begin(session)
        fill(session, BEGUN, ENDED, {"sweep": (3.0, 1.0, 1.0, 0.0)})
        first, amounts = minute_of(BEGUN) // PER_HOUR, {"allocated": 60_000, "measured": 0}
        rest = {"busy": 0, "idle": 0, "memory_used": 0, "memory_total": 0}
        shapes = ((What.RUN, "team-a", 24), (What.SAMPLED, "", 24), (What.QUOTED, "", 1))
        for number, (what, team, hours) in enumerate(shapes, start=30):
            names = {"what": what, "cluster": "small", "team": team, "key": f"{number}"}
            session.add(Series.model_validate({**names, "id": number, "name": f"{number}"}))
            session.flush()
            for hour in range(first, first + hours):
                session.add(Hour(hour=hour, series=number, **amounts, **rest))

    database.transaction(with_a_small_cluster)

    def known(team: str | None) -> float | None:
        asked = Question(Window(BEGUN, ENDED), team, By.RUN)
        return database.read(lambda session: report(session, asked, Prices(), ENDED)).quoted

    assert [known(each) for each in ("team-a", "team-b", None)] == [1 / 24, 1.0, 1 / 24]
