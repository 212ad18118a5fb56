"""What goes wrong on purpose: lost answers, killed requests, storms, Slack being down."""

import socket
import time
from http.client import RemoteDisconnected
from urllib.error import URLError

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from playground.ledger import Fault
from playground.slack.faults import Broken, Down
from tests.playground.slack.bots import bolt_app, through_sockets
from tests.playground.slack.served import Served

TEAM_A = "C0TEAMA"
ALICE = "U0ALICE"
LOST = (RemoteDisconnected, ConnectionError, URLError)


def quiet(slack: Served) -> None:
    """Lets the client report a broken connection at once instead of trying again."""
    slack.bot.retry_handlers.clear()


def test_lost_answer_leaves_the_message_posted(slack: Served) -> None:
    quiet(slack)
    slack.workspace.ledger.by_name["chat.postMessage"] = [Fault.LOSE_ANSWER]
    with pytest.raises(LOST):
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    assert slack.texts(ALICE, TEAM_A) == ["x"]


def test_refused_request_has_no_effect(slack: Served) -> None:
    quiet(slack)
    slack.workspace.ledger.by_name["chat.postMessage"] = [Fault.REFUSE]
    with pytest.raises(LOST):
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    assert slack.texts(ALICE, TEAM_A) == []


@pytest.mark.parametrize(("fault", "posted"), [(Fault.KILL_BEFORE, []), (Fault.KILL_AFTER, ["x"])])
def test_numbered_request_kills_the_bot(slack: Served, fault: Fault, posted: list[str]) -> None:
    quiet(slack)
    killed: list[int] = []

    async def kill() -> None:
        killed.append(1)

    slack.workspace.ledger.kill = kill
    slack.workspace.ledger.by_number[1] = fault
    with pytest.raises(LOST):
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    assert (killed, slack.texts(ALICE, TEAM_A)) == ([1], posted)


def test_only_requests_with_an_effect_are_numbered(slack: Served) -> None:
    slack.bot.auth_test()
    slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    slack.bot.users_info(user=ALICE)
    path = slack.workspace.response_urls.issue(ALICE, TEAM_A)
    WebhookClient(slack.url + path).send(text="y")
    told = [(r.service, r.name, r.about, r.number) for r in slack.workspace.ledger.requests]
    assert told == [
        ("slack", "auth.test", "", None),
        ("slack", "chat.postMessage", f"{TEAM_A} x", 1),
        ("slack", "users.info", ALICE, None),
        ("slack", "response_url", '{"text": "y"}', 2),
    ]


def test_lost_response_url_answer_still_shows_the_text(slack: Served) -> None:
    slack.workspace.ledger.by_name["response_url"] = [Fault.LOSE_ANSWER]
    path = slack.workspace.response_urls.issue(ALICE, TEAM_A)
    client = WebhookClient(slack.url + path)
    client.retry_handlers.clear()
    with pytest.raises(LOST):
        client.send(text="y")
    assert slack.texts(ALICE, TEAM_A) == ["y"]


def test_request_cut_in_its_middle_has_no_effect(slack: Served) -> None:
    host, port = slack.url.removeprefix("http://").split(":")
    head = "POST /api/chat.postMessage HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
    with socket.create_connection((host, int(port))) as dying:
        dying.sendall(f"{head}channel={TEAM_A}".encode())
    slack.bot.auth_test()
    assert [request.name for request in slack.workspace.ledger.requests] == ["auth.test"]
    assert slack.workspace.refusals == []


def test_storm_answers_429_until_it_is_over(slack: Served) -> None:
    slack.workspace.faults.limited["chat.update"] = 7
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    with pytest.raises(SlackApiError) as caught:
        slack.bot.chat_update(channel=TEAM_A, ts=ts, text="y")
    assert caught.value.response.headers["retry-after"] == "7"
    slack.workspace.faults.limited.clear()
    slack.bot.chat_update(channel=TEAM_A, ts=ts, text="y")


@pytest.mark.parametrize(("status", "done"), [(500, False), (500, True), (200, True)])
def test_slack_fails_at_call_perhaps_after_effect(
    slack: Served, status: int, *, done: bool
) -> None:
    broken = Broken("fatal_error", status, done=done)
    slack.workspace.faults.broken["chat.postMessage"] = [broken]
    with pytest.raises(SlackApiError) as caught:
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    answer = caught.value.response
    assert (answer.status_code, answer["error"]) == (status, "fatal_error")
    assert len(slack.workspace.channels[TEAM_A].messages) == done
    slack.bot.chat_postMessage(channel=TEAM_A, text="y")


def test_slow_answer_comes_after_the_effect(slack: Served) -> None:
    slack.workspace.faults.slow_seconds["chat.postMessage"] = 0.2
    begun = time.monotonic()
    slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    assert time.monotonic() - begun >= 0.2


def test_slack_down_answers_503(slack: Served) -> None:
    slack.workspace.faults.down = Down.UNAVAILABLE
    with pytest.raises(SlackApiError) as caught:
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    assert caught.value.response.status_code == 503


def test_slack_down_breaks_connections(slack: Served) -> None:
    quiet(slack)
    slack.workspace.faults.down = Down.REFUSED
    with pytest.raises(LOST):
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    slack.workspace.faults.down = None
    slack.bot.chat_postMessage(channel=TEAM_A, text="y")
    assert slack.texts(ALICE, TEAM_A) == ["y"]


def test_going_down_cuts_sockets_that_come_back_later(slack: Served) -> None:
    workspace = slack.workspace
    with through_sockets(slack, bolt_app(slack)):
        slack.call(lambda: workspace.go_down(Down.REFUSED))
        slack.until(lambda: not workspace.sockets.open)
        shown = slack.act(workspace.slash(ALICE, TEAM_A, "/train list"))
        slack.call(workspace.come_up)
    assert shown[0].text == '/train failed with the error "dispatch_failed"'
