"""The current content of a message row, in Slack's format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from sqlalchemy import select
from sqlmodel import Session, col

from bot.charts.values import Chart
from bot.slack.blocks import (
    card_blocks,
    digest_of,
    has_new_blocks,
    reply_blocks,
    with_plain_tables,
)
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.chart_blocks import Plainness, Showing, chart_blocks, missing
from bot.slack.client import Block, Draft, MessageRef
from bot.slack.documents import UNSURE, attached_to
from bot.slack.files import Attached, files_of
from bot.slack.markup import Markup, channel, join, person, plain, sentence
from bot.slack.messages import CARD, Message, Renderer
from bot.slack.shortening import cut_markup
from bot.slack.text import text_of

_LONGEST_TEXT = 4_000
# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
_BUTTONS = tuple[Button, ...]
msgspec.json.Decoder(_BUTTONS)


@dataclass(frozen=True)
class Rendered:
    """A message as it is to be shown; `draft` is None when its subject is gone.

    `wants` is the row's counter that this rendering answers; of `missing` Slack needs pictures
    first, and one that `can_be_plainer` is shown more plainly where Slack refuses it. `card` is
    what it is to have a link to, which is not known yet. An `attached` file stands below
    its text.
    """

    draft: Draft | None
    wants: int
    digest: str = ""
    missing: tuple[Chart, ...] = ()
    can_be_plainer: bool = False
    card: MessageRef | None = None
    attached: Attached | None = None

    @property
    def text(self) -> str:
        """The text shown by clients that do not render blocks."""
        return self.draft.text if self.draft is not None else ""


def render(session: Session, renderers: Mapping[str, Renderer], message_id: str) -> Rendered:
    """The current content of the message; raises what its renderer raises."""
    row = session.get_one(Message, message_id)
    attached = attached_to(session, row)
    if attached is not None:
        return _with_file(row, attached)
    if row.purpose != CARD:
        spot = _card_of(session, row)
        return replace(_rendered(row, _note(session, row, spot)), card=_unlinked(row, spot))
    card = renderers[row.subject_kind].card(session, row.subject_id, row.channel)
    if card is None:
        return Rendered(None, row.wants)
    plainness = Plainness(row.plainness)
    showing = Showing(plainness, files_of(session, row.id) if card.charts else {})
    draft = _draft(row, card, chart_blocks(card.charts, showing))
    if plainness != Plainness.ALL:
        draft = replace(draft, blocks=with_plain_tables(draft.blocks))
    can_be_plainer = plainness != Plainness.WORDS and bool(
        card.charts or has_new_blocks(draft.blocks)
    )
    shown = _rendered(row, draft)
    return replace(shown, missing=missing(card.charts, showing), can_be_plainer=can_be_plainer)


def broken(session: Session, message_id: str, reference: str) -> Rendered:
    """The content shown instead of a card that could not be rendered."""
    row = session.get_one(Message, message_id)
    title = f"Something went wrong on our side. Reference {reference}."
    return _rendered(row, _draft(row, Card(title=title, tone=Tone.WARNING)))


def _draft(row: Message, card: Card, charts: Sequence[Block] = ()) -> Draft:
    shown = replace(card, lines=(*_elsewhere(row), *card.lines))
    text = cut_markup(Markup("\n".join((*_elsewhere(row), text_of(card)))), _LONGEST_TEXT)
    return Draft(text, card_blocks(shown, key=row.id, charts=charts))


def _note(session: Session, row: Message, card: MessageRef | None) -> Draft:
    said = tuple(map(Markup, row.content or ()))
    if row.is_direct and row.detour:
        lines = _mentioned(session, row, said)
    else:
        lines = (*_elsewhere(row), *said, *_link(row, card))
    text = cut_markup(Markup("\n".join(lines)), _LONGEST_TEXT)
    buttons = msgspec.convert(row.buttons or (), _BUTTONS)
    shown = Reply(lines, buttons=buttons)
    return Draft(text, reply_blocks(shown, key=row.id) if buttons else [])


def _with_file(row: Message, file: Attached) -> Rendered:
    """The text above the file; if the file cannot be sent, why and what to do."""
    said = Markup("\n".join(row.content or ()))
    draft = Draft(cut_markup(said if file.refused is None else missed(file), _LONGEST_TEXT))
    return replace(_rendered(row, draft), attached=file)


def missed(file: Attached) -> Markup:
    """The text for a person who requested a file that cannot be sent to them."""
    is_direct = file.asked_in.startswith("D")
    where = () if is_direct else (", which you requested in ", channel(file.asked_in))
    begin = "I may have sent you" if file.refused == UNSURE else "I could not send you"
    said = (plain(f"{begin} {file.name} ({file.title})"), *where, ". ")
    return join(*said, sentence(file.refused or ""))


def _card_of(session: Session, row: Message) -> MessageRef | None:
    """The position of the card that a direct message is about."""
    if not row.is_direct or row.detour or row.parent_id is None:
        return None
    card = session.get(Message, row.parent_id)
    return None if card is None or not (card.place and card.ts) else MessageRef(card.place, card.ts)


def _unlinked(row: Message, card: MessageRef | None) -> MessageRef | None:
    return card if row.card_link is None else None


def _link(row: Message, card: MessageRef | None) -> tuple[Markup, ...]:
    if card is None or not row.card_link:
        return ()
    return (Markup(f"<{row.card_link}|Its card> is in <#{card.channel}>."),)


def _mentioned(session: Session, row: Message, said: Sequence[Markup]) -> tuple[Markup, ...]:
    """A note that could not be sent directly; the reason is shown once per outage."""
    who, last = person(row.channel), _last_to(session, row)
    if last is not None and last.detour:
        return (join(who, " ", said[0]), *said[1:])
    return (join(who, " ", Markup(row.trouble or "")), *said)


def _last_to(session: Session, row: Message) -> Message | None:
    """The previous note to the same person, sent directly or posted instead."""
    told = select(Message).where(
        col(Message.channel) == row.channel,
        col(Message.id) < row.id,
        col(Message.ts).is_not(None),
    )
    return session.scalars(told.order_by(col(Message.id).desc()).limit(1)).first()


def _elsewhere(row: Message) -> tuple[Markup, ...]:
    """Why the message is shown here instead of in its own channel."""
    return (Markup(row.trouble),) if row.detour and row.trouble else ()


def _rendered(row: Message, draft: Draft) -> Rendered:
    return Rendered(draft, row.wants, digest_of([draft.text, draft.blocks], 16))
