"""/gpu report: GPU-hours, waits and costs over a range of days, by team, person, run or type."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from bot.commands.context import Context
from bot.errors import UsageError
from bot.gpus.reports.card import csv_card, report_card
from bot.gpus.reports.report import By, Question, days_of
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Choice
from handlers.gpu.use import whose

gpu = Part("gpu")


_LONGEST = timedelta(days=400)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Day:
    """A day of the calendar."""

    word = "DAY"
    form = "a day such as `2026-11-01`"
    example = "2026-11-01"

    def read(self, text: str) -> date:
        """The day."""
        if not _DAY.fullmatch(text):
            raise ValueError(text)
        return date.fromisoformat(text)


@dataclass(frozen=True)
class ReportOptions:
    """The options of `/gpu report`."""

    first: date | None
    last: date | None
    by: str
    csv: bool
    everybody: bool


@gpu.verb(
    "report",
    "GPU-hours allocated, busy and borrowed, with waits and cost, for a range of days",
    right=Right.GPU_READ,
    into=ReportOptions,
    examples=(
        "report",
        "report --from 2026-11-01 --to 2026-11-21 --by person",
        "report --by run --csv",
    ),
    team=TEAM,
    shares=True,
)
@gpu.option("--from", "first", Day(), help="First day (default: the first of the month)")
@gpu.option("--to", "last", Day(), help="Last day (default: today)")
@gpu.option("--by", Choice(*By), default=By.TEAM, help="What to group lines by")
@gpu.option("--csv", flag=True, help="Output as CSV, in a file if it is long")
@gpu.option("--all", "everybody", flag=True, help="Every team (admins only)")
def report(ctx: Context, asked: ReportOptions) -> Reply:
    """Reports on the team, or on all teams for admins; days are in the team's time zone."""
    team = whose(ctx, everybody=asked.everybody)
    zone = ctx.settings.teams[team].time_zone if team else "UTC"
    today = ctx.now.astimezone(ZoneInfo(zone)).date()
    last = asked.last or today
    first = asked.first or last.replace(day=1)
    _refuse_bad(first, last, today)
    question = Question(days_of(first, last, zone), team, By(asked.by))
    found = ctx.gpus.usage.report(ctx.session, question, ctx.now)
    if asked.csv:
        return Reply(card=csv_card(found))
    return Reply(card=report_card(found, ctx.again("--csv")))


def _refuse_bad(first: date, last: date, today: date) -> None:
    example = "Use for example `--from 2026-11-01 --to 2026-11-30`."
    if first > last:
        raise UsageError(f"{first} is after {last}.", example)
    if first > today:
        raise UsageError(f"{first} is in the future.", example)
    if last - first > _LONGEST:
        raise UsageError(
            f"From {first} to {last} is longer than 400 days.", "Request one year at a time."
        )
