"""Ephemeral answers about snapshot schedules. Pure: no I/O."""

from collections.abc import Sequence
from datetime import datetime

from bot.slack.card import Card, Reply, Table
from bot.slack.markup import FormatCommand, Markup, code, join, plain, when
from bot.snapshots.schedules.card import covered, kept
from bot.snapshots.tables import SnapshotSchedule


def scheduled(row: SnapshotSchedule, then: datetime, format_command: FormatCommand) -> Reply:
    """The answer to `snapshot schedule`; `then` is the slot after the next."""
    stop = code(format_command(f"snapshot unschedule {row.claim_name}"))
    lines = [
        join("Snapshots of ", code(row.claim_name), " are taken at ", code(row.cron),
             plain(f" in {row.time_zone}: next "), when(row.next_at), ", then ", when(then), "."),
        join(plain(f"Kept: {kept(row.keep, row.most)}. The newest ready snapshot, and those"
             " that are pinned or in use, always stay.")),
        join("Its card in ", f"<#{row.channel}>", " shows all of them. ", stop,
             " stops the schedule."),
    ]  # fmt: skip
    if row.others:
        lines.append(plain(covered(row.others)))
    return Reply(tuple(lines))


def unscheduled(row: SnapshotSchedule, format_command: FormatCommand) -> Reply:
    """The answer to `snapshot unschedule`, with the command that starts the schedule again."""
    again = code(format_command(f'snapshot schedule {row.claim_name} "{row.cron}"'))
    return Reply(
        (
            join("No more snapshots of ", code(row.claim_name), " are taken on a schedule."),
            join("Existing snapshots stay until they expire or are deleted. ",
                 again, " starts the schedule again."),
        )
    )  # fmt: skip


def schedules(
    team: str,
    rows: Sequence[SnapshotSchedule],
    foreign: Sequence[str],
    format_command: FormatCommand,
) -> Reply:
    """A table of a team's schedules; those of snapscheduler are listed below it."""
    lines: list[Markup] = []
    if not rows:
        begin = code(format_command('snapshot schedule results "0 2 * * *" --keep 7d'))
        lines.append(join(plain(f"{team} has no snapshot schedules. To create one: "), begin))
    if foreign:
        lines.append(foreign_line(foreign))
    header = ("PVC", "Schedule", "Time zone", "Next (UTC)", "Kept", "Remarks")
    table = Table(header, tuple(_cells(row) for row in rows)) if rows else None
    return Reply(card=Card(f"Snapshot schedules of {team}", lines=tuple(lines), table=table))


def foreign_line(foreign: Sequence[str]) -> Markup:
    """A line that lists snapscheduler's schedules in the team's namespaces."""
    named = ", ".join(foreign)
    return plain(f"snapscheduler also has schedules here, not managed by Quartermaster: {named}.")


def _cells(row: SnapshotSchedule) -> tuple[str, ...]:
    return (
        row.claim_name,
        row.cron,
        row.time_zone,
        f"{row.next_at:%Y-%m-%d %H:%M}",
        kept(row.keep, row.most),
        row.trouble or row.obstacle or row.said,
    )
