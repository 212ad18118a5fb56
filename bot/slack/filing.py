"""Answers too long for a message, and pictures: sent as a file to the person who asked."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import structlog

from bot.charts.picture import as_png
from bot.clock import Clock
from bot.database.database import ACKNOWLEDGE_SECONDS, Database, Session
from bot.errors import QuartermasterError
from bot.slack.card import AsFile, Card, Reply
from bot.slack.documents import DOCUMENT, MOST_BYTES, bring
from bot.slack.files import MessageDocument
from bot.slack.markup import Markup, channel, join, plain, sentence
from bot.slack.messages import Subject, ThreadMessage
from bot.slack.receiving.incoming import Dispatcher, Incoming, StepRun

log = structlog.get_logger()

LONGEST_DOCUMENT = 9_000
"""The longest document a message shows whole, in characters as Slack counts them."""

LONGEST_CODE = 2_900
"""The longest code block a message shows whole."""

_LONGEST_LINES = 1_500
_ANSWER = "answer"
_TOO_LONG = "whole text is too long for a message"


class Filing:
    """A dispatcher whose answers become files where they are too long for a message.

    Only who asked sees an answer, so only they are sent its file, by direct message; its row is
    committed before the answer says so.
    """

    def __init__(
        self, dispatcher: Dispatcher, database: Database, clock: Clock, workspace_id: str
    ) -> None:
        self._dispatcher = dispatcher
        self._database = database
        self._clock = clock
        self._workspace_id = workspace_id

    def answer(self, incoming: Incoming) -> Reply | None:
        """The reply, short enough for a message."""
        reply = self._dispatcher.answer(incoming)
        return reply and self._filed(incoming, reply, incoming.received + ACKNOWLEDGE_SECONDS)

    def channel_changed(self, channel_id: str) -> None:
        """Tells the dispatcher."""
        self._dispatcher.channel_changed(channel_id)

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        """Tells the dispatcher."""
        self._dispatcher.bot_joined(channel_id, event_id)

    def step_begun(self, run: StepRun) -> None:
        """Tells the dispatcher."""
        self._dispatcher.step_begun(run)

    def _filed(self, incoming: Incoming, reply: Reply, deadline: float | None = None) -> Reply:
        later, card = reply.later, reply.card
        if later is not None:
            return replace(reply, later=lambda: self._filed(incoming, later()))
        if card is None or card.as_file is None or is_whole(card):
            return reply
        return replace(reply, card=self._brought(incoming, card, card.as_file, deadline))

    def _brought(
        self, incoming: Incoming, card: Card, file: AsFile, deadline: float | None
    ) -> Card:
        content = _content(card)
        shown = replace(card, document="", picture=None)
        if len(content) > MOST_BYTES:
            return _told(shown, _too_large(content, file))
        work = partial(self._keep, incoming=incoming, card=card, content=content)
        try:
            self._database.transaction(work, deadline=deadline)
        except QuartermasterError as error:
            log.warning("a file could not be stored", person=incoming.person, error=error.message)
            what = "picture could not be sent" if card.picture else _TOO_LONG
            return _told(shown, sentence(f"The {what}. {error.message} Request it again."))
        return _told(shown, _coming(card, content, file))

    def _keep(self, session: Session, incoming: Incoming, card: Card, content: bytes) -> None:
        name = card.as_file.name if card.as_file else ""
        subject = Subject(self._workspace_id, _ANSWER, incoming.delivery)
        lines = (_above(incoming, name, card),)
        note = ThreadMessage(DOCUMENT, lines, in_thread=False, to=incoming.person)
        document = MessageDocument(
            message_id="",
            name=name,
            title=card.title,
            content=content,
            asked_in=incoming.channel,
            asked_thread=incoming.thread_ts,
            created_at=datetime.now(UTC),
        )
        bring(session, subject, note, document, self._clock.now())


def is_whole(card: Card) -> bool:
    """Whether a message shows all of the card's document and code."""
    if card.picture is not None:
        return False
    lines = sum(map(len, card.lines)) <= _LONGEST_LINES
    document = len(plain(card.document)) <= LONGEST_DOCUMENT and lines
    return document and len(plain(card.code.rstrip())) <= LONGEST_CODE


def _told(card: Card, line: Markup) -> Card:
    return replace(card, lines=(*card.lines, line))


def _content(card: Card) -> bytes:
    """The bytes of the card's file."""
    if card.picture is not None:
        return as_png(card.picture)
    return f"{(card.document or card.code).rstrip()}\n".encode("utf-8", errors="replace")


def _coming(card: Card, content: bytes, file: AsFile) -> Markup:
    if card.picture is not None:
        size = max(round(len(content) / 1000), 1)
        return plain(f"I send you the picture {file.name} ({size:,} kB) in a direct message.")
    said = f"It is too long for a message. All of it ({_size(content)}) is in the file {file.name}"
    return plain(f"{said}, which I send you in a direct message.")


def _too_large(content: bytes, file: AsFile) -> Markup:
    most = f"a file may have {MOST_BYTES / 1e6:.0f} MB at most"
    said = f"The whole text is too large: it has {len(content) / 1e6:,.1f} MB; {most}."
    return sentence(f"{said} {file.less}".rstrip())


def _size(content: bytes) -> str:
    lines, kilobytes = content.count(b"\n"), max(round(len(content) / 1000), 1)
    return f"{lines:,} line{'' if lines == 1 else 's'}, {kilobytes:,} kB"


def _above(incoming: Incoming, name: str, card: Card) -> Markup:
    """The text above the file: what it is, and where it was requested."""
    is_direct = incoming.channel.startswith("D")
    where = () if is_direct else (", as requested in ", channel(incoming.channel))
    return join(plain(card.title), *where, plain(f": {name}"))
