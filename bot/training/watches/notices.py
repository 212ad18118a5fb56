"""Notices about a run: to its owner as they chose, and to those who watch it."""

from dataclasses import replace
from datetime import datetime

from sqlmodel import Session

from bot.notices import Notice, NoticeKind, tell
from bot.slack.card import Button
from bot.slack.markup import join, plain
from bot.slack.messages import ThreadMessage, post_once
from bot.training.spec import is_shown_by_sweep
from bot.training.tables import Run
from bot.training.watches.service import watchers
from bot.training.wording import name_of

UNWATCH = "train.unwatch"


def tell_watched(session: Session, run: Run, notice: Notice, now: datetime) -> None:
    """Notifies the owner once, and everyone who watches the run by direct message.

    The owner of a sweep is notified of its end, and of single cells only if their GPUs are idle.
    The text begins with the run's name. Whether a watcher may still read the run is checked when
    their message is posted.
    """
    is_of_sweep = is_shown_by_sweep(run) and notice.kind is not NoticeKind.IDLE
    if not is_of_sweep and not tell(session, run.subject, run.channel, notice, now):
        return
    for person in watchers(session, run):
        post_once(
            session, run.subject, run.channel, _watched(session, run, notice.note, person), now
        )


def _watched(session: Session, run: Run, note: ThreadMessage, person: str) -> ThreadMessage:
    """The notice for a watcher: it says whose run it is, and has no buttons of the owner's.

    Its purpose differs from the owner's, whose notice alone delays a stop until Slack shows it.
    """
    first, *others = note.lines
    owner = name_of(session, run.workspace_id, run.person)
    stop = (Button(UNWATCH, "Stop watching", run.id),) if run.is_live else ()
    return replace(
        note,
        purpose=f"watched-{note.purpose}",
        lines=(join(plain(f"{owner}'s run "), first), *others),
        to=person,
        team=run.team,
        # A card in the owner's direct messages is no place for others to look at.
        in_thread=not run.channel.startswith("D"),
        broadcast=False,
        buttons=stop,
    )
