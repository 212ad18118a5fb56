"""Socket Mode at the level of envelopes, with a plain WebSocket client."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from slack_bolt import Ack
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from playground.slack.sockets import Socket
from tests.playground.slack.bots import bolt_app, through_sockets
from tests.playground.slack.served import PATIENCE_SECONDS, Served

TEAM_A = "C0TEAMA"
ALICE = "U0ALICE"


def apps(slack: Served) -> WebClient:
    """The Web API with the app-level token."""
    return WebClient(slack.workspace.credentials.app_token, base_url=slack.api)


def address(slack: Served) -> str:
    """A fresh socket address."""
    return str(apps(slack).apps_connections_open(app_token=apps(slack).token or "")["url"])


def received(socket: ClientConnection) -> dict[str, Any]:
    """The next message on a socket."""
    message: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE_SECONDS))
    return message


@contextlib.contextmanager
def joined(slack: Served) -> Iterator[ClientConnection]:
    """A socket that has been greeted."""
    with connect(address(slack)) as socket:
        assert received(socket)["type"] == "hello"
        yield socket


def acknowledge(socket: ClientConnection, envelope: dict[str, Any], **payload: Any) -> None:
    """Acknowledges an envelope, with a payload if one is given."""
    answer: dict[str, Any] = {"envelope_id": envelope["envelope_id"]}
    socket.send(json.dumps(answer | ({"payload": payload} if payload else {})))


def in_background(slack: Served, act: Callable[[], Any]) -> None:
    """Lets a person act without waiting for the bot."""
    slack.call(lambda: slack.spawn(act()))


def test_hello_tells_how_many_are_connected(slack: Served) -> None:
    with joined(slack), connect(address(slack)) as second:
        assert received(second) == {
            "type": "hello",
            "num_connections": 2,
            "debug_info": {
                "host": "applink-1",
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": "A0QM"},
        }


def test_ticket_opens_one_connection(slack: Served) -> None:
    url = address(slack)
    with connect(url) as first:
        received(first)
        with pytest.raises(Exception, match="HTTP 403"):
            connect(url)


def test_eleventh_socket_is_sent_away(slack: Served) -> None:
    with contextlib.ExitStack() as ten:
        for _ in range(10):
            ten.enter_context(joined(slack))
        extra = ten.enter_context(connect(address(slack)))
        assert received(extra)["reason"] == "too_many_websockets"
        with pytest.raises(ConnectionClosed):
            extra.recv(timeout=PATIENCE_SECONDS)


def test_command_envelope_takes_a_response_payload(slack: Served) -> None:
    with joined(slack) as socket:
        in_background(slack, lambda: slack.workspace.slash(ALICE, TEAM_A, "/train list"))
        envelope = received(socket)
        assert envelope["type"] == "slash_commands"
        assert envelope["accepts_response_payload"] is True
        assert envelope["payload"]["text"] == "list"
        acknowledge(socket, envelope, text="done")
        slack.until(lambda: slack.texts(ALICE, TEAM_A) == ["done"])


def test_each_payload_goes_to_one_socket(slack: Served) -> None:
    slack.workspace.sockets.choose = lambda sockets: sockets[1]
    with joined(slack) as first, joined(slack) as second:
        in_background(slack, lambda: slack.workspace.slash(ALICE, TEAM_A, "/train list"))
        acknowledge(second, received(second))
        with pytest.raises(TimeoutError):
            first.recv(timeout=0.1)


def test_event_is_sent_again_with_attempt_and_reason(slack: Served) -> None:
    slack.workspace.courier.retry_seconds = (0, 0, 0)
    slack.workspace.sockets.ack_seconds = 0.05
    with joined(slack) as socket:
        slack.act(slack.workspace.mention(ALICE, TEAM_A, "hi"))
        envelopes = [received(socket) for _ in range(4)]
    told = [(e["retry_attempt"], e["retry_reason"]) for e in envelopes]
    assert told == [(0, ""), (1, "timeout"), (2, "timeout"), (3, "timeout")]
    assert len({e["payload"]["event_id"] for e in envelopes}) == 1


def test_silent_socket_shows_operation_timeout(slack: Served) -> None:
    slack.workspace.sockets.ack_seconds = 0.05
    with joined(slack):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ['/train failed with the error "operation_timeout"']


def test_a_socket_that_broke_unnoticed_fails_alone(slack: Served) -> None:
    async def send(_text: str) -> None:
        raise ConnectionResetError

    slack.call(lambda: slack.workspace.sockets.open.append(Socket(send, lambda: None)))
    slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ['/train failed with the error "dispatch_failed"']


def test_warning_comes_before_the_end(slack: Served) -> None:
    with joined(slack) as socket:
        slack.act(slack.workspace.sockets.disconnect("warning"))
        assert received(socket) == {
            "type": "disconnect",
            "reason": "warning",
            "debug_info": {"host": "applink-1"},
        }
        socket.ping().wait(PATIENCE_SECONDS)


def test_disabled_link_ends_sockets_and_lets_none_back(slack: Served) -> None:
    with joined(slack) as socket:
        slack.act(slack.workspace.sockets.disconnect("link_disabled"))
        assert received(socket)["reason"] == "link_disabled"
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=PATIENCE_SECONDS)
    with pytest.raises(SlackApiError, match="link_disabled"):
        address(slack)


def test_client_comes_back_after_a_refresh(slack: Served) -> None:
    app = bolt_app(slack)

    @app.command("/train")
    def train(ack: Ack) -> None:
        ack("still here")

    with through_sockets(slack, app, sockets=2):
        # The client leaves an old socket only when something, such as a ping, arrives on it.
        before = set(map(id, slack.workspace.sockets.open))
        slack.act(slack.workspace.sockets.disconnect("refresh_requested"))
        slack.until(
            lambda: len(now := set(map(id, slack.workspace.sockets.open))) == 2 and not now & before
        )
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert "still here" in slack.texts(ALICE, TEAM_A)


def test_sockets_need_the_app_token(slack: Served) -> None:
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        slack.bot.api_call("apps.connections.open")
