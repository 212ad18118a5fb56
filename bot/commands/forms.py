"""Forms for commands that lack something, and the commands that filled forms spell."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from bot.commands.questions import refuse_secrets
from bot.commands.repeating import with_form_button
from bot.errors import UsageError
from bot.slack.card import Reply
from bot.slack.forms.form import Form, FormPlace
from bot.slack.grammar.filling import fields_of, spelled
from bot.slack.grammar.registry import IncompleteError, Registry
from bot.slack.markup import sentence
from bot.slack.receiving.incoming import Incoming


class FormRequests:
    """Makes forms from what verbs declare."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def asking(
        self,
        incoming: Incoming,
        error: IncompleteError,
        defaults: Mapping[str, str],
        now: datetime,
    ) -> Reply:
        """The form, with what was typed; what is wrong, where no form can be opened.

        Slack opens a form within three seconds of a command or a click, so a mention is answered
        with a button that does.
        """
        lines = tuple(sentence(line) for line in (error.message, error.hint) if line)
        if incoming.kind == "form":
            return Reply(lines, is_refusal=True)
        if incoming.trigger_id is None:
            return with_form_button(Reply(lines, is_question=True), incoming, now)
        place = FormPlace(error.command.name, error.verb.name, incoming.channel, incoming.thread_ts)
        form = Form(
            title=self._registry.slash.of(f"{error.command.name} {error.verb.name}"),
            submit=error.verb.name.capitalize(),
            place=place,
            fields=fields_of(error.verb, error.typed, defaults),
            lines=(sentence(f"{error.verb.summary}."),),
        )
        return Reply(lines, form=form, is_question=True)

    def sent(self, incoming: Incoming) -> Incoming:
        """A filled form as the command that it spells, typed where the form was opened.

        Raises:
            FieldsError: fields that do not fit.
            UsageError: the form is of no verb that there is.
        """
        if incoming.kind != "form":
            return incoming
        refuse_secrets(incoming)
        command = self._registry.commands.get(incoming.command)
        verb = command.verbs.get(incoming.words) if command else None
        if command is None or verb is None:
            raise UsageError("This form is from an older version.", "Send the command again.")
        words = spelled(verb, incoming.fields)
        if command.name == self._registry.umbrella:
            return replace(incoming, kind="command", words=words)
        return replace(incoming, kind="command", command=command.name, words=words)
