"""The message in the thread of a sweep's card: once, when it has ended."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlmodel import Session

from bot.notices import Notice, NoticeKind, tell
from bot.slack.markup import FormatCommand, Markup, code, join, plain, sentence
from bot.slack.messages import ThreadMessage
from bot.training.sweeps.card import best_words, can_compare, counts_words
from bot.training.sweeps.cells import Cell, counts_of
from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.wording import name_of


def ended(
    session: Session,
    sweep: Sweep,
    cells: Sequence[Cell],
    format_command: FormatCommand,
    now: datetime,
) -> None:
    """Notifies the owner how its cells ended, and which is best."""
    counts = counts_of(cells)
    is_bad = counts.failed > 0 and counts.succeeded == 0
    stopper = name_of(session, sweep.workspace_id, sweep.stop_by)
    lines = tuple(_lines(sweep, cells, stopper, format_command))
    note = ThreadMessage("ended", lines, broadcast=is_bad, owner=sweep.person)
    kind = NoticeKind.FAILED if is_bad else NoticeKind.ENDED
    tell(session, sweep.subject, sweep.channel, Notice(kind, sweep.person, note), now)


def _lines(
    sweep: Sweep, cells: Sequence[Cell], stopper: str, format_command: FormatCommand
) -> Iterator[Markup]:
    by = f" by {stopper}" if sweep.stop_at is not None or sweep.reason else ""
    how = f"was stopped{by}" if sweep.phase == SweepPhase.STOPPED else "has ended"
    yield plain(f"Sweep {sweep.name} {how}. {counts_words(sweep, cells)}")
    yield from (sentence(each) for each in (sweep.reason, sweep.unblock) if each)
    yield from best_words(sweep, cells)
    if can_compare(cells):
        compare = format_command(f"train compare {sweep.name}")
        yield join(code(compare), plain(" compares its runs."))
