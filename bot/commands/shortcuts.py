"""Shortcuts: the form that one opens, or the command that it means for the object of a card."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.commands.context import Context
from bot.commands.forms import Enter, FormRequests
from bot.commands.threads import ThreadCommands, ThreadObject
from bot.database.database import Session
from bot.errors import UsageError
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Verb
from bot.slack.grammar.registry import Registry
from bot.slack.grammar.slack_parameters import SharedMessage
from bot.slack.receiving.incoming import Incoming


class ShortcutRequests:
    """Answers shortcuts by their declarations."""

    def __init__(
        self, registry: Registry, forms: FormRequests, threads: ThreadCommands, enter: Enter
    ) -> None:
        self._registry = registry
        self._forms = forms
        self._threads = threads
        self._enter = enter

    def answer(self, session: Session, incoming: Incoming) -> Reply | Incoming:
        """The reply with the form; or the command, for a shortcut that answers at once.

        UsageError on a message that is no card of what the shortcut is about, or has no files.
        """
        shortcut, command, verb = self._registry.shortcut(incoming.command)
        if shortcut.on_files:
            context = self._enter(session, incoming, verb, None)
            files = {shortcut.on_files: (_with_files(incoming).link,)}
            return Reply(form=self._forms.made(incoming, context, command, verb, files))
        if not shortcut.on_card:
            context = self._enter(session, incoming, verb, None)
            return Reply(form=self._forms.made(incoming, context, command, verb, {}))
        # People who may not use the bot here are told no names.
        self._enter(session, incoming, verb, None)
        found = self._object(session, incoming, shortcut.command)
        if shortcut.is_direct:
            words = self._threads.whole(found, verb, incoming.channel)
            return replace(incoming, kind="mention", words=words, command="")
        context = self._enter(session, incoming, verb, found.team)
        typed = _typed(context, verb, found)
        if shortcut.prefill is not None:
            typed = {**shortcut.prefill(context, found.names[0][1]), **_team(context, found)}
        return Reply(form=self._forms.made(incoming, context, command, verb, typed))

    def _object(self, session: Session, incoming: Incoming, command: str) -> ThreadObject:
        at = incoming.thread_ts or incoming.message_ts or ""
        found = self._threads.object_at(session, incoming.channel, at)
        if found is None or found.command != command:
            raise UsageError(
                "This message is not about a run.",
                "Use the shortcut on the card of a run, or on a message in its thread.",
            )
        return found


def _with_files(incoming: Incoming) -> SharedMessage:
    """The message of a shortcut; UsageError unless it has files."""
    if not incoming.has_files or incoming.message_ts is None:
        raise UsageError(
            "This message has no files.",
            "Drop files into the channel, then use the shortcut on that message.",
        )
    ts = incoming.message_ts
    return SharedMessage(incoming.channel, ts, incoming.thread_ts or ts)


def _typed(context: Context, verb: Verb, found: ThreadObject) -> Mapping[str, Sequence[str]]:
    """The object as the verb's first argument."""
    first = next(each for each in verb.parameters if each.shape == "argument")
    return {first.name: (found.names[0][1],), **_team(context, found)}


def _team(context: Context, found: ThreadObject) -> Mapping[str, Sequence[str]]:
    """The object's team, where it is not understood."""
    here = context.services.access.place(context.caller.channel)[1]
    return {"team": (found.team,)} if here != found.team else {}
