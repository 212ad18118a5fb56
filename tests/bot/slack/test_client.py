"""Slack's answers come back typed, and its refusals as sentences that say what to do."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import ClassVar

import pytest
from typing_extensions import override

from bot.errors import ChatError
from bot.slack.client import Conversation, Destination, Draft, Identity, MessageRef, SlackClient
from bot.slack.grammar.manifest import AGENT_SCOPE
from bot.slack.web_api import ResponseUrls
from playground.ledger import Fault
from playground.slack.faults import Down
from tests.bot.slack.receiving.dispatchers import client_of
from tests.playground.slack.served import Served

TEAM_A = Destination("C0TEAMA")
TEAM = Conversation("team-a", is_member=True, is_archived=False)


class Peers(BaseHTTPRequestHandler):
    """Takes what is posted, and notes from which connection, where to, and as which user."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[int]] = []
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_POST(self) -> None:
        """Takes one answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.client_address[1])
        self.asked.append((self.path, self.headers["Proxy-Authorization"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


@pytest.fixture
def client(slack: Served) -> SlackClient:
    return client_of(slack)


def failure(client: SlackClient) -> ChatError:
    """What a post to #team-a fails with."""
    with pytest.raises(ChatError) as caught:
        client.post(TEAM_A, Draft("hello"), mark="m1")
    return caught.value


def test_the_client_knows_who_it_is(slack: Served, client: SlackClient) -> None:
    assert client.auth_test() == Identity("T0QM", "U0QM", "quartermaster")
    assert client.scopes() == slack.workspace.scopes


def test_scopes_say_whether_there_is_an_agent_view(slack: Served, client: SlackClient) -> None:
    assert not client.has_agent_view()
    slack.workspace.scopes.add(AGENT_SCOPE)
    assert not client.has_agent_view()
    client.auth_test()
    assert client.has_agent_view()


def test_an_unknown_view_counts_as_none(slack: Served, client: SlackClient) -> None:
    slack.workspace.scopes.add(AGENT_SCOPE)
    slack.call(lambda: slack.workspace.go_down(Down.REFUSED))
    assert not client.has_agent_view()


def test_channels_say_whether_we_are_in(slack: Served, client: SlackClient) -> None:
    assert client.conversation_info("C0TEAMA") == TEAM
    slack.call(lambda: slack.workspace.remove_bot("C0TEAMA"))
    slack.call(lambda: slack.workspace.archive("C0TEAMA"))
    assert client.conversation_info("C0TEAMA") == replace(TEAM, is_member=False, is_archived=True)


def test_a_post_is_found_by_its_mark(client: SlackClient) -> None:
    since = datetime.now(UTC) - timedelta(minutes=1)
    posted = client.post(TEAM_A, Draft("one"), mark="m1")
    assert client.find_by_metadata(TEAM_A, "m1", since) == posted.ts
    assert client.find_by_metadata(TEAM_A, "m2", since) is None
    assert client.find_by_metadata(TEAM_A, "m1", since + timedelta(minutes=2)) is None


def test_a_reply_is_found_in_its_thread(client: SlackClient) -> None:
    since = datetime.now(UTC) - timedelta(minutes=1)
    parent = client.post(TEAM_A, Draft("one"), mark="m1")
    thread = Destination("C0TEAMA", parent.ts, broadcast=True)
    reply = client.post(thread, Draft("two"), mark="m2")
    assert client.find_by_metadata(thread, "m2", since) == reply.ts


def test_a_mark_is_found_pages_back(slack: Served, client: SlackClient) -> None:
    since = datetime.now(UTC) - timedelta(minutes=1)
    posted = client.post(TEAM_A, Draft("one"), mark="m1")
    for number in range(250):
        slack.act(slack.workspace.mention("U0ALICE", "C0TEAMA", f"chatter {number}"))
    assert client.find_by_metadata(TEAM_A, "m1", since) == posted.ts


def test_updates_replace_text_and_blocks(slack: Served, client: SlackClient) -> None:
    block = {"type": "header", "block_id": "b", "text": {"type": "plain_text", "text": "Run"}}
    spot = client.post(TEAM_A, Draft("one", [block]), mark="m1")
    client.update(spot, Draft("two"))
    [message] = slack.workspace.channels["C0TEAMA"].messages
    assert (message.text, message.blocks) == ("two", [])


def test_a_refused_connection_sent_nothing() -> None:
    nobody = SlackClient("xoxb-secret", "http://127.0.0.1:9/api/", "T0QM")
    error = failure(nobody)
    assert error.code == "unreachable"
    assert error.message == "Slack could not be reached (chat.postMessage, URLError)."


def test_a_lost_answer_leaves_doubt(slack: Served, client: SlackClient) -> None:
    slack.workspace.ledger.by_name["chat.postMessage"] = [Fault.LOSE_ANSWER]
    error = failure(client)
    assert error.code == "no_answer"
    assert error.message.startswith("Slack did not answer (chat.postMessage, ")


def test_an_unavailable_slack_leaves_doubt(slack: Served, client: SlackClient) -> None:
    slack.workspace.faults.down = Down.UNAVAILABLE
    error = failure(client)
    assert error.code == "server_error"
    assert error.message == "Slack answered server_error to chat.postMessage."


def test_a_limited_call_says_how_long(slack: Served, client: SlackClient) -> None:
    slack.workspace.faults.limited = {"chat.postMessage": 17}
    error = failure(client)
    assert (error.code, error.retry_after_seconds) == ("ratelimited", 17.0)


def test_a_closed_channel_names_the_invitation(slack: Served, client: SlackClient) -> None:
    slack.call(lambda: slack.workspace.remove_bot("C0TEAMA"))
    error = failure(client)
    assert error.message == "Slack answered not_in_channel to chat.postMessage."
    assert error.hint == "Type `/invite @Quartermaster` in <#C0TEAMA>."


def test_a_missing_scope_names_the_doctor(slack: Served, client: SlackClient) -> None:
    slack.workspace.scopes -= {"chat:write"}
    error = failure(client)
    assert error.code == "missing_scope"
    assert error.hint.startswith("Run `quartermaster doctor`")


def test_tokens_stay_out_of_errors(slack: Served) -> None:
    stranger = SlackClient("xoxb-very-secret", slack.api, "T0QM")
    error = failure(stranger)
    assert error.code == "invalid_auth"
    assert "secret" not in repr(error) + error.message + error.hint


def test_response_urls_end_after_five_answers(slack: Served, client: SlackClient) -> None:
    path = slack.workspace.response_urls.issue("U0ALICE", "C0TEAMA")
    for number in range(5):
        client.respond(slack.url + path, Draft(f"answer {number}"))
    with pytest.raises(ChatError) as caught:
        client.respond(slack.url + path, Draft("one too many"))
    assert caught.value.message == "Slack answered used_url to response_url."
    assert len(slack.call(lambda: slack.texts("U0ALICE", "C0TEAMA"))) == 5


def answering(response_url: str, client: SlackClient) -> ChatError:
    """What an answer to a response URL fails with."""
    with pytest.raises(ChatError) as caught:
        client.respond(response_url, Draft("hello"))
    return caught.value


def test_a_response_url_that_refuses_got_nothing(client: SlackClient) -> None:
    error = answering("http://127.0.0.1:9/commands/1", client)
    assert error.code == "unreachable"
    assert error.message == "Slack could not be reached (response_url, NewConnectionError)."


def test_a_lost_response_leaves_doubt(slack: Served, client: SlackClient) -> None:
    slack.workspace.ledger.by_name["response_url"] = [Fault.LOSE_ANSWER]
    path = slack.workspace.response_urls.issue("U0ALICE", "C0TEAMA")
    error = answering(slack.url + path, client)
    assert error.code == "no_answer"
    assert error.message.startswith("Slack did not answer (response_url, ")
    assert slack.call(lambda: slack.texts("U0ALICE", "C0TEAMA")) == ["hello"]


class HastyPeers(Peers):
    """Closes connections that are idle for a moment, without a word before."""

    timeout = 0.05
    closed = Event()

    @override
    def finish(self) -> None:
        super().finish()
        self.connection.close()
        self.closed.set()


@contextmanager
def peers(kind: type[Peers] = Peers) -> Iterator[str]:
    """The address of a server that takes all answers."""
    Peers.seen.clear()
    Peers.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_answers_share_a_kept_connection(client: SlackClient) -> None:
    with peers() as address:
        for number in range(3):
            client.respond(f"http://{address}/{number}", Draft("hello"))
    assert len(Peers.seen) == 3
    assert len(set(Peers.seen)) == 1


def test_a_connection_closed_meanwhile_is_replaced(client: SlackClient) -> None:
    with peers(HastyPeers) as address:
        for number in range(3):
            HastyPeers.closed.clear()
            client.respond(f"http://{address}/{number}", Draft("hello"))
            assert HastyPeers.closed.wait(60)
    assert len(set(Peers.seen)) == 3


def test_no_connection_is_kept_for_minutes() -> None:
    now = [0.0]
    urls = ResponseUrls(None, lambda: now[0])
    with peers() as address:
        for seconds in (0.0, 59.0, 61.0, 62.0):
            now[0] = seconds
            assert urls.post(f"http://{address}/1", {}) == (200, "")
    first, second, third, fourth = Peers.seen
    assert (first, third) == (second, fourth)
    assert first != third


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_answers_pass_a_proxy_with_a_user(scheme: str) -> None:
    with peers() as address:
        urls = ResponseUrls(f"{scheme}qm:p%40ss@{address}")
        assert urls.post("http://hooks.example.com/1", {}) == (200, "")
    user = b64encode(b"qm:p@ss").decode()
    assert Peers.asked == [("http://hooks.example.com/1", f"Basic {user}")]


def test_messages_that_are_not_there_are_named(client: SlackClient) -> None:
    with pytest.raises(ChatError) as caught:
        client.update(MessageRef("C0TEAMA", "1.000001"), Draft("two"))
    assert caught.value.code == "message_not_found"
