"""A report as a table, and as CSV. Pure."""

import csv
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO

from bot.durations import format_duration
from bot.gpus.reports.ranking_card import hours, share
from bot.gpus.reports.report import Line, Report
from bot.gpus.status import UNKNOWN
from bot.slack.card import AsFile, Card, Table
from bot.slack.markup import Markup, plain
from bot.slack.shortening import cut

_HEADER = ("GPU-hours", "Busy", "At 0 %", "Measured", "Borrowed", "Runs", "Wait")
_COLUMNS = (
    "gpu_hours", "busy_gpu_hours", "idle_gpu_hours", "measured_gpu_hours", "borrowed_gpu_hours",
    "runs", "waited_hours", "cost", "unpriced_gpu_hours", "currency",
)  # fmt: skip
# The current minute has no sample yet.
_ALL, _NEARLY_ALL = 0.9995, 0.95
_LEAST_SHOWN = Decimal("0.01")
_MOST_ROWS, _LONGEST_NAME = 40, 60


def report_card(report: Report, words: str) -> Card:
    """The report as a table, the total last; `words` is the command that gives all lines as CSV."""
    is_priced = bool(report.currency)
    header = (report.by.value.capitalize(), *_HEADER, *((report.currency,) if is_priced else ()))
    shown = report.lines[:_MOST_ROWS]
    rows = tuple(_row(each, is_priced=is_priced) for each in (*shown, report.total))
    rest = len(report.lines) - len(shown)
    return Card(
        _title(report),
        lines=(
            *_honest(report),
            *(
                (plain(f"The total includes {rest} more lines; `{words}` lists all of them."),)
                if rest
                else ()
            ),
        ),
        table=Table(header, rows) if report.lines else None,
    )


def csv_card(report: Report) -> Card:
    """The whole report as CSV."""
    first, last = report.days
    name = f"gpu-report-{report.team or 'all'}-by-{report.by.value}-{first}-to-{last}.csv"
    return Card(
        _title(report),
        lines=tuple(_honest(report)),
        document="".join(_csv(report)).rstrip("\n"),
        as_file=AsFile(name, "Ask for fewer days or another `--by`."),
    )


def _title(report: Report) -> str:
    first, last = report.days
    return f"GPUs of {report.team or 'all teams'}, {first} to {last}"


def _honest(report: Report) -> Iterator[Markup]:
    """Notes on what the report does not cover."""
    if not report.lines:
        yield plain("No GPU allocation was recorded in that time.")
    if not report.sampled:
        yield plain("There are no samples for that time.")
    for cluster, covered in sorted(report.sampled.items()):
        if covered < _ALL:
            said = f"Samples of {cluster} cover {100 * covered:.1f} % of the time"
            yield plain(f"{said}; the figures exclude the rest.")
    known = report.total.amounts.known
    if known is not None and known < 1:
        yield plain(f"GPU activity is known for {share(known)} of the GPU-hours.")
    if report.quoted is not None and report.quoted < _ALL and report.total.borrowed is not None:
        said = f"Quotas are known for {100 * report.quoted:.1f} % of that time"
        is_little = report.quoted < _NEARLY_ALL
        little, rest = ", too little to report borrowing", "; borrowing excludes the rest"
        yield plain(f"{said}{little if is_little else rest}.")
    if report.currency and report.total.unpriced:
        said = f"No price is known for {_few(report.total.unpriced)} GPU-hours: their GPU type has"
        yield plain(f"{said} none in `training.prices.per_gpu_hour`, or the type is unknown.")


def _row(line: Line, *, is_priced: bool) -> tuple[str, ...]:
    amounts, wait = line.amounts, line.wait
    cells = (
        cut(line.name, _LONGEST_NAME),
        hours(amounts.gpu_hours),
        f"{hours(amounts.busy_gpu_hours)} ({share(amounts.efficiency)})"
        if amounts.measured
        else share(None),
        hours(amounts.idle_gpu_hours),
        share(amounts.known),
        _borrowed(line),
        str(len(line.runs)),
        "-" if wait is None else format_duration(wait),
    )
    return (*cells, _money(line)) if is_priced else cells


def _borrowed(line: Line) -> str:
    if line.borrowed is None:
        return "-"
    if not _is_comparable(line):
        return UNKNOWN
    is_all = line.quoted is None or line.quoted >= _ALL
    return hours(line.borrowed) if is_all else f"at least {hours(line.borrowed)}"


def _is_comparable(line: Line) -> bool:
    """Whether borrowing is known for nearly all of the time."""
    return line.quoted is None or line.quoted >= _NEARLY_ALL


def _money(line: Line) -> str:
    if line.known_cost is None:
        return UNKNOWN
    cost = f"{line.known_cost:,.2f}"
    if not line.unpriced:
        return cost
    return f"at least {cost}; {_few(line.unpriced)} GPU-hours of unknown price"


def _few(amount: Decimal) -> str:
    """GPU-hours as text, with tiny amounts as `less than`."""
    return hours(amount) if amount >= _LEAST_SHOWN else f"less than {_LEAST_SHOWN}"


def _csv(report: Report) -> Iterator[str]:
    first, last = report.days
    yield _written((report.by.value, *_COLUMNS, "from", "to"))
    for line in (*report.lines, report.total):
        yield _written((*_fields(line, report), str(first), str(last)))


def _fields(line: Line, report: Report) -> tuple[str, ...]:
    amounts = line.amounts
    measured = Decimal(amounts.measured) / 60_000
    known = (amounts.gpu_hours, amounts.busy_gpu_hours, amounts.idle_gpu_hours, measured)
    waited = Decimal(int(line.waited.total_seconds())) / 3600
    cost = line.known_cost if report.currency else None
    return (
        _safe(line.name),
        *(_exact(each) for each in known),
        _exact(line.borrowed if _is_comparable(line) else None),
        str(len(line.runs)),
        _exact(waited),
        "" if cost is None else f"{cost:.2f}",
        _exact(line.unpriced if report.currency else None),
        report.currency,
    )


def _exact(value: Decimal | None) -> str:
    """A value for CSV; empty if unknown."""
    return "" if value is None else f"{value:.3f}"


def _safe(name: str) -> str:
    """The name, escaped so that no spreadsheet runs it as a formula."""
    return f"'{name}" if name[:1] in {"=", "+", "-", "@"} else name


def _written(cells: tuple[str, ...]) -> str:
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
