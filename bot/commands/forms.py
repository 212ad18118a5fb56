"""Forms for commands that lack something, and the commands that filled forms spell."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.commands.context import Context
from bot.commands.questions import refuse_typed_secrets
from bot.commands.repeating import with_form_button
from bot.database.database import Session
from bot.errors import LimitError, UsageError, UserError
from bot.slack.card import Reply
from bot.slack.forms.form import FieldsError, Form, FormPlace, Option
from bot.slack.grammar.declarations import Command, Verb
from bot.slack.grammar.filling import FormFacts, fields_of, initials_of, reads, spelled
from bot.slack.grammar.registry import IncompleteError, Parsed, Registry
from bot.slack.markup import Markup, plain, sentence
from bot.slack.receiving.incoming import Incoming

FindOptions = Callable[[Context], Iterable[Option]]
"""The team's options for a kind of value."""

Enter = Callable[[Session, Incoming, Verb, str | None], Context]
"""The context of a person who may use a verb; the last is the team that they named."""

_MOST_OPTIONS = 100
_UNSAID = plain("Fill in what is required to see what would happen.")


@dataclass(frozen=True)
class FormState:
    """The form of a verb for a person, with what its fields hold."""

    context: Context
    command: Command
    verb: Verb
    place: FormPlace
    texts: Mapping[str, str]


class FormRequests:
    """Makes forms from what verbs declare, and commands from forms.

    `enter` checks the right of the person each time, because Slack brings back what people can
    change. `options` has what there is to choose, for each kind of value.
    """

    def __init__(
        self, registry: Registry, enter: Enter, options: Mapping[type, FindOptions]
    ) -> None:
        self._registry = registry
        self._enter = enter
        self._options = options

    def asking(
        self, session: Session, incoming: Incoming, error: IncompleteError, now: datetime
    ) -> Reply:
        """The form, with what was typed; what is wrong, where no form can be opened.

        Slack opens a form within three seconds of a command or a click, so a mention is answered
        with a button that does.
        """
        refuse_typed_secrets(error.typed)
        named = next(iter(error.typed.get("team", ())), None)
        context = self._enter(session, incoming, error.verb, named)
        lines = tuple(sentence(line) for line in (error.message, error.hint) if line)
        if incoming.trigger_id is None:
            return with_form_button(Reply(lines, is_question=True), incoming, now)
        try:
            form = self.made(incoming, context, error.command, error.verb, error.typed)
        except LimitError as limit:
            return Reply((*lines, sentence(limit.message)))
        return Reply(lines, form=form, is_question=True)

    def made(
        self,
        incoming: Incoming,
        context: Context,
        command: Command,
        verb: Verb,
        typed: Mapping[str, Sequence[str]],
    ) -> Form:
        """The form of a verb as it is opened, with what was typed; LimitError if that is too long.

        Cut, it would be another command.
        """
        place = FormPlace(command.name, verb.name, incoming.channel, incoming.thread_ts)
        first = {name: "\n".join(words) for name, words in typed.items()}
        applying = _applying(FormState(context, command, verb, place, first))
        texts = initials_of(verb, typed, applying)
        form = self._form(FormState(context, command, verb, place, texts))
        for field in form.fields:
            if not field.is_whole:
                raise LimitError(
                    f"What {field.label} holds is too long for a form.",
                    "Send the whole command, with all that it needs.",
                )
        return form

    def changed(self, session: Session, incoming: Incoming) -> Reply:
        """The form as it is after a change of one of its fields."""
        refuse_typed_secrets({name: text.split() for name, text in incoming.fields.items()})
        return Reply(form=self._form(self._filled(session, incoming)))

    def options(self, session: Session, incoming: Incoming) -> Reply:
        """What there is to choose for a field, and what was typed if it can be a value."""
        _, verb = self._verb(incoming)
        context = self._enter(session, incoming, verb, incoming.fields.get("team") or None)
        parameter = next((p for p in verb.parameters if p.name == incoming.field_name), None)
        find = self._options.get(type(parameter.kind)) if parameter else None
        if parameter is None or find is None:
            return Reply()
        typed = " ".join(incoming.value.split())
        found = [each for each in find(context) if _matches(each, typed)][:_MOST_OPTIONS]
        if typed and typed not in {each.value for each in found} and reads(parameter, typed):
            found = [*found[: _MOST_OPTIONS - 1], Option(typed)]
        return Reply(options=tuple(found))

    def sent(self, session: Session, incoming: Incoming) -> Incoming:
        """A filled form as the command that it spells, typed where the form was opened.

        Raises:
            FieldsError: fields that do not fit.
            UsageError: the form is of no verb that there is.
        """
        state = self._filled(session, incoming)
        words = spelled(state.verb, state.texts)
        return replace(incoming, kind="command", command=state.command.name, words=words)

    def _filled(self, session: Session, incoming: Incoming) -> FormState:
        """The form as a person filled it, without what does not apply to it any more."""
        command, verb = self._verb(incoming)
        texts = incoming.fields
        context = self._enter(session, incoming, verb, texts.get("team") or None)
        place = FormPlace(command.name, verb.name, incoming.channel, incoming.thread_ts)
        state = FormState(context, command, verb, place, texts)
        # It may be sent before the change of another field has taken these away.
        gone = set(verb.form.dependent) - _applying(state)
        return replace(
            state, texts={name: text for name, text in texts.items() if name not in gone}
        )

    def _verb(self, incoming: Incoming) -> tuple[Command, Verb]:
        command = self._registry.commands.get(incoming.command)
        verb = command.verbs.get(incoming.words) if command else None
        if command is None or verb is None:
            raise UsageError("This form is from an older version.", "Send the command again.")
        return command, verb

    def _form(self, state: FormState) -> Form:
        command, verb, context = state.command, state.verb, state.context
        facts = FormFacts(
            initials=state.texts,
            applying=_applying(state),
            is_undecided=context.caller.is_undecided,
            searched=self._options.keys(),
            defaults=_defaults(context),
        )
        return Form(
            title=self._registry.slash.of(f"{command.name} {verb.name}"),
            submit=verb.name.capitalize(),
            place=state.place,
            fields=fields_of(verb, facts),
            lines=(sentence(f"{verb.summary}."),),
            foreseen=self._foreseen(state),
        )

    def _foreseen(self, state: FormState) -> Sequence[Markup]:
        verb = state.verb
        if verb.form.foresee is None:
            return ()
        if state.context.caller.is_undecided:
            return (_UNSAID,)
        try:
            asked = self._registry.parse(state.command.name, spelled(verb, state.texts))
            return verb.foreseen(state.context, asked.values) if isinstance(asked, Parsed) else ()
        except (FieldsError, IncompleteError):
            return (_UNSAID,)
        except UserError as error:
            return tuple(sentence(line) for line in (error.message, error.hint) if line)


def _applying(state: FormState) -> set[str]:
    """The parameters that have fields here, of those that have none everywhere."""
    caller, texts = state.context.caller, state.texts
    found = set(state.verb.form.applying(state.context, texts))
    if caller.is_undecided or texts.get("team"):
        found.add("team")
    team = state.context.settings.teams.get(caller.team or "")
    if texts.get("cluster") or (team is not None and len(team.reach) > 1):
        found.add("cluster")
    return found & {each.name for each in state.verb.parameters}


def _defaults(context: Context) -> dict[str, str]:
    """What holds in this team where a field stays empty."""
    team = context.settings.teams.get(context.caller.team or "")
    if team is None:
        return {}
    return {"team": context.caller.team or "", "cluster": team.reach[0]}


def _matches(option: Option, typed: str) -> bool:
    words = typed.casefold().split()
    return all(word in f"{option.value} {option.text}".casefold() for word in words)
