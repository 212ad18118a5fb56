"""The message that shows a followed log."""

from collections.abc import Iterator

from sqlmodel import Session

from bot.slack.card import Button, Card, Tone
from bot.slack.markup import FormatCommand, Markup, code, join, plain, sentence, when
from bot.training.tables import FOLLOW, LogFollow, Run

UNFOLLOW = "train.unfollow"
FORBIDDEN = "You may not read the logs of this run any more."


class LogFollowRenderer:
    """Renders followed logs; `words` formats a command."""

    kind = FOLLOW

    def __init__(self, format_command: FormatCommand) -> None:
        self._format_command = format_command

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The last lines, and until when the log is followed or why it no longer is."""
        del channel
        row = session.get(LogFollow, subject_id)
        if row is None:
            return None
        run = session.get_one(Run, row.run_id)
        return follow_card(row, run, self._format_command)


def follow_card(row: LogFollow, run: Run, format_command: FormatCommand) -> Card:
    """The message at this moment."""
    is_live = row.ended_at is None
    return Card(
        f"Log of {run.reference}",
        "" if row.reason == FORBIDDEN else row.shown_pod,
        Tone.WORKING if is_live else Tone.STOPPED,
        lines=tuple(_lines(row, run, format_command)),
        code="\n".join(row.shown),
        buttons=(Button(UNFOLLOW, "Stop following", row.id),) if is_live else (),
    )


def _lines(row: LogFollow, run: Run, format_command: FormatCommand) -> Iterator[Markup]:
    if row.reason == FORBIDDEN:
        yield plain(FORBIDDEN)
        return
    pod = f" --pod {row.pod}" if row.pod else ""
    read = f"train logs {run.reference}{pod}"
    if row.ended_at is None:
        yield join("Shows the newest lines until ", when(row.until), ", or until the run ends.")
    elif run.is_live:
        again = code(format_command(f"{read} --follow"))
        yield join(plain(f"{row.reason} "), again, " follows it again.")
    else:
        yield join(plain(f"{row.reason} "), code(format_command(read)), " shows its log.")
    if row.trouble:
        yield sentence(f"The log could not be read: {row.trouble}")
    if row.kept_at is not None:
        yield join("These lines were saved ", when(row.kept_at), ".")
    if not row.shown and not row.trouble:
        yield plain("There is no output yet." if row.shown_pod else "There is no pod yet.")
