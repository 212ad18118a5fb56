"""Slash commands and mentions, through Bolt in Socket Mode and over signed HTTP."""

import hashlib
import hmac
import threading
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_bolt import Ack, App, Respond
from slack_sdk.webhook import WebhookClient

from playground.slack.errors import PersonError
from tests.playground.slack.bots import Incoming, bolt_app, listening, over_http, through_sockets
from tests.playground.slack.served import PATIENCE_SECONDS, Served

TEAM_A = "C0TEAMA"
ALICE, CAROL = "U0ALICE", "U0CAROL"
NO_ANSWER: tuple[int, str, dict[str, str]] = (200, "", {})
Payload = dict[str, Any]


def echo(slack: Served) -> App:
    """An app whose /train repeats its text to the person alone."""
    app = bolt_app(slack)

    @app.command("/train")
    def train(ack: Ack, command: Payload) -> None:
        ack(f"got {command['text']}")

    return app


def test_command_through_socket_is_answered_privately(slack: Served) -> None:
    with through_sockets(slack, echo(slack)):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ["got list"]
    assert slack.texts(CAROL, TEAM_A) == []


def test_command_over_http_is_answered_privately(slack: Served) -> None:
    with over_http(slack, echo(slack)):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ["got list"]


def test_command_payload_has_slacks_fields(slack: Served) -> None:
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    fields = {name: values[0] for name, values in parse_qs(arrived[0].body).items()}
    assert fields.pop("response_url").startswith(f"{slack.url}/actions/T0QM/")
    assert fields.pop("trigger_id").startswith("1.7.")
    assert fields == {
        "token": slack.workspace.credentials.verification,
        "team_id": "T0QM",
        "team_domain": "acme",
        "channel_id": TEAM_A,
        "channel_name": "team-a",
        "user_id": ALICE,
        "user_name": "alice",
        "command": "/train",
        "text": "list",
        "api_app_id": "A0QM",
        "is_enterprise_install": "false",
    }


def test_http_request_carries_a_valid_signature(slack: Served) -> None:
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    headers, body = arrived[0].headers, arrived[0].body
    signed = f"v0:{headers['x-slack-request-timestamp']}:{body}".encode()
    secret = slack.workspace.credentials.signing_secret.encode()
    expected = "v0=" + hmac.new(secret, signed, hashlib.sha256).hexdigest()
    assert headers["x-slack-signature"] == expected


def text_sent(slack: Served, text: str) -> str:
    """What arrives at the bot for a typed command text."""
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.slash(ALICE, TEAM_A, f"/train {text}"))
    return parse_qs(arrived[0].body)["text"][0]


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("for @alice", "for <@U0ALICE|alice>"),
        ("in #team-a", "in <#C0TEAMA|team-a>"),
        ("by @gpu-admins", "by <!subteam^S0ADMINS|@gpu-admins>"),
        ("by @nobody", "by @nobody"),
        ("a && b <c>", "a &amp;&amp; b &lt;c&gt;"),
        ("see https://acme.io/x?a=1&b=2", "see <https://acme.io/x?a=1&amp;b=2>"),
        ("ghcr.io/acme/lane:3.1", "<http://ghcr.io/acme/lane:3.1|ghcr.io/acme/lane:3.1>"),
        ("python train.py", "python <http://train.py|train.py>"),
        ("mail a@acme.io", "mail <mailto:a@acme.io|a@acme.io>"),
        ("1.5 data/x.bin --lr=0.1", "1.5 data/x.bin --lr=0.1"),
        ("“smart” quotes", "“smart” quotes"),
    ],
)
def test_typed_text_is_escaped_as_slack_does(slack: Served, typed: str, sent: str) -> None:
    assert text_sent(slack, typed) == sent


def test_names_stay_plain_when_escaping_is_off(slack: Served) -> None:
    workspace = slack.workspace
    workspace.app = replace(workspace.app, commands={"/train": False})
    assert text_sent(slack, "@alice train.py & co") == "@alice train.py &amp; co"


def test_command_without_a_bot_shows_dispatch_failed(slack: Served) -> None:
    shown = slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert [message.text for message in shown] == ['/train failed with the error "dispatch_failed"']
    assert slack.texts(CAROL, TEAM_A) == []


@pytest.mark.parametrize("answer", [(500, "", {}), (404, "no", {})])
def test_http_error_shows_dispatch_failed(slack: Served, answer: Any) -> None:
    with listening(slack, lambda _: answer):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ['/train failed with the error "dispatch_failed"']


def test_answer_that_comes_too_late_is_a_timeout(slack: Served) -> None:
    slack.workspace.sockets.ack_seconds = 0.05
    late = threading.Event()

    def slow(_: Incoming) -> tuple[int, str, dict[str, str]]:
        late.wait(PATIENCE_SECONDS)
        return NO_ANSWER

    with listening(slack, slow):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
        late.set()
    assert slack.texts(ALICE, TEAM_A) == ['/train failed with the error "operation_timeout"']


def test_in_channel_answer_is_seen_by_all(slack: Served) -> None:
    app = bolt_app(slack)

    @app.command("/train")
    def train(ack: Ack) -> None:
        ack(text="for all", response_type="in_channel")

    with over_http(slack, app):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(CAROL, TEAM_A) == ["for all"]


def test_answer_with_wrong_blocks_shows_an_error(slack: Served) -> None:
    app = bolt_app(slack)

    @app.command("/train")
    def train(ack: Ack) -> None:
        ack(text="x", blocks=[{"type": "header"}])

    with over_http(slack, app):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ['the command failed with the error "invalid_blocks"']


def test_undeclared_command_never_reaches_the_bot(slack: Served) -> None:
    slack.workspace.app = replace(slack.workspace.app, commands={"/quota": True})
    slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert slack.texts(ALICE, TEAM_A) == ["`/train` is not a valid command."]


def test_nobody_types_where_they_are_not(slack: Served) -> None:
    with pytest.raises(PersonError, match="Alice is not in team-b"):
        slack.act(slack.workspace.slash(ALICE, "C0TEAMB", "/train list"))


def test_doubled_command_arrives_twice_with_one_trigger(slack: Served) -> None:
    slack.workspace.faults.doubled = True
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
    assert len(arrived) == 2
    assert arrived[0].body == arrived[1].body


def test_response_url_takes_five_posts(slack: Served) -> None:
    urls: list[str] = []
    app = bolt_app(slack)

    @app.command("/train")
    def train(ack: Ack, command: Payload, respond: Respond) -> None:
        ack()
        urls.append(command["response_url"])
        respond("first")

    with over_http(slack, app):
        slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))
        slack.until(lambda: slack.texts(ALICE, TEAM_A) == ["first"])
    client = WebhookClient(urls[0])
    statuses = [client.send(text=str(number)).status_code for number in range(2, 7)]
    assert statuses == [200, 200, 200, 200, 404]
    assert slack.texts(ALICE, TEAM_A) == ["first", "2", "3", "4", "5"]


def test_mention_reaches_the_bot_as_app_mention(slack: Served) -> None:
    events: list[Payload] = []
    app = bolt_app(slack)

    @app.event("app_mention")
    def mentioned(event: Payload) -> None:
        events.append(event)
        slack.call(slack.workspace.changed)

    with over_http(slack, app):
        message = slack.act(slack.workspace.mention(ALICE, TEAM_A, "list for @alice"))
        slack.until(lambda: events)
    assert events[0] == {
        "type": "app_mention",
        "user": ALICE,
        "text": "<@U0QM> list for <@U0ALICE>",
        "ts": message.ts,
        "channel": TEAM_A,
        "team": "T0QM",
        "event_ts": message.ts,
    }


def test_mention_in_a_thread_says_which(slack: Served) -> None:
    parent = slack.bot.chat_postMessage(channel=TEAM_A, text="card")["ts"]
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.mention(ALICE, TEAM_A, "why", thread_ts=parent))
        slack.until(lambda: arrived)
    assert arrived[0].json["event"]["thread_ts"] == parent


def test_failed_event_is_retried_with_number_and_reason(slack: Served) -> None:
    slack.workspace.courier.retry_seconds = (0, 0, 0)
    answers = iter([(500, "", {}), (500, "", {}), NO_ANSWER])
    with listening(slack, lambda _: next(answers)) as arrived:
        slack.act(slack.workspace.mention(ALICE, TEAM_A, "hi"))
        slack.until(lambda: len(arrived) == 3)
    retries = [
        (r.headers.get("x-slack-retry-num"), r.headers.get("x-slack-retry-reason")) for r in arrived
    ]
    assert retries == [(None, None), ("1", "http_error"), ("2", "http_error")]
    assert len({request.json["event_id"] for request in arrived}) == 1


def test_doubled_event_arrives_again_as_a_retry(slack: Served) -> None:
    slack.workspace.faults.doubled = True
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.mention(ALICE, TEAM_A, "hi"))
        slack.until(lambda: len(arrived) == 2)
    assert arrived[0].body == arrived[1].body
    assert arrived[1].headers["x-slack-retry-num"] == "1"


def test_direct_message_reaches_the_bot_as_message(slack: Served) -> None:
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.mention(ALICE, ALICE, "list"))
        slack.until(lambda: arrived)
    event = arrived[0].json["event"]
    assert (event["type"], event["channel_type"], event["text"]) == ("message", "im", "list")
