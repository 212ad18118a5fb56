"""Socket Mode keeps two connections, whatever Slack does to them."""

import threading

from bot.slack.card import Reply
from playground.slack.faults import Down
from tests.bot.slack.receiving.dispatchers import (
    Gate,
    RecordingDispatcher,
    begin,
    by_sockets,
    say,
    wait_until,
)
from tests.playground.slack.served import PATIENCE_SECONDS, Served


def shown(slack: Served) -> list[str]:
    return slack.call(lambda: slack.texts("U0ALICE", "C0TEAMA"))


def test_two_connections_make_it_ready(slack: Served) -> None:
    with by_sockets(slack, RecordingDispatcher()) as transport:
        assert len(slack.workspace.sockets.open) == 2
        assert transport.health() is None
    assert slack.workspace.sockets.open == []


def test_commands_sent_during_a_refresh_are_answered(slack: Served) -> None:
    workspace = slack.workspace
    with by_sockets(slack, RecordingDispatcher(reply=lambda incoming: say(incoming.words))):
        old = list(workspace.sockets.open)
        slack.act(workspace.sockets.disconnect("refresh_requested"))
        for number in range(20):
            slack.act(workspace.slash("U0ALICE", "C0TEAMA", f"/train {number}"))
        slack.until(lambda: len(set(workspace.sockets.open) - set(old)) == 2)
    assert shown(slack) == [str(number) for number in range(20)]


def test_dropped_connections_come_back(slack: Served) -> None:
    workspace = slack.workspace
    with by_sockets(slack, RecordingDispatcher()) as transport:
        old = list(workspace.sockets.open)
        slack.call(workspace.sockets.drop_all)
        slack.until(lambda: len(set(workspace.sockets.open) - set(old)) == 2)
        slack.act(workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        assert transport.health() is None
    assert shown(slack) == ["You said 'list'."]


def test_a_disabled_link_is_named(slack: Served) -> None:
    with by_sockets(slack, RecordingDispatcher()) as transport:
        slack.act(slack.workspace.sockets.disconnect("link_disabled"))
        turned_off = "Socket Mode is turned off for this app. Turn it on at api.slack.com/apps."
        wait_until(lambda: transport.health() == turned_off)


def test_an_unreachable_slack_is_named(slack: Served) -> None:
    workspace = slack.workspace
    with by_sockets(slack, RecordingDispatcher()) as transport:
        workspace.faults.down = Down.UNAVAILABLE
        slack.call(workspace.sockets.drop_all)
        expected = "Slack answered server_error to apps.connections.open."
        wait_until(lambda: transport.health() == expected)
        workspace.faults.down = None
        slack.until(lambda: len(workspace.sockets.open) == 2)
        wait_until(lambda: transport.health() is None)


def test_stopping_acknowledges_what_has_arrived(slack: Served) -> None:
    gate = Gate()

    def answer(_incoming: object) -> Reply:
        gate.wait()
        return say("Done.")

    with by_sockets(slack, RecordingDispatcher(reply=answer)) as transport:
        typed = begin(slack, slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        assert gate.entered.wait(PATIENCE_SECONDS)
        stopping = threading.Thread(target=transport.stop)
        stopping.start()
        gate.opened.set()
        typed.result(PATIENCE_SECONDS)
        stopping.join(PATIENCE_SECONDS)
        assert shown(slack) == ["Done."]
        assert slack.workspace.sockets.open == []


def test_too_many_commands_at_once_are_told_so(slack: Served) -> None:
    gate = Gate()

    def answer(_incoming: object) -> Reply:
        gate.wait()
        return say("Done.")

    dispatcher = RecordingDispatcher(reply=answer)
    with by_sockets(slack, dispatcher):
        asked = [
            begin(slack, slack.workspace.slash("U0ALICE", "C0TEAMA", f"/train {number}"))
            for number in range(65)
        ]
        slack.until(lambda: slack.texts("U0ALICE", "C0TEAMA"))
        assert shown(slack) == [
            "Too many requests are in progress. Nothing was done. Try again shortly."
        ]
        gate.opened.set()
        for each in asked:
            each.result(PATIENCE_SECONDS)
    assert len(dispatcher.seen) == 64
