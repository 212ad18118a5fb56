"""The one message of a wait: that the GPUs are free, or that its time is over."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from bot.durations import format_duration
from bot.gpus.waits.free import FreeGpus
from bot.gpus.waits.tables import GpuWait
from bot.gpus.waits.wording import amount, command_of, submission, usable
from bot.slack.markup import FormatCommand, Markup, code, join, plain, when
from bot.slack.messages import ThreadMessage, post_once


def free(
    session: Session, row: GpuWait, found: FreeGpus, format_command: FormatCommand, now: datetime
) -> None:
    """Notifies the person that the GPUs are free."""
    what = amount(row.wanted, found.gpu_type)
    lines = (
        plain(f"{what} are free for {row.team} in cluster {row.cluster}: {usable(found)}."),
        join("You asked ", when(row.asked_at), ". They are not reserved for you: ",
             code(format_command(submission(found))), " starts a run."),
    )  # fmt: skip
    _say(session, row, "free", lines, now)


def expired(session: Session, row: GpuWait, format_command: FormatCommand, now: datetime) -> None:
    """Notifies the person that the wait has expired."""
    what, lasted = amount(row.wanted, row.gpu_type), format_duration(row.until - row.asked_at)
    lines = (
        plain(f"{what} were not free for {row.team} in cluster {row.cluster} within {lasted}, so"
              " this wait has expired."),
        join(code(format_command(command_of(row))), " waits again, and ",
             code(format_command("quota status")), " shows what is in use."),
    )  # fmt: skip
    _say(session, row, "expired", lines, now)


def _say(
    session: Session, row: GpuWait, purpose: str, lines: Sequence[Markup], now: datetime
) -> None:
    note = ThreadMessage(purpose, lines, in_thread=False, to=row.person, team=row.team)
    post_once(session, row.subject, row.person, note, now)
