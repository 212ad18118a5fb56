"""Buttons that carry a command: to do it again, to do it for a team, to show it to everyone."""

from dataclasses import replace
from datetime import datetime
from typing import Literal

import msgspec

from bot import deliveries
from bot.commands.questions import Asked
from bot.database.columns import WholeNumber
from bot.errors import ConflictError, NotAllowedError
from bot.people.access import WhichTeamError
from bot.slack.card import Button, Reply
from bot.slack.grammar.registry import Parsed
from bot.slack.grammar.splitting import escaped
from bot.slack.home.page import FormButton
from bot.slack.markup import code, join, sentence
from bot.slack.receiving.incoming import Incoming

AGAIN, CHOOSE, SHARE, OPEN_FORM = "again", "choose", "share", "open-form"
"""The buttons: once more, as chosen, for everyone in the channel to see, and with a form."""

REPEATING = frozenset({AGAIN, CHOOSE, SHARE, OPEN_FORM})

_LONGEST_VALUE = 1900
_MOST_TEAMS = 5


class CarriedCommand(msgspec.Struct, frozen=True):
    """The command that a button repeats: who sent it, when (Unix time), and its delivery."""

    kind: str
    command: str
    words: str
    delivery: str
    person: str
    at: WholeNumber

    def sent(self, click: Incoming) -> Incoming:
        """The command as if it were sent where the button was clicked."""
        kind: Literal["mention", "command"] = "mention" if self.kind == "mention" else "command"
        return replace(click, kind=kind, command=self.command, words=self.words)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_DECODER = msgspec.json.Decoder(CarriedCommand)


def carried_by(click: Incoming, now: datetime) -> CarriedCommand:
    """The command of a clicked button.

    Raises:
        ConflictError: the button is too old, or not one of ours.
        NotAllowedError: the command is another person's.
    """
    try:
        carried = _DECODER.decode(click.value)
    except msgspec.MsgspecError:
        raise ConflictError(
            "This question is out of date. Nothing was done.", "Send the command again."
        ) from None
    if carried.person != click.person:
        raise NotAllowedError(
            f"This question is for <@{carried.person}>.", "Send the command yourself."
        )
    refuse_old(carried.at, now)
    return carried


def refuse_old(asked_at: float, now: datetime) -> None:
    """ConflictError unless the answer to a question of that Unix time would be remembered."""
    if now.timestamp() - asked_at > deliveries.LIFE.total_seconds():
        raise ConflictError("This question is out of date. Nothing was done.", "Request it again.")


def doubted(incoming: Incoming, asked: Asked, now: datetime, alike_at: datetime) -> Reply:
    """Says that the same was just done; for a command, asks whether to do it again."""
    if isinstance(asked, Parsed):
        return whether_again(incoming, asked, now, alike_at)
    seconds = (now - alike_at).seconds
    line = f"This was done {seconds} s ago and was not repeated. Click in a minute to repeat it."
    return Reply((sentence(line),))


def whether_again(incoming: Incoming, asked: Parsed, now: datetime, alike_at: datetime) -> Reply:
    """Says that the same command was accepted at `alike_at`, and asks whether to do it again."""
    ago = f"{(now - alike_at).seconds} s ago and was accepted: "
    line = join("The same command was sent here ", ago, code(asked.text[:200]),
                "\nDo you want to do it again?")  # fmt: skip
    button = _button(AGAIN, "Yes, do it again", incoming, incoming.words, now)
    if button is None:
        return Reply((line, sentence("If so, send it again in a minute.")))
    return Reply((line,), buttons=(button,))


def which_team(
    incoming: Incoming, asked: Parsed, error: WhichTeamError, now: datetime, *, is_named: bool
) -> Reply | None:
    """Asks for the team by a button for each; None where there is no room for these.

    `is_named` says that the words of the command begin with its name.
    """
    buttons = [
        _button(CHOOSE, team, incoming, _for_team(asked, team, is_named=is_named), now)
        for team in error.teams
    ]
    found = tuple(button for button in buttons if button)
    if not asked.verb.team or len(found) < len(buttons) or len(buttons) > _MOST_TEAMS:
        return None
    return Reply((sentence(error.message),), buttons=found, is_question=True)


def run_button(incoming: Incoming, words: str, now: datetime) -> Button | None:
    """A button that sends these words in place of what was typed; None if they are too long."""
    return _button(CHOOSE, "Run it", incoming, words, now)


def with_share(reply: Reply, incoming: Incoming, now: datetime) -> Reply:
    """The answer with a button that posts it for everyone in the channel; none of a file."""
    later = reply.later
    if later is not None:
        return replace(reply, later=lambda: with_share(later(), incoming, now))
    button = _button(SHARE, "Share", incoming, incoming.words, now)
    if button is None or reply.card is None or reply.card.as_file is not None:
        return reply
    return replace(reply, buttons=(*reply.buttons, button))


def with_form_button(reply: Reply, incoming: Incoming, now: datetime) -> Reply:
    """The answer with a button that opens the form of the command."""
    button = _button(OPEN_FORM, "Open form", incoming, incoming.words, now)
    return replace(reply, buttons=(*reply.buttons, button)) if button else reply


def form_button(form: FormButton, command: str, person: str, now: datetime) -> Button | None:
    """The button on a Home tab that opens a form; None if its words are too long for it."""
    carried = CarriedCommand(
        kind="command",
        command=command,
        words=form.words,
        delivery="home",
        person=person,
        at=int(now.timestamp()),
    )
    value = msgspec.json.encode(carried).decode()
    style: Literal["primary"] | None = "primary" if form.is_primary else None
    fits = len(value) <= _LONGEST_VALUE
    return Button(OPEN_FORM, form.label, value, style) if fits else None


def shared(reply: Reply, name: str) -> Reply:
    """The answer for everyone, without buttons, under the name of who shares it."""
    later = reply.later
    if later is not None:
        return replace(reply, later=lambda: shared(later(), name))
    card = reply.card and replace(reply.card, buttons=())
    lines = (sentence(f"Shared by {name}."), *reply.lines)
    return replace(reply, lines=lines, card=card, buttons=(), for_all=True)


def _button(
    action: str, label: str, incoming: Incoming, words: str, now: datetime
) -> Button | None:
    """A button that carries the command with these words; None if they are too long for it."""
    carried = CarriedCommand(
        kind=incoming.kind,
        command=incoming.command,
        words=words,
        delivery=incoming.delivery,
        person=incoming.person,
        at=int(now.timestamp()),
    )
    value = msgspec.json.encode(carried).decode()
    return Button(action, label, value) if len(value) <= _LONGEST_VALUE else None


def _for_team(asked: Parsed, team: str, *, is_named: bool) -> str:
    """The words of the command with `--team` right behind its verb, before any ` -- `."""
    names = 2 if is_named else 1
    *_, rest = ["", *asked.text.split(None, names)[names:]]
    name = f"{asked.command.name} " if is_named else ""
    return escaped(f"{name}{asked.verb.name} --team {team} {rest}".rstrip())
