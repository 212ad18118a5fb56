"""Buttons and menus: who may use them, what the bot receives, what it can answer."""

import copy
import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_bolt import Ack, Respond

from playground.slack.errors import PersonError, SlackError
from playground.slack.people import Message
from playground.slack.triggers import ResponseUrls
from tests.playground.slack.bots import Incoming, bolt_app, listening, over_http
from tests.playground.slack.served import Served

TEAM_A = "C0TEAMA"
ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"
NO_ANSWER: tuple[int, str, dict[str, str]] = (200, "", {})

CONFIRM = {
    "title": {"type": "plain_text", "text": "Stop lane?"},
    "text": {"type": "plain_text", "text": "2 GPUs become free."},
    "confirm": {"type": "plain_text", "text": "Stop"},
    "deny": {"type": "plain_text", "text": "Keep"},
}
LOGS = {
    "type": "button",
    "action_id": "logs",
    "text": {"type": "plain_text", "text": "Logs"},
    "value": "run-1",
}
STOP = {
    "type": "button",
    "action_id": "stop",
    "text": {"type": "plain_text", "text": "Stop"},
    "style": "danger",
    "confirm": CONFIRM,
}
MENU = {
    "type": "static_select",
    "action_id": "tier",
    "options": [{"text": {"type": "plain_text", "text": "Premium"}, "value": "premium"}],
}
BLOCKS = [{"type": "actions", "block_id": "buttons", "elements": [LOGS, STOP, MENU]}]


def card(slack: Served) -> Message:
    """A posted card with buttons."""
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="card", blocks=BLOCKS)["ts"]
    message = slack.workspace.message(TEAM_A, ts)
    assert message is not None
    return message


def private_card(slack: Served) -> Message:
    """The same card, for Alice alone."""
    slack.bot.chat_postEphemeral(channel=TEAM_A, user=ALICE, text="card", blocks=BLOCKS)
    return slack.workspace.visible(ALICE, TEAM_A)[-1]


def payload(arrived: list[Incoming]) -> dict[str, Any]:
    """The interaction that arrived last."""
    decoded: dict[str, Any] = json.loads(parse_qs(arrived[-1].body)["payload"][0])
    return decoded


def test_click_payload_has_slacks_fields(slack: Served) -> None:
    message = card(slack)
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        assert slack.act(slack.workspace.click(CAROL, message, "Logs")) is None
    sent = payload(arrived)
    stamp = sent["actions"][0].pop("action_ts")
    assert float(stamp) > float(message.ts)
    assert sent.pop("trigger_id").startswith("1.7.")
    assert sent.pop("response_url").startswith(f"{slack.url}/actions/T0QM/")
    assert sent == {
        "type": "block_actions",
        "team": {"id": "T0QM", "domain": "acme"},
        "user": {"id": CAROL, "username": "carol", "name": "carol", "team_id": "T0QM"},
        "api_app_id": "A0QM",
        "token": slack.workspace.credentials.verification,
        "enterprise": None,
        "is_enterprise_install": False,
        "state": {"values": {}},
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": TEAM_A,
            "is_ephemeral": False,
        },
        "channel": {"id": TEAM_A, "name": "team-a"},
        "message": message.as_json(),
        "actions": [
            {
                "type": "button",
                "block_id": "buttons",
                "action_id": "logs",
                "text": {"type": "plain_text", "text": "Logs"},
                "value": "run-1",
            }
        ],
    }


def test_click_on_an_ephemeral_sends_no_message(slack: Served) -> None:
    message = private_card(slack)
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.click(ALICE, message, "logs"))
    sent = payload(arrived)
    assert "message" not in sent
    assert sent["container"]["is_ephemeral"] is True


def test_menu_sends_the_chosen_option(slack: Served) -> None:
    message = card(slack)
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.click(ALICE, message, "tier", option="Premium"))
    assert payload(arrived)["actions"][0]["selected_option"] == MENU["options"][0]


def test_nobody_clicks_another_persons_ephemeral(slack: Served) -> None:
    message = private_card(slack)
    with pytest.raises(PersonError, match="Carol does not see this message"):
        slack.act(slack.workspace.click(CAROL, message, "logs"))


def test_only_members_of_a_channel_click_there(slack: Served) -> None:
    message = card(slack)
    with pytest.raises(PersonError, match="Bob is not in team-a"):
        slack.act(slack.workspace.click(BOB, message, "logs"))


def test_missing_button_names_those_there(slack: Served) -> None:
    message = card(slack)
    with pytest.raises(PersonError, match="no control Retry here; there is: Logs, Stop, tier"):
        slack.act(slack.workspace.click(ALICE, message, "Retry"))


def test_dialog_must_be_confirmed(slack: Served) -> None:
    message = card(slack)
    with pytest.raises(PersonError, match=r"asks first: Stop lane\?: 2 GPUs become free\."):
        slack.act(slack.workspace.click(ALICE, message, "Stop"))
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        shown = slack.act(slack.workspace.click(ALICE, message, "Stop", confirm=True))
    assert shown == CONFIRM
    assert len(arrived) == 1


def test_stale_copy_clicks_a_button_already_gone(slack: Served) -> None:
    seen = copy.deepcopy(card(slack))
    slack.bot.chat_update(channel=TEAM_A, ts=seen.ts, text="done", blocks=[])
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.click(ALICE, seen, "logs"))
    assert payload(arrived)["actions"][0]["action_id"] == "logs"


def test_doubled_click_arrives_twice_with_one_trigger(slack: Served) -> None:
    message = card(slack)
    slack.workspace.faults.doubled = True
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.click(ALICE, message, "logs"))
    assert [request.body for request in arrived] == [arrived[0].body] * 2


def test_click_without_an_answer_tells_the_person(slack: Served) -> None:
    message = card(slack)
    slack.act(slack.workspace.click(ALICE, message, "logs"))
    last = slack.workspace.transcript.entries[-1]
    assert (last.text, last.viewer) == ("We had some trouble connecting. Try again?", ALICE)


def test_ephemeral_is_replaced_through_its_response_url(slack: Served) -> None:
    app = bolt_app(slack)

    @app.action("logs")
    def logs(ack: Ack, respond: Respond) -> None:
        ack()
        respond("two lines", replace_original=True)

    with over_http(slack, app):
        message = private_card(slack)
        slack.act(slack.workspace.click(ALICE, message, "logs"))
        slack.until(lambda: message.edits == 1)
    assert (message.text, message.viewer, message.blocks) == ("two lines", ALICE, [])


def test_ephemeral_is_deleted_through_its_response_url(slack: Served) -> None:
    app = bolt_app(slack)

    @app.action("logs")
    def logs(ack: Ack, respond: Respond) -> None:
        ack()
        respond(delete_original=True)

    with over_http(slack, app):
        slack.act(slack.workspace.click(ALICE, private_card(slack), "logs"))
        slack.until(lambda: not slack.texts(ALICE, TEAM_A))


def test_response_url_expires_after_thirty_minutes() -> None:
    now = [0.0]
    urls = ResponseUrls(lambda: now[0])
    path = urls.issue(ALICE, TEAM_A)
    urls.use(path)
    now[0] = 1801
    with pytest.raises(SlackError, match="expired_url"):
        urls.use(path)
