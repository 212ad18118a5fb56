"""A Bolt app that verifies and parses incoming requests."""

import logging
import re
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from slack_bolt import Ack, App, BoltContext, BoltRequest, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware import Middleware
from slack_sdk import WebClient
from typing_extensions import override

from bot.slack.home.tabs import HomeOpened
from bot.slack.receiving.incoming import (
    Arrival,
    StepRun,
    button_from,
    command_from,
    form_change_from,
    form_from,
    home_from,
    is_our_arrival,
    mention_from,
    opened_from,
    options_from,
    shortcut_from,
    step_from,
)

ARRIVAL = "arrival"
"""The key of a request's context under which a transport puts its Arrival."""

Body = dict[str, Any]

log = structlog.get_logger()

_log = logging.getLogger("bot.slack.bolt")
_log.setLevel(logging.ERROR)

_FOREIGN = {"response_type": "ephemeral", "text": "Quartermaster does not serve this workspace."}


class OnlyOurs(Middleware):
    """Refuses requests from workspaces and organisations that are not ours.

    Bolt knows where each kind of request comes from. Those of an app that is installed to a whole
    organisation may name the organisation alone.
    """

    def __init__(self, ours: Collection[str]) -> None:
        self._ours = frozenset(ours)

    @override
    def process(
        self, *, req: BoltRequest, resp: BoltResponse, next: Callable[[], BoltResponse]
    ) -> BoltResponse | None:
        origin = (req.context.team_id, req.context.enterprise_id)
        if not self._ours.isdisjoint(origin):
            return next()
        log.warning("refused a foreign request", workspace=origin[0], organisation=origin[1])
        return BoltResponse(status=200, body=_FOREIGN if "command" in req.body else "")


class Commands(Middleware):
    """Handles our commands after Bolt has verified the request; others go to its listeners.

    As one of those, it would take Bolt twice as long, which looks for the listener, wraps what it
    is given, and hands it from one to the other.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(f"/{name.removeprefix('/')}" for name in names)

    @override
    def process(
        self, *, req: BoltRequest, resp: BoltResponse, next: Callable[[], BoltResponse]
    ) -> BoltResponse | None:
        if req.body.get("command") not in self._names:
            return next()
        arrival: Arrival = req.context[ARRIVAL]
        arrival.incoming = command_from(req.body, arrival)
        return BoltResponse(status=200)


def _button(body: Body, context: BoltContext, ack: Ack) -> None:
    arrival: Arrival = context[ARRIVAL]
    is_on_form = (body.get("view") or {}).get("type") == "modal"
    arrival.incoming = (form_change_from if is_on_form else button_from)(body, arrival)
    ack()


def _form(body: Body, context: BoltContext, ack: Ack) -> None:
    arrival: Arrival = context[ARRIVAL]
    arrival.incoming = form_from(body, arrival)
    ack()


def _shortcut(body: Body, context: BoltContext, ack: Ack) -> None:
    arrival: Arrival = context[ARRIVAL]
    arrival.incoming = shortcut_from(body, arrival)
    ack()


def _options(body: Body, context: BoltContext, ack: Ack) -> None:
    arrival: Arrival = context[ARRIVAL]
    arrival.incoming = options_from(body, arrival)
    ack(options=[])


def _event(body: Body, context: BoltContext, ack: Ack) -> None:
    arrival: Arrival = context[ARRIVAL]
    arrival.incoming = mention_from(body, arrival)
    ack()


def bolt_app(
    commands: Sequence[str],
    signing_secret: str | None,
    ours: Collection[str],
    channel_changed: Callable[[str], None] = lambda _channel: None,
    bot_joined: Callable[[str, str], None] = lambda _channel, _event: None,
    home_opened: Callable[[HomeOpened], None] = lambda _opened: None,
    *,
    step_begun: Callable[[StepRun], None] = lambda _run: None,
) -> App:
    """Bolt that leaves what a request says with its Arrival, which the request's context holds.

    Without a signing secret it only takes Socket Mode payloads. `commands` are the slash names
    that Slack may send, with or without their slash; `ours` the ids of our workspace and its
    organisation, whose requests alone are answered. `channel_changed` hears the ids of channels
    that another company came into or left, `bot_joined` those that the bot was added to, with the
    id of the event; Slack tells them again if that raises. `home_opened` hears who opened their
    Home tab, `step_begun` the steps of workflows.
    """
    app = _bolt(signing_secret)
    app.use(OnlyOurs(ours))
    app.use(Commands(commands))
    app.action(re.compile(""))(_button)
    app.view_submission(re.compile(""))(_form)
    app.shortcut(re.compile(""))(_shortcut)
    app.options(re.compile(""))(_options)
    _hear_of_channels(app, channel_changed, bot_joined)
    _hear_of_homes(app, home_opened)
    _hear_of_steps(app, step_begun)
    app.event(re.compile(""))(_event)
    return app


def _bolt(signing_secret: str | None) -> App:
    return App(
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


def _hear_of_channels(
    app: App, channel_changed: Callable[[str], None], bot_joined: Callable[[str, str], None]
) -> None:
    def _changed(body: Body, ack: Ack) -> None:
        channel_changed(str(body["event"]["channel"]))
        ack()

    def _joined(body: Body, ack: Ack) -> None:
        if is_our_arrival(body):
            bot_joined(str(body["event"]["channel"]), str(body["event_id"]))
        ack()

    app.event(re.compile("channel_(un)?shared"))(_changed)
    app.event("member_joined_channel")(_joined)


def _hear_of_homes(app: App, home_opened: Callable[[HomeOpened], None]) -> None:
    def _opened(body: Body, context: BoltContext, ack: Ack) -> None:
        opened = home_from(body)
        if opened is not None:
            home_opened(opened)
        arrival: Arrival = context[ARRIVAL]
        arrival.incoming = opened_from(body, arrival)
        ack()

    app.event("app_home_opened")(_opened)


def _hear_of_steps(app: App, step_begun: Callable[[StepRun], None]) -> None:
    def _begun(body: Body, ack: Ack) -> None:
        step_begun(step_from(body))
        ack()

    app.event("function_executed")(_begun)


def _authorize(team_id: str | None, enterprise_id: str | None) -> AuthorizeResult:
    """Lets verified requests in without asking Slack; the dispatcher decides who may do what."""
    return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id)
