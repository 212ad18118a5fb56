"""What a message row says now, as Slack takes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from sqlmodel import Session

from bot.charts.values import Chart
from bot.slack.blocks import card_blocks, digest_of, reply_blocks
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.chart_blocks import Plainness, Showing, chart_blocks, missing
from bot.slack.client import Block, Draft
from bot.slack.files import files_of
from bot.slack.markup import Markup
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
    first, and one that `has_charts` can be shown more plainly where Slack refuses it.
    """

    draft: Draft | None
    wants: int
    digest: str = ""
    missing: tuple[Chart, ...] = ()
    has_charts: bool = False


def render(session: Session, renderers: Mapping[str, Renderer], message_id: str) -> Rendered:
    """What the message says now; raises what its renderer raises."""
    row = session.get_one(Message, message_id)
    if row.purpose != CARD:
        return _rendered(row, _note(row))
    card = renderers[row.subject_kind].card(session, row.subject_id, row.channel)
    if card is None:
        return Rendered(None, row.wants)
    if not card.charts:
        return _rendered(row, _draft(row, card))
    showing = Showing(Plainness(row.plainness), files_of(session, row.id))
    shown = _rendered(row, _draft(row, card, chart_blocks(card.charts, showing)))
    can_be_plainer = showing.plainness != Plainness.WORDS
    return replace(shown, missing=missing(card.charts, showing), has_charts=can_be_plainer)


def broken(session: Session, message_id: str, reference: str) -> Rendered:
    """What is shown instead of a card that could not be rendered."""
    row = session.get_one(Message, message_id)
    title = f"Something broke on our side. Reference {reference}."
    return _rendered(row, _draft(row, Card(title=title, tone=Tone.WARNING)))


def _draft(row: Message, card: Card, charts: Sequence[Block] = ()) -> Draft:
    shown = replace(card, lines=(*_elsewhere(row), *card.lines))
    text = cut_markup(Markup("\n".join((*_elsewhere(row), text_of(card)))), _LONGEST_TEXT)
    return Draft(text, card_blocks(shown, key=row.id, charts=charts))


def _note(row: Message) -> Draft:
    lines = (*_elsewhere(row), *map(Markup, row.content or ()))
    text = cut_markup(Markup("\n".join(lines)), _LONGEST_TEXT)
    buttons = msgspec.convert(row.buttons or (), _BUTTONS)
    shown = Reply(lines, buttons=buttons)
    return Draft(text, reply_blocks(shown, key=row.id) if buttons else [])


def _elsewhere(row: Message) -> tuple[Markup, ...]:
    """Why it is shown here, where it does not belong."""
    return (Markup(row.trouble),) if row.detour and row.trouble else ()


def _rendered(row: Message, draft: Draft) -> Rendered:
    return Rendered(draft, row.wants, digest_of([draft.text, draft.blocks], 16))
