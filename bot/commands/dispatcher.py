"""Answers every request: parses it, checks rights, and runs it in one transaction."""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import structlog

from bot import deliveries
from bot.clock import Clock
from bot.commands.context import Context
from bot.commands.forms import FindOptions, FormRequests
from bot.commands.prompts import PromptRequests
from bot.commands.questions import (
    Asked,
    Question,
    counted,
    key_of,
    likeness_of,
    refusals_counted,
    refuse_secrets,
)
from bot.commands.repeating import (
    AGAIN,
    REPEATING,
    SHARE,
    carried_by,
    doubted,
    refuse_old,
    shared,
    which_team,
    with_share,
)
from bot.commands.shortcuts import ShortcutRequests
from bot.commands.steps import StepRequests
from bot.commands.threads import FindObject, ThreadCommands
from bot.commands.translating import whether_to_run
from bot.database.database import ACKNOWLEDGE_SECONDS, Database, Session
from bot.errors import (
    LackingError,
    NotAllowedError,
    QuartermasterError,
    UsageError,
    UserError,
)
from bot.people import people
from bot.people.access import ChannelPlace, Right, UnknownPersonError, WhichTeamError
from bot.people.people import CHANNEL
from bot.people.replies import arrival_lines
from bot.services import Services
from bot.slack.card import Reply
from bot.slack.forms.form import FieldsError
from bot.slack.grammar.declarations import ButtonVerb, Verb
from bot.slack.grammar.foreign import ForeignCommandError
from bot.slack.grammar.help import help_reply
from bot.slack.grammar.registry import HelpAsked, IncompleteError, Parsed, Registry
from bot.slack.markup import sentence
from bot.slack.messages import Subject, ThreadMessage, post_once
from bot.slack.receiving.incoming import Incoming, StepRun

log = structlog.get_logger()

# Buttons with these show something to whoever clicks, and change no card.
_READING = {Right.RUN_READ, Right.DATASET_READ}


class CommandDispatcher:
    """Answers people's requests; every failure becomes a sentence."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        registry: Registry,
        services: Services,
        objects: Mapping[str, FindObject],
        options: Mapping[type, FindOptions],
    ) -> None:
        self._prompts = PromptRequests(registry, services.access)
        self._threads = ThreadCommands(registry, services.access, objects)
        self._forms = FormRequests(registry, self._entered, options)
        self._shortcuts = ShortcutRequests(registry, self._forms, self._threads, self._entered)
        self._steps = StepRequests(database, clock, registry, services)
        self._database = database
        self._clock = clock
        self._registry = registry
        self._services = services

    def answer(self, incoming: Incoming) -> Reply | None:
        """The reply for the person alone; None when this delivery was answered before."""
        return self._guarded(incoming, partial(self._answered, incoming))

    def channel_changed(self, channel_id: str) -> None:
        """Queues a look-up of a channel that another company joined or left."""
        workspace_id, now = self._services.settings().workspace, self._clock.now()
        self._database.transaction(
            lambda session: people.look_at_channel(session, workspace_id, channel_id, now),
            deadline=time.monotonic() + ACKNOWLEDGE_SECONDS,
        )

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        """Posts, once, which team the channel belongs to, and what to do if none."""
        settings, now = self._services.settings(), self._clock.now()
        place, team = self._services.access.place(channel_id)
        lines = arrival_lines(channel_id, place, team, self._registry.slash.of)
        note = ThreadMessage(f"joined-{event_id}", lines, in_thread=False)
        subject = Subject(settings.workspace, CHANNEL, channel_id)
        self._database.transaction(
            lambda session: post_once(session, subject, channel_id, note, now),
            deadline=time.monotonic() + ACKNOWLEDGE_SECONDS,
        )

    def step_begun(self, run: StepRun) -> None:
        """Begins a step of a workflow."""
        self._steps.begin(run)

    def _answered(self, incoming: Incoming) -> Reply | None:
        match incoming.kind:
            case "form-change" | "options":
                return self._shown_in_form(incoming)
            case "opened":
                return self._database.read(partial(self._prompts.answer, incoming=incoming))
            case "shortcut":
                with refusals_counted():
                    work = partial(self._shortcuts.answer, incoming=incoming)
                    found = self._database.read(work)
                return found if isinstance(found, Reply) else self._asked_for(found)
            case _:
                return self._asked_for(incoming)

    def _shown_in_form(self, incoming: Incoming) -> Reply:
        """The form after a change, or the options of a field."""
        refuse_secrets(incoming)
        seen = self._forms.options if incoming.kind == "options" else self._forms.changed
        return self._database.read(partial(seen, incoming=incoming))

    def _asked_for(self, incoming: Incoming) -> Reply | None:
        """The answer to a command, however it was given, or to a click."""
        with refusals_counted():
            whole = self._sent(self._in_thread(incoming))
            try:
                question = self._understood(whole)
            except IncompleteError as error:
                return self._form(incoming, whole, error)
            except ForeignCommandError as error:
                return self._translated(whole, error)
        try:
            return self._carried_out(question)
        except WhichTeamError as error:
            return self._team_question(question, error)
        except LackingError as error:
            return self._form(incoming, question.incoming, _incomplete(incoming, question, error))

    def _translated(self, incoming: Incoming, error: ForeignCommandError) -> Reply:
        """Asks whether to run the command that a pasted one means, if the person may run it."""
        verb = self._registry.commands[error.command].verbs[error.found.words[0]]
        self._database.read(partial(self._entered, incoming=incoming, verb=verb, team=None))
        return whether_to_run(incoming, error, datetime.now(UTC))

    def _team_question(self, question: Question, error: WhichTeamError) -> Reply:
        """Asks for the team by buttons; without room for these, says how to name it."""
        asked = question.asked
        if not isinstance(asked, Parsed):
            return refusal(error)
        is_named = asked.spelling != self._registry.slash and (
            asked.command.name != self._registry.umbrella
        )
        now = datetime.now(UTC)
        reply = which_team(question.incoming, asked, error, now, is_named=is_named)
        return reply or refusal(error)

    def _carried_out(self, question: Question) -> Reply | None:
        incoming, asked = question.incoming, question.asked
        with counted(asked):
            if not question.writes:
                read = partial(self._reply, incoming=incoming, asked=asked)
                return self._shareable(question, self._database.read(read))
            work = partial(self._once, question=question)
            return self._database.transaction(
                work, deadline=incoming.received + ACKNOWLEDGE_SECONDS
            )

    def _form(self, incoming: Incoming, whole: Incoming, error: IncompleteError) -> Reply:
        """The form that asks for what `whole` lacks, for who may use the verb here.

        A form that was sent stays open instead.
        """
        if incoming.kind == "form":
            raise error
        ask = partial(self._forms.asking, incoming=whole, error=error, now=datetime.now(UTC))
        return self._database.read(ask)

    def _entered(
        self, session: Session, incoming: Incoming, verb: Verb, team: str | None
    ) -> Context:
        """The context of who may use the verb here; in direct messages they may owe their team."""
        access = self._services.access
        caller = access.caller(session, incoming.person, incoming.channel, team=team)
        with suppress(WhichTeamError):  # the form asks for it
            access.require(caller, Right(verb.right), by_team=bool(verb.team))
        return Context(session, caller, self._clock.now(), self._registry.slash, self._services)

    def _shareable(self, question: Question, reply: Reply) -> Reply:
        asked, incoming = question.asked, question.incoming
        place, _ = self._services.access.place(incoming.channel)
        if not (isinstance(asked, Parsed) and asked.verb.shares) or place is ChannelPlace.DIRECT:
            return reply
        return with_share(reply, incoming, datetime.now(UTC))

    def _understood(self, incoming: Incoming) -> Question:
        action = incoming.command.partition(":")[0]
        if incoming.kind == "button" and action in REPEATING:
            return self._meant(incoming, action)
        asked = self._asked(incoming)
        if not (isinstance(asked, tuple) and asked[0].once and incoming.message_ts):
            return Question(incoming, asked, incoming.delivery)
        refuse_old(float(incoming.message_ts), self._clock.now())
        return Question(incoming, asked, key_of(incoming))

    def _sent(self, incoming: Incoming) -> Incoming:
        """With the command that a filled form spells."""
        if incoming.kind != "form":
            return incoming
        refuse_secrets(incoming)
        return self._database.read(partial(self._forms.sent, incoming=incoming))

    def _in_thread(self, incoming: Incoming) -> Incoming:
        """With the whole command, where a thread says what a shorter one is about."""
        if incoming.kind != "mention" or not incoming.thread_ts:
            return incoming
        refuse_secrets(incoming)
        words = self._database.read(lambda session: self._threads.completed(session, incoming))
        return replace(incoming, words=words)

    def _meant(self, click: Incoming, action: str) -> Question:
        """The command that a button repeats; one that answers a question has its first delivery."""
        carried = carried_by(click, datetime.now(UTC))
        incoming = carried.sent(click)
        asked = self._asked(incoming)
        if action != SHARE:
            return Question(incoming, asked, carried.delivery, meant=action == AGAIN)
        if not (isinstance(asked, Parsed) and asked.verb.shares):
            raise UsageError("This answer cannot be shared.", "Copy what others should know.")
        return Question(incoming, asked, click.delivery, meant=True, shares=True)

    def _asked(self, incoming: Incoming) -> Asked:
        refuse_secrets(incoming)
        match incoming.kind:
            case "command" | "form":
                return self._registry.parse(incoming.command, incoming.words)
            case "mention":
                return self._registry.parse_mention(incoming.words)
            case _:
                return self._registry.button(incoming.command), incoming.value

    def _once(self, session: Session, question: Question) -> Reply | None:
        incoming, asked = question.incoming, question.asked
        real_now = datetime.now(UTC)
        alike = likeness_of(incoming, asked)
        earlier = deliveries.earlier(session, question.key, alike, real_now)
        if earlier.same_at is not None:
            return question.again(earlier.same_at)
        answer = self._allowed(session, incoming, asked)
        if earlier.alike_at and not question.repeats:
            return doubted(incoming, asked, real_now, earlier.alike_at)
        if question.shares:
            self._refuse_shared(session, incoming.channel)
        reply = answer()
        if question.shares:
            name = people.name_of(session, self._services.settings().workspace, incoming.person)
            reply = shared(reply, name)
        like = "" if reply.is_question else alike
        deliveries.remember(session, question.key, like, real_now)
        question.made[real_now] = reply
        return reply

    def _reply(self, session: Session, incoming: Incoming, asked: Asked) -> Reply:
        return self._allowed(session, incoming, asked)()

    def _allowed(self, session: Session, incoming: Incoming, asked: Asked) -> Callable[[], Reply]:
        """The function that answers it; UserError if the person may not ask for it here."""
        named = asked.values.get("team") if isinstance(asked, Parsed) else None
        caller = self._services.access.caller(
            session,
            incoming.person,
            incoming.channel,
            team=named if isinstance(named, str) else None,
        )
        if isinstance(asked, HelpAsked):
            defaults = self._defaults(caller.team)
            return lambda: help_reply(
                self._registry, asked, lambda r: caller.may(Right(r)), defaults
            )
        spelling = asked.spelling if isinstance(asked, Parsed) else self._registry.slash
        said = asked.words if isinstance(asked, Parsed) else ()
        context = Context(session, caller, self._clock.now(), spelling, self._services, said)
        if isinstance(asked, Parsed):
            self._services.access.require(
                caller, Right(asked.verb.right), by_team=bool(asked.verb.team)
            )
            if asked.verb.mutates:
                self._refuse_shared(session, incoming.channel)
            return partial(asked.answer, context)
        button, value = asked
        context = self._clicked(context, button, value)
        if button.right not in _READING:
            self._refuse_shared(session, incoming.channel)
        return partial(button.answer, context, value)

    def _refuse_shared(self, session: Session, channel: str) -> None:
        """NotAllowedError where another company would see the card."""
        settings = self._services.settings()
        is_allowed = channel in settings.slack.shared_channels
        if not is_allowed and people.is_shared_outside(session, settings.workspace, channel):
            raise NotAllowedError(
                "This channel is shared with another company, which would see the card.",
                "Use a channel of your own company. A platform admin can allow this one:"
                " `slack.shared_channels` in quartermaster.yaml.",
            )

    def _clicked(self, context: Context, button: ButtonVerb, value: str) -> Context:
        """The context of an allowed click; the team of the button's object decides."""
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
            log.exception(
                "a request failed unexpectedly", person=incoming.person, reference=reference
            )
            return Reply((sentence(f"Something went wrong on our side. Reference {reference}."),))
        return self._guard_later(incoming, reply)

    def _guard_later(self, incoming: Incoming, reply: Reply | None) -> Reply | None:
        if reply is None or reply.later is None:
            return reply
        later = reply.later
        return replace(reply, later=lambda: self._guarded(incoming, later) or Reply())

    def _introduce(self, incoming: Incoming, error: UnknownPersonError) -> Reply | None:
        def work(session: Session) -> None:
            ours = self._services.settings().workspace
            people.get_to_know(session, ours, incoming.person, self._clock.now())

        def answer() -> Reply:
            deadline = incoming.received + ACKNOWLEDGE_SECONDS
            self._database.transaction(work, deadline=deadline)
            return refusal(error)

        return self._guarded(incoming, answer)


def _incomplete(incoming: Incoming, question: Question, error: LackingError) -> IncompleteError:
    """The error that opens the form of a command; FieldsError where its form was sent."""
    if incoming.kind == "form":
        said = f"{error.message} {error.hint}".replace("`", "")
        raise FieldsError({error.parameter: said}) from error
    if not isinstance(question.asked, Parsed):
        raise error
    return question.asked.lacking(error)


def refusal(error: QuartermasterError) -> Reply:
    """The error as a reply: the message, then the hint."""
    lines = (error.message, error.hint) if error.hint else (error.message,)
    errors = error.errors if isinstance(error, FieldsError) else {}
    return Reply(tuple(sentence(line) for line in lines), is_refusal=True, errors=errors)
