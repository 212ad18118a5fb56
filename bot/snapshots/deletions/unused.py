"""The answer of `/pvc unused`: the PVCs that nothing needs, and what they cost. Pure: no I/O."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.durations import format_duration
from bot.slack.card import Button, Card, Table
from bot.slack.markup import FormatCommand, Markup, code, join, plain
from bot.snapshots.claims.card import reading_remarks, total_cost
from bot.snapshots.claims.found import ClaimSummary, TeamClaims
from bot.snapshots.deletions.service import DeletionRequest, written
from bot.volumes.wording import UNKNOWN, capacity, money

ASK = "pvc.delete-ask"
_MOST_ROWS, _MOST_BUTTONS = 40, 5
_HEADER = ("PVC", "Size", "Class", "Last mounted", "Snapshots")
_COST = "Monthly cost"


@dataclass(frozen=True)
class LastRun:
    """The run that mounted a PVC last, and when it ended."""

    reference: str
    ended_at: datetime


@dataclass(frozen=True)
class UnusedClaims:
    """The PVCs of a team that nothing needs: `found` has only these.

    `last` is the run that mounted each last, by cluster and name. With `may_delete` the reader may
    delete them.
    """

    found: TeamClaims
    last: Mapping[tuple[str, str], LastRun]
    may_delete: bool


def unused_card(unused: UnusedClaims, now: datetime, format_command: FormatCommand) -> Card:
    """PVCs that nothing needs, the most expensive first, with buttons for the first five."""
    found = unused.found
    rows = sorted(found.rows, key=_by_cost)
    has_costs = any(each.cost is not None for each in rows)
    shown = tuple(
        (*_cells(each, unused, now), *((money(each.cost),) if has_costs else ()))
        for each in rows[:_MOST_ROWS]
    )
    header = (*_HEADER, *((_COST,) if has_costs else ()))
    return Card(
        f"Unused PVCs of {found.team}",
        lines=tuple(_lines(unused, rows, format_command)),
        table=Table(header, shown) if shown else None,
        buttons=tuple(delete_button(found.team, each) for each in rows[:_MOST_BUTTONS])
        if unused.may_delete
        else (),
    )


def _lines(
    unused: UnusedClaims, rows: Sequence[ClaimSummary], format_command: FormatCommand
) -> Iterator[Markup]:
    found = unused.found
    if not rows and not found.unread:
        yield plain(f"{found.team} has no unused PVCs.")
    yield from total_cost(rows)
    if len(rows) > _MOST_ROWS:
        yield plain(f"{len(rows) - _MOST_ROWS} more PVCs are not shown.")
    if rows:
        delete = code(format_command("pvc delete PVC --snapshot-first"))
        yield join(delete, " takes a snapshot of one and deletes it. Leads and admins may do that.")
    yield from reading_remarks(found)


def _cells(row: ClaimSummary, unused: UnusedClaims, now: datetime) -> tuple[str, ...]:
    claim = row.claim
    return (
        claim.name + (f" ({row.cluster})" if unused.found.is_wide else ""),
        sized(row),
        claim.spec.storage_class_name or "none",
        last_mounted(row, unused, now),
        str(len(row.snapshots)) if row.has_snapshots else "not served",
    )


def sized(row: ClaimSummary) -> str:
    """The capacity of a PVC."""
    size = row.claim.size_bytes
    return UNKNOWN if size is None else capacity(size)


def last_needed(row: ClaimSummary, unused: UnusedClaims) -> datetime | None:
    """When the last run that mounted a PVC ended, else when the PVC was created, if known."""
    last = unused.last.get((row.cluster, row.claim.name))
    return last.ended_at if last is not None else row.claim.metadata.creation_timestamp


def last_mounted(row: ClaimSummary, unused: UnusedClaims, now: datetime) -> str:
    """When a PVC was mounted last, and by which run."""
    last = unused.last.get((row.cluster, row.claim.name))
    if last is not None:
        return f"{format_duration(now - last.ended_at)} ago by {last.reference}"
    created = row.claim.metadata.creation_timestamp
    age = f", created {format_duration(now - created)} ago" if created is not None else ""
    return f"by no recent run{age}"


def _by_cost(row: ClaimSummary) -> tuple[float, int, str, str]:
    """Sorts by cost, then by size, the largest first."""
    return (-(row.cost or 0.0), -(row.claim.size_bytes or 0), row.claim.name, row.cluster)


def delete_button(team: str, row: ClaimSummary) -> Button:
    """The button that asks whether to delete a PVC."""
    asked = DeletionRequest(
        team=team, cluster=row.cluster, claim=row.claim.name, uid=row.claim.uid, saves=False
    )
    return Button(ASK, f"Delete {row.claim.name} ...", written(asked))
