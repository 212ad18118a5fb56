"""Removals by a button: at once, or as a request above the limits of `leftovers`."""

from collections.abc import Callable
from dataclasses import replace

from bot.commands.context import Context
from bot.leftovers.removals.tables import RemovalKind
from bot.leftovers.removals.wording import receipt
from bot.slack.card import Reply
from bot.slack.markup import plain

NEEDS_APPROVAL = "An approver other than you has to approve it."


def removed(ctx: Context, kind: RemovalKind, value: str, remove: Callable[[], Reply]) -> Reply:
    """The answer of `remove`; above a limit it is not called, and an approval is requested."""
    removals = ctx.services.leftovers.removals
    asked = removals.ask(ctx.session, ctx.caller, kind, value, ctx.now)
    if asked is None:
        return remove()
    row, approval = asked
    deciders = removals.deciders(ctx.session, approval)
    return receipt(row, approval, deciders, ctx.settings.leftovers)


def foretold(ctx: Context, kind: RemovalKind, value: str) -> Callable[[Reply], Reply]:
    """What adds to a question that the removal needs an approval, if it does.

    Raises what requesting it would raise.
    """
    removals = ctx.services.leftovers.removals
    if removals.above(ctx.session, ctx.caller, kind, value, ctx.now) is None:
        return lambda question: question
    return _with_approval


def _with_approval(question: Reply) -> Reply:
    """The question with that line, and with buttons that say so."""
    line, card = plain(NEEDS_APPROVAL), question.card
    if card is None:
        buttons = tuple(replace(each, label="Request it") for each in question.buttons)
        return replace(question, lines=(*question.lines, line), buttons=buttons)
    buttons = tuple(replace(each, label="Request it") for each in card.buttons)
    return replace(question, card=replace(card, lines=(*card.lines, line), buttons=buttons))
