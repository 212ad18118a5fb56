"""What reports say of costs where some of the GPUs have no price."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlmodel import Session

from bot.config import Prices
from bot.database.database import Database
from bot.gpus.minutes import PER_HOUR, Window, minute_of
from bot.gpus.reports.card import csv_card, report_card
from bot.gpus.reports.report import By, Question, Report, report
from bot.gpus.tables import Hour, Series, What
from bot.slack.text import as_text
from tests.bot.gpus.digests.days import begin, fill

BEGUN = datetime(2026, 11, 20, tzinfo=UTC)
ENDED = BEGUN + timedelta(days=1)
NO_LABEL, THOUSANDTHS = 99, 1000


def a_day_and_a_minute(session: Session) -> None:
    """Two teams on h100; a GPU that has no label yet holds a pod of team-a for 12 minutes."""
    begin(session)
    fill(session, BEGUN, ENDED, {"lane": (2.0, 1.0, 1.0, 0.0), "sweep": (1.0, 1.0, 1.0, 0.0)})
    session.add(Series(id=NO_LABEL, what=What.OTHER, cluster="default", key="new", team="team-a"))
    session.flush()
    held = {"allocated": 12 * THOUSANDTHS, "measured": 0, "busy": 0, "idle": 0}
    hour = minute_of(BEGUN) // PER_HOUR
    session.add(Hour(hour=hour, series=NO_LABEL, **held, memory_used=0, memory_total=0))


def asked(database: Database, by: By, prices: Prices | None = None) -> Report:
    priced = prices or Prices(per_gpu_hour={"h100": Decimal("2.50")})
    question = Question(Window(BEGUN, ENDED), None, by)
    return database.read(lambda session: report(session, question, priced, ENDED))


def last_cells(told: str) -> dict[str, str]:
    """The last cell of each row, by its first."""
    rows = [line.split("  ") for line in told.splitlines() if line.startswith("  ")]
    return {row[1]: row[-1].strip() for row in rows}


def test_known_costs_stay_beside_unknown_prices(database: Database) -> None:
    database.transaction(a_day_and_a_minute)
    told = as_text(report_card(asked(database, By.TEAM), "gpu report --csv"))
    assert last_cells(told) == {
        "Team": "USD",
        "team-a": "at least 120.00; 0.20 GPU-hours of unknown price",
        "team-b": "60.00",
        "total": "at least 180.00; 0.20 GPU-hours of unknown price",
    }
    assert (
        "No price is known for 0.20 GPU-hours: their GPU type has none in"
        " `training.prices.per_gpu_hour`, or the type is unknown." in told
    )


def test_what_has_no_price_at_all_is_unknown(database: Database) -> None:
    database.transaction(a_day_and_a_minute)
    costs = last_cells(as_text(report_card(asked(database, By.TYPE), "gpu report --csv")))
    assert (costs["h100"], costs["unknown"]) == ("180.00", "unknown")


def test_csv_counts_hours_without_a_price(database: Database) -> None:
    database.transaction(a_day_and_a_minute)
    rows = [line.split(",") for line in (csv_card(asked(database, By.TEAM)).document or "").split()]
    header, *told = rows
    places = [header.index(each) for each in ("team", "cost", "unpriced_gpu_hours")]
    assert [[row[each] for each in places] for row in told] == [
        ["team-a", "120.00", "0.200"],
        ["team-b", "60.00", "0.000"],
        ["total", "180.00", "0.200"],
    ]


def test_csv_without_prices_has_no_costs(database: Database) -> None:
    database.transaction(a_day_and_a_minute)
    document = csv_card(asked(database, By.TEAM, Prices())).document or ""
    header, *told = [line.split(",") for line in document.split()]
    places = [header.index(each) for each in ("cost", "unpriced_gpu_hours", "currency")]
    assert [[row[each] for each in places] for row in told] == [["", "", ""]] * 3
