"""Where every request is answered: parsed, allowed, done in one transaction, never left open."""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from bot import deliveries, people
from bot.access import Right, UnknownPersonError
from bot.clock import Clock
from bot.database.database import ACKNOWLEDGE_SECONDS, Database, Session
from bot.errors import QuartermasterError, UsageError, UserError
from bot.masking import holds_a_secret
from bot.slack import metrics
from bot.slack.card import Button, Reply
from bot.slack.declarations import ButtonVerb
from bot.slack.help import help_reply
from bot.slack.incoming import Incoming
from bot.slack.markup import code, join, sentence
from bot.slack.registry import HelpAsked, Parsed, Registry
from bot.tried import tried
from handlers.context import Context, Services

log = structlog.get_logger()

AGAIN = "again"
_BUTTON_VALUE = 1900

Asked = Parsed | HelpAsked | tuple[ButtonVerb, str]


@dataclass(frozen=True)
class _Question:
    """What somebody wants; `meant` when they said that it is no repetition by mistake."""

    incoming: Incoming
    asked: Asked
    meant: bool

    @property
    def writes(self) -> bool:
        """Whether anything may come of it but words."""
        if isinstance(self.asked, Parsed):
            return self.asked.verb.mutates
        return not isinstance(self.asked, HelpAsked)


class Desk:
    """Answers what people say; whatever happens, they read a sentence."""

    def __init__(
        self, database: Database, clock: Clock, registry: Registry, services: Services
    ) -> None:
        self._database = database
        self._clock = clock
        self._registry = registry
        self._services = services

    def answer(self, incoming: Incoming) -> Reply | None:
        """The reply for the person alone; None when this delivery was answered before."""
        return next(self.answers((incoming,)))

    def answers(self, incomings: Iterable[Incoming]) -> Iterator[Reply | None]:
        """The reply to each, in order; what those in a row want to write is committed at once."""
        writes: list[_Question] = []
        for incoming in incomings:
            question = tried(partial(self._understood, incoming))
            if question.exception() is None and question.result().writes:
                writes.append(question.result())
                continue
            yield from self._written(writes)
            writes = []
            yield self._guarded(incoming, partial(self._read, question))
        yield from self._written(writes)

    def _written(self, questions: Sequence[_Question]) -> Iterator[Reply | None]:
        outcomes = self._database.together(
            [
                (partial(self._once, question=each), each.incoming.received + ACKNOWLEDGE_SECONDS)
                for each in questions
            ]
        )
        for question, outcome in zip(questions, outcomes, strict=True):
            yield self._guarded(question.incoming, partial(_counted, question.asked, outcome))

    def _read(self, question: "Future[_Question]") -> Reply | None:
        incoming, asked = question.result().incoming, question.result().asked
        work = partial(self._reply, incoming=incoming, asked=asked)
        return _counted(asked, tried(partial(self._database.read, work)))

    def _understood(self, incoming: Incoming, *, meant: bool = False) -> _Question:
        if incoming.kind == "button" and incoming.command == AGAIN:
            return self._understood(_told_again(incoming), meant=True)
        try:
            return _Question(incoming, self._asked(incoming), meant)
        except UserError:
            metrics.COMMANDS.labels("unknown", "refused").inc()
            raise

    def _asked(self, incoming: Incoming) -> Asked:
        _refuse_secrets(incoming)
        match incoming.kind:
            case "command":
                return self._registry.parse(incoming.command, incoming.words)
            case "mention":
                return self._registry.parse_mention(incoming.words)
            case "button":
                return self._registry.button(incoming.command), incoming.value

    def _once(self, session: Session, question: _Question) -> Reply | None:
        incoming, asked, meant = question.incoming, question.asked, question.meant
        real_now = datetime.now(UTC)
        alike = _likeness(incoming, asked)
        earlier = deliveries.earlier(session, incoming.delivery, alike, real_now)
        if earlier.is_same:
            return _RECEIVED if incoming.kind == "command" else None
        is_once = isinstance(asked, Parsed) and not asked.verb.repeats
        if earlier.alike_at and isinstance(asked, Parsed) and is_once and not meant:
            return _ask_whether_meant(incoming, asked, (real_now - earlier.alike_at).seconds)
        reply = self._reply(session, incoming, asked)
        like = "" if reply.is_question else alike
        deliveries.remember(session, incoming.delivery, like, real_now)
        return reply

    def _reply(self, session: Session, incoming: Incoming, asked: Asked) -> Reply:
        named = asked.values.get("team") if isinstance(asked, Parsed) else None
        caller = self._services.access.caller(
            session,
            incoming.person,
            incoming.channel,
            team=named if isinstance(named, str) else None,
        )
        if isinstance(asked, HelpAsked):
            defaults = self._defaults(caller.team)
            return help_reply(self._registry, asked, lambda r: caller.may(Right(r)), defaults)
        spelling = asked.spelling if isinstance(asked, Parsed) else self._registry.slash
        context = Context(session, caller, self._clock.now(), spelling, self._services)
        if isinstance(asked, Parsed):
            self._services.access.require(caller, Right(asked.verb.right))
            return asked.answer(context)
        button, value = asked
        return button.answer(self._clicked(context, button, value), value)

    def _clicked(self, context: Context, button: ButtonVerb, value: str) -> Context:
        """The context of a click by who may: the team of what the button is about decides."""
        caller, access = context.caller, self._services.access
        team = button.team(context, value)
        if team is not None:
            find = access.member if button.anywhere else access.caller
            caller = find(context.session, caller.person, caller.channel, team=team)
        access.require(caller, Right(button.right))
        return replace(context, caller=caller)

    def _defaults(self, team: str | None) -> dict[str, str]:
        settings = self._services.settings()
        if team is None or team not in settings.teams:
            return {}
        found = settings.teams[team]
        return {"team": team, "namespace": found.namespace, "queue": found.queue}

    def _guarded(self, incoming: Incoming, answer: Callable[[], Reply | None]) -> Reply | None:
        try:
            reply = answer()
        except UnknownPersonError as error:
            return self._introduce(incoming, error)
        except UserError as error:
            log.info("refused", person=incoming.person, kind=type(error).__name__)
            return refusal(error)
        except QuartermasterError as error:
            log.warning("failed", person=incoming.person, error=error.message)
            return refusal(error)
        except Exception:
            reference = secrets.token_hex(3)
            log.exception("a request broke", person=incoming.person, reference=reference)
            return Reply((sentence(f"Something broke on our side. Reference {reference}."),))
        return self._guard_later(incoming, reply)

    def _guard_later(self, incoming: Incoming, reply: Reply | None) -> Reply | None:
        if reply is None or reply.later is None:
            return reply
        later = reply.later
        return replace(reply, later=lambda: self._guarded(incoming, later) or Reply())

    def _introduce(self, incoming: Incoming, error: UnknownPersonError) -> Reply | None:
        def work(session: Session) -> None:
            # A stranger's request names their own workspace; people are kept under ours.
            ours = self._services.settings().workspace
            people.get_to_know(session, ours, incoming.person, self._clock.now())

        def answer() -> Reply:
            deadline = incoming.received + ACKNOWLEDGE_SECONDS
            self._database.transaction(work, deadline=deadline)
            return refusal(error)

        return self._guarded(incoming, answer)


def refusal(error: QuartermasterError) -> Reply:
    """The error as a reply: what is, then what to do."""
    lines = (error.message, error.hint) if error.hint else (error.message,)
    return Reply(tuple(sentence(line) for line in lines))


_RECEIVED = Reply((sentence("This was received already. Nothing was done twice."),))


def _counted(asked: Asked, outcome: "Future[Reply | None]") -> Reply | None:
    error = outcome.exception()
    match error:
        case None:
            said = "done"
        case UserError():
            said = "refused"
        case QuartermasterError():
            said = "failed"
        case _:
            said = "broken"
    metrics.COMMANDS.labels(_spoken(asked), said).inc()
    return outcome.result()


def _refuse_secrets(incoming: Incoming) -> None:
    """UsageError before anything of it is read, stored or shown."""
    if incoming.kind != "button" and holds_a_secret(incoming.words):
        raise UsageError(
            "Something in that looks like a secret. Nothing of it was stored.",
            "Say it without. A program is given a secret of the team's namespace by"
            " `--secret NAME=secret/key`, and reads the variable NAME.",
        )


def _spoken(asked: Asked) -> str:
    if isinstance(asked, Parsed):
        return f"{asked.command.name} {asked.verb.name}"
    return "help" if isinstance(asked, HelpAsked) else asked[0].action


def _likeness(incoming: Incoming, asked: Asked) -> str:
    said = asked.text if isinstance(asked, Parsed) else incoming.delivery
    return deliveries.likeness(incoming.person, incoming.channel, incoming.command, said)


def _ask_whether_meant(incoming: Incoming, asked: Parsed, seconds: int) -> Reply:
    line = join("You sent the same command ", f"{seconds} s ago and it was taken: ",
                code(asked.text[:200]), "\nWas this one meant as well?")  # fmt: skip
    value = json.dumps(
        {"kind": incoming.kind, "command": incoming.command, "words": incoming.words}
    )
    if len(value) > _BUTTON_VALUE:
        return Reply((line, sentence("If so, send it again in a minute.")))
    return Reply((line,), buttons=(Button(AGAIN, "Yes, do it again", value),))


def _told_again(incoming: Incoming) -> Incoming:
    told: dict[str, Any] = json.loads(incoming.value)
    return replace(
        incoming,
        kind="mention" if told["kind"] == "mention" else "command",
        command=str(told["command"]),
        words=str(told["words"]),
    )
