"""A Bolt app that hands what comes in to the desk and acknowledges with its reply."""

import logging
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slack_bolt import Ack, App, BoltContext, BoltRequest, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware import Middleware
from slack_sdk import WebClient
from typing_extensions import override

from bot.slack import metrics
from bot.slack.answers import Answers, draft_of
from bot.slack.blocks import encoded
from bot.slack.card import Reply
from bot.slack.incoming import (
    Arrival,
    Desk,
    Incoming,
    button_from,
    command_from,
    mention_from,
)

ARRIVAL = "arrival"
"""The key of a request's context under which a transport puts its Arrival."""

Body = dict[str, Any]
Answer = Callable[[Body, BoltContext], BoltResponse]

_log = logging.getLogger("bot.slack.bolt")
_log.setLevel(logging.ERROR)


class Listeners:
    """What Bolt calls: for all commands, for all buttons, and for all events."""

    def __init__(self, desk: Desk, answers: Answers) -> None:
        self._desk = desk
        self._answers = answers

    def command(self, body: Body, context: BoltContext) -> BoltResponse:
        """The acknowledgement of a slash command, which is its answer."""
        arrival: Arrival = context[ARRIVAL]
        incoming = command_from(body, arrival)
        reply = self._ask(incoming, arrival)
        draft = draft_of(incoming, reply)
        said = {"response_type": "ephemeral", **draft.as_json()} if draft.text else None
        answer = _answered(said) if said else BoltResponse(status=200)
        _observe(incoming)
        return answer

    def button(self, body: Body, context: BoltContext, ack: Ack) -> None:
        """Acknowledges a click; the reply follows."""
        arrival: Arrival = context[ARRIVAL]
        incoming = button_from(body, arrival)
        self._answers.send(incoming, self._ask(incoming, arrival), arrival)
        ack()
        _observe(incoming)

    def event(self, body: Body, context: BoltContext, ack: Ack) -> None:
        """Acknowledges any event; a mention gets a reply."""
        arrival: Arrival = context[ARRIVAL]
        incoming = mention_from(body, arrival)
        if incoming is not None:
            self._answers.send(incoming, self._ask(incoming, arrival), arrival)
            _observe(incoming)
        ack()

    def _ask(self, incoming: Incoming, arrival: Arrival) -> Reply:
        if incoming.doubted:
            metrics.REDELIVERIES.inc()
        reply = self._desk.answer(incoming) or Reply()
        return self._answers.promise(incoming, reply, arrival)


class Commands(Middleware):
    """Answers our commands once Bolt has verified a request; all else goes on to its listeners.

    As one of those, an answer would take Bolt twice as long, which looks for the listener, wraps
    what it is given, and hands it from one to the other.
    """

    def __init__(self, names: Sequence[str], answer: Answer) -> None:
        self._names = frozenset(f"/{name.removeprefix('/')}" for name in names)
        self._answer = answer

    @override
    def process(
        self, *, req: BoltRequest, resp: BoltResponse, next: Callable[[], BoltResponse]
    ) -> BoltResponse | None:
        if req.body.get("command") in self._names:
            return self._answer(req.body, req.context)
        return next()


def bolt_app(listeners: Listeners, commands: Sequence[str], signing_secret: str | None) -> App:
    """Bolt with our listeners; without a signing secret it only takes Socket Mode payloads.

    `commands` are the slash names that Slack may send, with or without their slash.
    """
    app = App(
        name="quartermaster",  # else Bolt looks through the stack for one, for a tenth of a second
        logger=_log,
        client=WebClient(),
        authorize=_authorize,
        signing_secret=signing_secret or "",
        request_verification_enabled=bool(signing_secret),
        process_before_response=True,
        ignoring_self_events_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
        listener_executor=ThreadPoolExecutor(1, thread_name_prefix="bolt"),
    )
    app.use(Commands(commands, listeners.command))
    app.action(re.compile(""))(listeners.button)
    app.event(re.compile(""))(listeners.event)
    return app


def _authorize(team_id: str | None, enterprise_id: str | None) -> AuthorizeResult:
    """Lets every verified request in without asking Slack; the desk judges who may do what."""
    return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id)


def _answered(said: Body) -> BoltResponse:
    """What Bolt makes of the same dictionary, with an encoder that takes a tenth of the time."""
    kind = "application/json;charset=utf-8"
    return BoltResponse(status=200, body=encoded(said).decode(), headers={"content-type": kind})


def _observe(incoming: Incoming) -> None:
    seconds = time.monotonic() - incoming.received
    metrics.ACKNOWLEDGE_SECONDS.labels(incoming.kind).observe(seconds)
