"""Only Slack's own, recent and reasonable requests reach the dispatcher over HTTP."""

import hashlib
import hmac
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from bot.serving.http import Pages, Server, application
from bot.slack.card import Reply
from bot.slack.receiving.http import SlackHttp
from bot.slack.receiving.listeners import bolt_app
from bot.slack.receiving.reception import RequestReceiver
from tests.bot.slack.receiving.dispatchers import (
    COMMANDS,
    Gate,
    RecordingDispatcher,
    answers_of,
    by_http,
    say,
)
from tests.playground.slack.served import PATIENCE_SECONDS, Served

COMMAND = (
    "command=%2Ftrain&text=list&team_id=T0QM&user_id=U0ALICE&channel_id=C0TEAMA&trigger_id=1.2.3"
)


def signed(slack: Served, body: str, age_seconds: int = 0) -> dict[str, str]:
    stamp = str(int(time.time()) - age_seconds)
    secret = slack.workspace.credentials.signing_secret.encode()
    digest = hmac.new(secret, f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": f"v0={digest}",
    }


@pytest.fixture
def dispatcher() -> RecordingDispatcher:
    return RecordingDispatcher()


@pytest.fixture
def address(slack: Served, dispatcher: RecordingDispatcher, free_port: int) -> Iterator[str]:
    with by_http(slack, dispatcher, free_port):
        yield f"http://127.0.0.1:{free_port}/slack/events"


def post(address: str, body: str, headers: dict[str, str]) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        return client.post(address, content=body, headers=headers)


def test_signed_requests_are_answered(slack: Served, address: str) -> None:
    answer = post(address, COMMAND, signed(slack, COMMAND))
    assert answer.status_code == 200
    assert answer.json()["response_type"] == "ephemeral"
    assert answer.json()["text"] == "You said 'list'."
    assert answer.headers["content-length"] == str(len(answer.content))


def test_forged_requests_are_refused(
    slack: Served, address: str, dispatcher: RecordingDispatcher
) -> None:
    headers = signed(slack, COMMAND)
    forged = post(address, COMMAND.replace("ALICE", "CAROL"), headers)
    unsigned = post(address, COMMAND, {"content-type": headers["content-type"]})
    assert (forged.status_code, unsigned.status_code) == (401, 401)
    assert dispatcher.seen == []


def test_old_requests_are_refused(
    slack: Served, address: str, dispatcher: RecordingDispatcher
) -> None:
    answer = post(address, COMMAND, signed(slack, COMMAND, age_seconds=301))
    assert answer.status_code == 401
    assert dispatcher.seen == []


def test_huge_requests_are_refused(
    slack: Served, address: str, dispatcher: RecordingDispatcher
) -> None:
    body = COMMAND + "x" * 1_000_000
    assert post(address, body, signed(slack, body)).status_code == 413
    assert dispatcher.seen == []


def test_only_posts_are_taken(address: str) -> None:
    with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        assert client.get(address).status_code == 405


def test_the_url_check_is_answered(slack: Served, address: str) -> None:
    body = '{"type": "url_verification", "challenge": "c0ffee", "token": "x"}'
    headers = {**signed(slack, body), "content-type": "application/json"}
    assert post(address, body, headers).json() == {"challenge": "c0ffee"}


def test_repeated_deliveries_are_marked(
    slack: Served, address: str, dispatcher: RecordingDispatcher
) -> None:
    headers = {**signed(slack, COMMAND), "x-slack-retry-num": "1"}
    assert post(address, COMMAND, headers).status_code == 200
    assert dispatcher.seen[0].doubted


def test_more_than_it_can_do_is_refused(slack: Served, free_port: int) -> None:
    gate = Gate()

    def answer(_incoming: object) -> Reply:
        gate.wait()
        return say("Done.")

    answers = answers_of(slack)
    secret = slack.workspace.credentials.signing_secret
    reception = RequestReceiver(
        bolt_app(COMMANDS, secret, {"T0QM"}), RecordingDispatcher(reply=answer), answers
    )
    threads = ThreadPoolExecutor(2)
    asgi = SlackHttp(threads, reception.answer, most=1)
    server = Server(application(Pages(ready={}, slack=asgi)), f"127.0.0.1:{free_port}")
    server.start()
    address = f"http://127.0.0.1:{free_port}/slack/events"
    try:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(post, address, COMMAND, signed(slack, COMMAND))
            assert gate.entered.wait(PATIENCE_SECONDS)
            assert post(address, COMMAND, signed(slack, COMMAND)).status_code == 503
            gate.opened.set()
            assert first.result().status_code == 200
    finally:
        gate.opened.set()
        server.stop()
        asgi.stop()
        answers.stop()


SLOW_SOCKETS = 160


def open_slowly(port: int, headers: dict[str, str]) -> socket.socket:
    """A connection that has sent its headers and none of its body."""
    lines = [f"{name}: {value}" for name, value in (headers | {"content-length": "500"}).items()]
    opened = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
    head = "\r\n".join(["POST /slack/events HTTP/1.1", "host: bot", *lines, "", ""])
    opened.sendall(head.encode())
    return opened


def status_of(connection: socket.socket) -> int:
    """What is answered at last, and that the connection is closed then."""
    with connection, connection.makefile("rb") as answer:
        status = int(answer.readline().split()[1])
        answer.read()
        return status


def test_slow_bodies_lock_nobody_out(slack: Served, address: str, free_port: int) -> None:
    forged = signed(slack, "other") | {"x-slack-signature": f"v0={'0' * 64}"}
    slow = [open_slowly(free_port, forged) for _ in range(SLOW_SOCKETS)]
    answer = post(address, COMMAND, signed(slack, COMMAND))
    assert answer.status_code == 200
    assert {status_of(each) for each in slow} == {408}


def test_a_body_has_two_seconds_to_come(slack: Served, address: str, free_port: int) -> None:
    assert address
    began = time.monotonic()
    dripping = open_slowly(free_port, signed(slack, COMMAND))
    dripping.sendall(b"c")
    assert status_of(dripping) == 408
    assert time.monotonic() - began > 1.9


@pytest.mark.parametrize(
    "wrong",
    [
        {"x-slack-request-timestamp": "1"},
        {"x-slack-request-timestamp": "soon"},
        {"x-slack-request-timestamp": ""},
        {"x-slack-signature": "v0=abc"},
        {"x-slack-signature": ""},
    ],
    ids=["stale", "no-number", "no-stamp", "short", "unsigned"],
)
def test_wrong_headers_are_refused_before_the_body(
    slack: Served, address: str, free_port: int, wrong: dict[str, str]
) -> None:
    assert address
    # Without a deadline of its own: the refusal comes though no body does.
    assert status_of(open_slowly(free_port, signed(slack, COMMAND) | wrong)) == 401


def test_a_huge_length_is_refused_at_once(slack: Served, address: str, free_port: int) -> None:
    assert address
    headers = signed(slack, COMMAND)
    lines = [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(["POST /slack/events HTTP/1.1", "host: bot", *lines, ""])
    opened = socket.create_connection(("127.0.0.1", free_port), timeout=PATIENCE_SECONDS)
    opened.sendall(f"{head}content-length: 1000001\r\n\r\n".encode())
    assert status_of(opened) == 413
