"""The audit log as people read it: the newest lines as a table, or all of them as CSV."""

import csv
import io
from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo

from bot.audit import AuditLine
from bot.audit.search import MOST_LINES, NAMES, AuditQuery
from bot.durations import format_duration
from bot.slack.card import AsFile, Card, Table
from bot.slack.markup import code, join, plain
from bot.slack.shortening import cut

SHOWN_LINES = 25
"""As many lines a card shows."""

_LONGEST_DETAILS = 80
_HEADER = ("at", "person", "team", "channel", "verb", "kind", "id", "facts")


def audit_card(
    found: Sequence[AuditLine],
    query: AuditQuery,
    *,
    zone: str,
    name_of: Callable[[str], str],
    as_csv: str,
) -> Card:
    """The newest lines in the reader's `zone`; `as_csv` is the command for all of them."""
    if not found:
        return Card(_title(query), lines=(plain("There is no such line in the audit log."),))
    shown = found[:SHOWN_LINES]
    more = join("These are the newest. ", code(as_csv), " sends all of them.")
    return Card(
        _title(query),
        table=Table(
            (f"When ({zone})", "Who", "What", "About", "Details"),
            tuple(_row(line, ZoneInfo(zone), name_of) for line in shown),
        ),
        footer=(more,) if len(found) > len(shown) else (),
    )


def csv_card(found: Sequence[AuditLine], query: AuditQuery) -> Card:
    """All lines as CSV, times in UTC; those before the newest 10,000 are left out."""
    text, is_cut = io.StringIO(), len(found) >= MOST_LINES
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows(map(_cells, found))
    name = f"audit-{query.team or 'all'}-{query.since:%Y-%m-%d}-to-{query.until:%Y-%m-%d}.csv"
    return Card(
        _title(query),
        lines=(plain(f"These are the newest {MOST_LINES:,} lines."),) if is_cut else (),
        document=text.getvalue().rstrip("\n"),
        as_file=AsFile(name, "Ask for a shorter time with `--since`."),
    )


def _title(query: AuditQuery) -> str:
    length = format_duration(query.until - query.since)
    return f"Audit log of {query.team or 'all teams'}, the last {length}"


def _row(line: AuditLine, zone: ZoneInfo, name_of: Callable[[str], str]) -> tuple[str, ...]:
    about = next((name for name in NAMES if name in line.facts), None)
    details = ", ".join(f"{name}={value}" for name, value in line.facts.items() if name != about)
    return (
        f"{line.at.astimezone(zone):%Y-%m-%d %H:%M}",
        name_of(line.person) if line.person else "Quartermaster",
        line.verb,
        line.facts[about] if about else f"{line.subject_kind} {line.subject_id[-10:]}",
        cut(details, _LONGEST_DETAILS) or "-",
    )


def _cells(line: AuditLine) -> tuple[str, ...]:
    facts = "; ".join(f"{name}={value}" for name, value in line.facts.items())
    return (
        f"{line.at:%Y-%m-%dT%H:%M:%SZ}",
        line.person or "",
        line.team or "",
        line.channel or "",
        line.verb,
        line.subject_kind,
        line.subject_id,
        facts,
    )
