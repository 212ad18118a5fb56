"""Tokens are replaced while the bot runs: with each, only the new one is used from then on."""

from bot.errors import ChatError
from playground.loopback import reserved_port
from playground.slack.state import Credentials
from tests.bot.slack.receiving.dispatchers import (
    RecordingDispatcher,
    by_http,
    by_sockets,
    client_of,
    secrets_of,
    wait_until,
)
from tests.playground.slack.served import Served


def rotate(slack: Served) -> None:
    """Has Slack know new tokens alone; its courier signs with the new secret."""
    new = Credentials()
    slack.workspace.credentials = new
    slack.workspace.courier.signing_secret = new.signing_secret


def shown(slack: Served) -> list[str]:
    return slack.call(lambda: slack.texts("U0ALICE", "C0TEAMA"))


def test_calls_use_a_renewed_bot_token(slack: Served) -> None:
    client = client_of(slack)
    client.auth_test()
    rotate(slack)
    try:
        client.auth_test()
        refused = ""
    except ChatError as error:
        refused = error.code
    client.renew(slack.workspace.credentials.bot_token)
    assert (refused, client.auth_test().user_id) == ("invalid_auth", "U0QM")


def test_sockets_reconnect_with_a_renewed_token(slack: Served) -> None:
    workspace = slack.workspace
    with by_sockets(slack, RecordingDispatcher()) as transport:
        old = list(workspace.sockets.open)
        rotate(slack)
        slack.call(workspace.sockets.drop_all)
        expected = "Slack answered invalid_auth to apps.connections.open."
        wait_until(lambda: transport.health() == expected)
        transport.renew(secrets_of(slack))
        slack.until(lambda: len(set(workspace.sockets.open) - set(old)) == 2)
        slack.act(workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        wait_until(lambda: transport.health() is None)
    assert shown(slack) == ["You said 'list'."]


def test_requests_are_verified_with_a_renewed_secret(slack: Served) -> None:
    workspace, dispatcher = slack.workspace, RecordingDispatcher()
    with reserved_port() as port, by_http(slack, dispatcher, port) as transport:
        old = secrets_of(slack)
        rotate(slack)
        slack.act(workspace.slash("U0ALICE", "C0TEAMA", "/train old"))
        transport.renew(secrets_of(slack))
        slack.act(workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        assert [each.words for each in dispatcher.seen] == ["list"]
        transport.renew(old)
        slack.act(workspace.slash("U0ALICE", "C0TEAMA", "/train again"))
        assert [each.words for each in dispatcher.seen] == ["list"]
