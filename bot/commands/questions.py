"""A request as it was understood, before anyone is asked whether it is allowed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from bot import deliveries
from bot.errors import QuartermasterError, UsageError, UserError
from bot.masking import holds_a_secret, secret_in
from bot.slack import metrics
from bot.slack.card import Reply
from bot.slack.forms.form import MORE
from bot.slack.grammar.declarations import ButtonVerb
from bot.slack.grammar.registry import HelpAsked, Parsed
from bot.slack.markup import sentence
from bot.slack.receiving.incoming import Incoming

Asked = Parsed | HelpAsked | tuple[ButtonVerb, str]

_RECEIVED = Reply((sentence("This was already received. Nothing was done twice."),))
_DONE = Reply((sentence("This was already done. Nothing was done twice."),))


@dataclass(frozen=True)
class Question:
    """A parsed request; `meant` if the person confirmed that they want it repeated.

    Its effect is recorded under `key`: a request with the same key is not carried out again.
    """

    incoming: Incoming
    asked: Asked
    key: str
    meant: bool = False
    shares: bool = False
    made: dict[datetime, Reply] = field(default_factory=dict, compare=False)
    """The answers of attempts to record its effect, by the moment of each."""

    def again(self, recorded_at: datetime) -> Reply | None:
        """The answer to a request whose effect was recorded at that moment; None shows nothing.

        If an attempt for this request recorded it, and only the database's word for it was lost,
        the answer is the one of that attempt.
        """
        if recorded_at in self.made:
            return self.made[recorded_at]
        if self.asks_once:
            return _DONE
        is_shown = self.incoming.kind == "command" or self.key != self.incoming.delivery
        return _RECEIVED if is_shown else None

    @property
    def asks_once(self) -> bool:
        """Whether it answers a question of the bot, which has one effect."""
        return self.meant or (isinstance(self.asked, tuple) and self.asked[0].once)

    @property
    def repeats(self) -> bool:
        """Whether it may be carried out again immediately."""
        if isinstance(self.asked, Parsed):
            return self.meant or self.asked.verb.repeats
        return isinstance(self.asked, HelpAsked) or self.asked[0].repeats or self.asks_once

    @property
    def writes(self) -> bool:
        """Whether it may have an effect beyond its answer."""
        if isinstance(self.asked, Parsed):
            return self.asked.writes or self.shares
        return not isinstance(self.asked, HelpAsked)


@contextmanager
def counted(asked: Asked) -> Iterator[None]:
    """Counts the request by how it ends."""
    ending = "done"
    try:
        yield
    except UserError:
        ending = "refused"
        raise
    except QuartermasterError:
        ending = "failed"
        raise
    except Exception:
        ending = "broken"
        raise
    finally:
        metrics.COMMANDS.labels(_spoken(asked), ending).inc()


@contextmanager
def refusals_counted() -> Iterator[None]:
    """Counts what is refused before it is understood."""
    try:
        yield
    except UserError:
        metrics.COMMANDS.labels("unknown", "refused").inc()
        raise


def refuse_secrets(incoming: Incoming) -> None:
    """UsageError on a secret, before the request is parsed, stored or shown."""
    said = incoming.value if incoming.kind == "button" else incoming.words
    if holds_a_secret("\n".join((said, *incoming.fields.values()))):
        raise _holds_a_secret()


def refuse_typed_secrets(typed: Mapping[str, Sequence[str]]) -> None:
    """UsageError on words that give a secret, before a form shows them."""
    for name, words in typed.items():
        # `--secret TOKEN=wandb/token` names a Secret of the cluster, and holds none.
        given = _without_named_secrets(words) if name == MORE else words
        if name != "secret" and secret_in(given) is not None:
            raise _holds_a_secret()


def refuse_pasted_secrets(words: Sequence[str]) -> None:
    """UsageError on a secret in a command that another one was translated into."""
    if secret_in(_without_named_secrets(words)) is not None:
        raise _holds_a_secret()


def _without_named_secrets(words: Sequence[str]) -> list[str]:
    return [
        word
        for before, word in pairwise(("", *words))
        if "--secret" not in {before, word} and not word.startswith("--secret=")
    ]


def _holds_a_secret() -> UsageError:
    return UsageError(
        "Something in that looks like a secret. None of it was stored.",
        "Send it without the secret. To give a program a Secret of the team's namespace, use"
        " `--secret NAME=secret/key`; the program reads the variable NAME.",
    )


def _spoken(asked: Asked) -> str:
    if isinstance(asked, Parsed):
        return f"{asked.command.name} {asked.verb.name}"
    return "help" if isinstance(asked, HelpAsked) else asked[0].action


def likeness_of(incoming: Incoming, asked: Asked) -> str:
    """Equal for two requests for the same in a channel, or for clicks on the same button."""
    said = asked.text if isinstance(asked, Parsed) else incoming.value
    return deliveries.likeness(incoming.channel, incoming.command, said)


def key_of(click: Incoming) -> str:
    """The same for every click on a button of one message."""
    said = (click.channel, click.message_ts or "", click.command, click.value)
    return deliveries.likeness("once", *said)
