"""Files of messages are read with the token, from Slack's hosts alone, and to their last byte."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest
from typing_extensions import override

from bot.errors import ChatError
from bot.slack.client import MessageRef, SlackClient
from bot.slack.shared_files import SharedFile
from playground.ledger import Fault
from playground.slack.people import Message
from tests.bot.slack.receiving.dispatchers import client_of
from tests.playground.slack.served import Served

ALICE, TEAM_A = "U0ALICE", "C0TEAMA"
LINES = b"study,label\n" * 20_000


class Elsewhere(BaseHTTPRequestHandler):
    """Answers as it is told, and notes which tokens it is sent."""

    status: ClassVar[int]
    sent: ClassVar[dict[str, str]]
    content: ClassVar[bytes]
    tokens: ClassVar[list[str | None]]
    url: ClassVar[str]

    def do_GET(self) -> None:
        """Takes one request."""
        self.tokens.append(self.headers["Authorization"])
        self.send_response(self.status)
        for name, value in self.sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


@contextmanager
def elsewhere(
    status: int, headers: dict[str, str], content: bytes = b""
) -> Iterator[type[Elsewhere]]:
    """A server that answers everything so; `url` is where it is."""

    class Handler(Elsewhere):
        pass

    Handler.status, Handler.sent, Handler.content, Handler.tokens = status, headers, content, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield Handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def client(slack: Served) -> SlackClient:
    return client_of(slack)


def dropped(slack: Served, **files: bytes) -> Message:
    """Alice drops files, by their names without suffix, into #team-a."""
    given = [(f"{name}.csv", content) for name, content in files.items()]
    return slack.act(slack.workspace.drop(ALICE, TEAM_A, given, "our labels"))


def described(client: SlackClient, message: Message) -> list[SharedFile]:
    there = client.files_at(MessageRef(TEAM_A, message.ts), message.thread_ts or message.ts)
    return [client.file_info(each.id) for each in there or ()]


def code_of(client: SlackClient, file: SharedFile, first: int = 0, size: int = 0) -> str:
    with pytest.raises(ChatError) as caught:
        client.download(file, first, size or file.size)
    return caught.value.code


def test_a_message_tells_its_files_alone(slack: Served, client: SlackClient) -> None:
    dropped(slack, other=b"1")
    message = dropped(slack, labels=b"a,b\n", sizes=b"c\n")
    found = described(client, message)
    assert [(f.name, f.size, f.mimetype, f.mode, f.uploader, f.team) for f in found] == [
        ("labels.csv", 4, "text/csv", "hosted", ALICE, "T0QM"),
        ("sizes.csv", 2, "text/csv", "hosted", ALICE, "T0QM"),
    ]
    under = slack.act(slack.workspace.drop(ALICE, TEAM_A, [("x", b"1")], "", message.ts))
    assert [each.name for each in described(client, under)] == ["x"]
    assert client.files_at(MessageRef(TEAM_A, "1.000000"), message.ts) is None


@pytest.mark.parametrize("answers", ["ranges", "whole files"])
def test_spans_are_whole_wherever_they_begin(
    slack: Served, client: SlackClient, answers: str
) -> None:
    slack.workspace.faults.ignores_ranges = answers == "whole files"
    (file,) = described(client, dropped(slack, labels=LINES))
    assert client.download(file, 0, len(LINES)) == LINES
    for first, size in ((0, 7), (70_001, 100_000), (len(LINES) - 1, 1)):
        assert client.download(file, first, size) == LINES[first : first + size]


def test_a_page_to_sign_in_is_no_file(slack: Served, client: SlackClient) -> None:
    (file,) = described(client, dropped(slack, labels=b"a,b\n"))
    slack.workspace.scopes.discard("files:read")
    assert code_of(client, file) == "sign_in_page"
    assert code_of(client, replace(file, mimetype="text/html")) == "sign_in_page"
    with pytest.raises(ChatError) as caught:
        client.file_info(file.id)
    assert caught.value.code == "missing_scope"


def test_files_that_are_web_pages_are_read(slack: Served, client: SlackClient) -> None:
    page = b"<html>a report</html>"
    message = slack.act(slack.workspace.drop(ALICE, TEAM_A, [("report.html", page)]))
    (file,) = described(client, message)
    assert client.download(file, 0, len(page)) == page


def test_deleted_files_are_told_apart(slack: Served, client: SlackClient) -> None:
    message = dropped(slack, labels=b"a,b\n")
    (file,) = described(client, message)
    message.files[0].is_deleted = True
    assert code_of(client, file) == "file_not_found"
    with pytest.raises(ChatError) as caught:
        client.file_info(file.id)
    assert caught.value.code == "file_deleted"
    there = client.files_at(MessageRef(TEAM_A, message.ts), message.ts)
    assert [each.mode for each in there or ()] == ["tombstone"]


def test_the_token_stays_with_slacks_hosts(slack: Served, client: SlackClient) -> None:
    file = SharedFile("F1", "labels.csv", 4, "text/csv", "hosted")
    with elsewhere(200, {"Content-Type": "text/csv"}, b"a,b\n") as other:
        assert code_of(client, replace(file, url=f"{other.url}/labels.csv")) == "not_slack"
        at_slack = f"{slack.url}/redirected"
        assert other.tokens == []
        with elsewhere(302, {"Location": f"{other.url}/labels.csv"}) as ours:
            theirs = SlackClient("xoxb-1", f"{ours.url}/api/", "T0QM")
            assert code_of(theirs, replace(file, url=f"{ours.url}/a")) == "not_slack"
        assert (other.tokens, ours.tokens) == ([], ["Bearer xoxb-1"])
        assert code_of(client, replace(file, url=at_slack)) == "file_not_found"
    theirs = SlackClient("xoxb-1", "https://slack.acme.example/api/", "T0QM")
    assert code_of(theirs, replace(file, url="http://slack.acme.example/a")) == "not_slack"
    for url in (
        "https://acme.slack.com/?redir=x",
        "http://files.slack.com/a",
        "file:///etc/passwd",
    ):
        assert code_of(client, replace(file, url=url)) in {"sign_in_page", "not_slack"}


def test_redirects_within_slack_keep_the_token() -> None:
    with elsewhere(302, {"Location": "/again"}) as ours:
        theirs = SlackClient("xoxb-1", f"{ours.url}/api/", "T0QM")
        file = SharedFile("F1", "labels.csv", 4, "text/csv", "hosted", url=f"{ours.url}/a")
        assert code_of(theirs, file) == "sign_in_page"
        assert ours.tokens == ["Bearer xoxb-1"] * 4


@pytest.mark.parametrize(
    ("status", "headers", "content", "code"),
    [
        (200, {"Content-Type": "text/csv"}, b"a,b,c\n", "other_size"),
        (200, {"Content-Type": "text/csv"}, b"a", "other_size"),
        (206, {"Content-Type": "text/csv", "Content-Range": "bytes 2-3/4"}, b"b\n", "other_range"),
        (206, {"Content-Type": "text/csv", "Content-Range": "bytes 1-9/9"}, b"b\n", "other_size"),
        (403, {"Content-Type": "text/plain"}, b"", "sign_in_page"),
        (410, {"Content-Type": "text/plain"}, b"", "file_not_found"),
        (429, {"Content-Type": "text/plain", "Retry-After": "7"}, b"", "ratelimited"),
        (503, {"Content-Type": "text/plain"}, b"", "server_error"),
    ],
)
def test_what_is_not_the_file_is_refused(
    status: int, headers: dict[str, str], content: bytes, code: str
) -> None:
    with elsewhere(status, headers, content) as ours:
        client = SlackClient("xoxb-1", f"{ours.url}/api/", "T0QM")
        file = SharedFile("F1", "labels.csv", 4, "text/csv", "hosted", url=f"{ours.url}/a")
        assert code_of(client, file, 1, 3) == code


def test_lost_downloads_say_so(slack: Served, client: SlackClient) -> None:
    (file,) = described(client, dropped(slack, labels=b"a,b\n"))
    slack.workspace.ledger.by_name["file_download"] = [Fault.LOSE_ANSWER]
    assert code_of(client, file) == "no_answer"
    assert client.download(file, 0, 4) == b"a,b\n"
