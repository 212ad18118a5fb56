"""What people do in Slack reaches the dispatcher, and its replies reach them alone."""

from dataclasses import replace
from functools import partial

import pytest

from bot.charts.values import Bars, Series
from bot.config import Secrets
from bot.errors import ConfigurationError
from bot.slack.card import Button, Card, Reply, Table
from bot.slack.markup import sentence
from bot.slack.receiving.transports import Transport
from playground.ledger import Fault
from playground.slack import events
from playground.slack.people import Message
from tests.bot.slack.conftest import Open
from tests.bot.slack.receiving.dispatchers import (
    COMMANDS,
    Gate,
    RecordingDispatcher,
    answers_of,
    by_sockets,
    say,
    settings_for,
    wait_until,
)
from tests.playground.slack.served import Served


def shown(slack: Served, user: str = "U0ALICE", channel: str = "C0TEAMA") -> list[str]:
    return slack.call(lambda: slack.texts(user, channel))


def test_a_command_is_answered_in_place(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list --all"))
    [incoming] = dispatcher.seen
    assert incoming.trigger_id is not None
    assert (incoming.kind, incoming.command, incoming.words) == ("command", "train", "list --all")
    assert (incoming.person, incoming.channel) == ("U0ALICE", "C0TEAMA")
    assert incoming.thread_ts is None
    assert incoming.delivery == incoming.trigger_id
    assert not incoming.doubted
    assert shown(slack) == ["You said 'list --all'."]
    assert shown(slack, "U0CAROL") == []


def test_people_count_as_waiting_until_acknowledged(slack: Served, opened: Open) -> None:
    waiting: list[int] = []

    def answer(_incoming: object) -> Reply:
        waiting.append(dispatcher.gate._in_progress)
        return say("Done.")

    dispatcher = RecordingDispatcher(reply=answer)
    with opened(dispatcher):
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        wait_until(lambda: not dispatcher.gate._in_progress)
    assert waiting == [1]


def test_channels_shared_outside_are_heard_of(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        for is_shared in (True, False):
            slack.call(partial(slack.workspace.share, "C0TEAMA", is_shared=is_shared))
        slack.until(lambda: dispatcher.channels == ["C0TEAMA", "C0TEAMA"])
    assert dispatcher.seen == []


def test_only_its_own_arrival_is_heard_of(slack: Served, opened: Open) -> None:
    dispatcher, place = RecordingDispatcher(), slack.workspace.channels["C0TEAMA"]
    slack.call(partial(slack.workspace.remove_bot, "C0TEAMA"))
    with opened(dispatcher):
        slack.call(partial(slack.workspace.invite_bot, "C0TEAMA"))
        slack.call(partial(events.joined, slack.workspace, place, "U0ALICE"))
        slack.act(slack.workspace.mention("U0ALICE", "C0TEAMA", "that was all"))
        slack.until(lambda: len(dispatcher.seen) == 1)
        slack.until(lambda: len(dispatcher.joined) == 1)
    assert dispatcher.joined[0].startswith("C0TEAMA Ev")


SHARED = Reply(lines=(sentence("GPUs of team-a: 4."),), for_all=True)
UNSURE = "This may not have been shared. If it is not in the channel, click Share again."


@pytest.mark.parametrize(
    ("fault", "everyone", "alone"),
    [(None, True, []), (Fault.REFUSE, False, [UNSURE]), (Fault.LOSE_ANSWER, True, [UNSURE])],
)
def test_a_shared_answer_is_posted_once(
    slack: Served, opened: Open, *, fault: Fault | None, everyone: bool, alone: list[str]
) -> None:
    offer = Reply(lines=SHARED.lines, buttons=(Button("share", "Share", "status"),))
    dispatcher = RecordingDispatcher(reply=lambda each: offer if each.kind == "command" else SHARED)
    with opened(dispatcher):
        [receipt] = slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        slack.workspace.ledger.by_name["response_url"] = [fault] if fault else []
        slack.act(slack.workspace.click("U0ALICE", receipt, "Share"))
        slack.until(lambda: len(slack.texts("U0ALICE", "C0TEAMA")) == 1 + everyone + len(alone))
    assert shown(slack, "U0CAROL") == (["GPUs of team-a: 4."] if everyone else [])
    assert [text for text in shown(slack)[1:] if text == UNSURE] == alone


def test_another_company_is_not_greeted(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    slack.call(partial(slack.workspace.remove_bot, "C0TEAMA"))
    slack.call(partial(slack.workspace.share, "C0TEAMA"))
    with opened(dispatcher):
        slack.call(partial(slack.workspace.invite_bot, "C0TEAMA"))
        slack.act(slack.workspace.mention("U0ALICE", "C0TEAMA", "that was all"))
        slack.until(lambda: len(dispatcher.seen) == 1)
        slack.until(lambda: slack.workspace.courier.is_idle)
    assert dispatcher.joined == []


def test_a_reply_may_be_silence(slack: Served, opened: Open) -> None:
    with opened(RecordingDispatcher(reply=lambda _incoming: None)):
        assert slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list")) == []


def test_a_click_is_answered_to_that_person(slack: Served, opened: Open) -> None:
    card = Card(title="Run lane", buttons=(Button("train.stop", "Stop", "lane"),))

    def answer(_incoming: object) -> Reply:
        return Reply(card=card) if len(dispatcher.seen) == 1 else say("Stopping lane.")

    dispatcher = RecordingDispatcher(reply=answer)
    with opened(dispatcher):
        [receipt] = slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        slack.act(slack.workspace.click("U0ALICE", receipt, "Stop"))
        slack.until(lambda: len(slack.texts("U0ALICE", "C0TEAMA")) == 2)
    assert shown(slack)[1] == "Stopping lane."
    assert shown(slack, "U0CAROL") == []
    click = dispatcher.seen[1]
    assert (click.kind, click.command, click.value) == ("button", "train.stop", "lane")
    assert (click.person, click.channel) == ("U0ALICE", "C0TEAMA")
    assert click.message_ts == receipt.ts


def test_a_mention_is_answered_in_its_thread(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    workspace = slack.workspace
    with opened(dispatcher):
        parent = slack.act(workspace.mention("U0ALICE", "C0TEAMA", "train list"))
        [first] = slack.until(lambda: private(slack))
        slack.act(workspace.mention("U0ALICE", "C0TEAMA", "train why lane", parent.ts))
        second = slack.until(lambda: private(slack)[1:])[0]
    assert (first.viewer, first.thread_ts) == ("U0ALICE", None)
    assert (second.viewer, second.thread_ts) == ("U0ALICE", parent.ts)
    assert [each.words for each in dispatcher.seen] == ["train list", "train why lane"]
    assert [each.kind for each in dispatcher.seen] == ["mention", "mention"]
    assert dispatcher.seen[1].thread_ts == parent.ts


def private(slack: Served) -> list[Message]:
    return [m for m in slack.workspace.channels["C0TEAMA"].messages if m.viewer]


def test_direct_messages_need_no_mention(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        slack.act(
            slack.workspace.mention("U0ALICE", slack.workspace.im("U0ALICE").id, "train list")
        )
        slack.until(lambda: dispatcher.seen)
    assert dispatcher.seen[0].words == "train list"


def test_a_direct_message_is_heard_once(slack: Served, opened: Open) -> None:
    slack.workspace.faults.mentions_in_direct_messages = True
    place, dispatcher = (
        slack.workspace.im("U0ALICE").id,
        RecordingDispatcher(reply=lambda _incoming: None),
    )
    with opened(dispatcher):
        slack.act(slack.workspace.mention("U0ALICE", place, "@quartermaster train list"))
        settled(slack, dispatcher)
    assert [each.words for each in dispatcher.seen] == ["train list"]


def test_edits_are_not_heard_again(slack: Served, opened: Open) -> None:
    dispatcher, workspace = RecordingDispatcher(reply=lambda _incoming: None), slack.workspace
    with opened(dispatcher):
        for channel in ("C0TEAMA", workspace.im("U0ALICE").id):
            message = slack.act(workspace.mention("U0ALICE", channel, "train stop lane"))
            slack.act(workspace.rewrite("U0ALICE", message, "train stop boat"))
        settled(slack, dispatcher)
    assert [each.words for each in dispatcher.seen] == ["train stop lane"] * 2


def test_the_bot_does_not_hear_itself(slack: Served, opened: Open) -> None:
    place, dispatcher = (
        slack.workspace.im("U0ALICE").id,
        RecordingDispatcher(reply=lambda _incoming: None),
    )
    with opened(dispatcher):
        ts = slack.bot.chat_postMessage(channel=place, text="train list")["ts"]
        slack.bot.chat_update(channel=place, ts=ts, text="train list again")
        slack.act(slack.workspace.mention("U0ALICE", place, "train why"))
        settled(slack, dispatcher)
    assert [each.words for each in dispatcher.seen] == ["train why"]


def settled(slack: Served, dispatcher: RecordingDispatcher) -> None:
    slack.until(lambda: dispatcher.seen and slack.workspace.courier.is_idle)


def test_other_events_are_taken_and_ignored(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        slack.act(slack.workspace.open_home("U0ALICE", tab="messages"))
        slack.act(slack.workspace.mention("U0ALICE", "C0TEAMA", "train list"))
        slack.until(lambda: dispatcher.seen and not slack.workspace.courier._tasks)
    assert [incoming.words for incoming in dispatcher.seen] == ["train list"]
    assert dispatcher.homes == []


def test_each_delivery_of_an_event_names_itself(slack: Served, opened: Open) -> None:
    slack.workspace.faults.doubled = True
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        slack.act(slack.workspace.mention("U0ALICE", "C0TEAMA", "train list"))
        slack.until(lambda: len(dispatcher.seen) == 2)
    first, second = dispatcher.seen
    assert first.delivery == second.delivery
    assert (first.doubted, second.doubted) == (False, True)


def test_a_command_delivered_twice_names_itself(slack: Served, opened: Open) -> None:
    slack.workspace.faults.doubled = True
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
    assert len({incoming.delivery for incoming in dispatcher.seen}) == 1
    assert len(dispatcher.seen) == 2


def test_what_is_looked_up_follows_later(slack: Served, opened: Open) -> None:
    gate = Gate()

    def look_up() -> Reply:
        gate.wait()
        return say("epoch 3")

    dispatcher = RecordingDispatcher(reply=lambda _: replace(say("Looking."), later=look_up))
    with opened(dispatcher) as transport:
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train logs lane"))
        assert shown(slack) == ["Looking."]
        assert not transport.is_quiet
        gate.opened.set()
        slack.until(lambda: slack.texts("U0ALICE", "C0TEAMA") == ["Looking.", "epoch 3"])


def test_too_many_look_ups_are_told_so(slack: Served) -> None:
    gate = Gate()

    def look_up() -> Reply:
        gate.wait()
        return Reply()

    dispatcher = RecordingDispatcher(reply=lambda _: Reply(later=look_up))
    with by_sockets(slack, dispatcher):
        for _ in range(64):
            slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train logs lane"))
        assert shown(slack) == []
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train logs lane"))
        assert shown(slack) == ["Too many requests are in progress. Try again in a moment."]
        gate.opened.set()


@pytest.mark.parametrize(
    ("unsupported", "kind"), [(set[str](), "data_table"), ({"data_table"}, "table")]
)
def test_a_long_table_comes_as_slack_takes_it(
    slack: Served, opened: Open, unsupported: set[str], kind: str
) -> None:
    table = Table(("run",), tuple((f"run-{number}",) for number in range(11)))
    dispatcher = RecordingDispatcher(reply=lambda _: Reply(card=Card("Runs", table=table)))
    slack.workspace.faults.unsupported_blocks = unsupported
    with opened(dispatcher):
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
        slack.until(lambda: slack.texts("U0ALICE", "C0TEAMA"))
    [message] = slack.workspace.visible("U0ALICE", "C0TEAMA")
    assert [each["type"] for each in message.blocks] == ["header", kind]
    assert shown(slack, "U0CAROL") == []


@pytest.mark.parametrize(
    ("unsupported", "kinds"),
    [
        (set[str](), ["header", "data_visualization"]),
        ({"data_visualization"}, ["section", "header"]),
    ],
)
def test_a_chart_comes_as_slack_takes_it(
    slack: Served, opened: Open, unsupported: set[str], kinds: list[str]
) -> None:
    chart = Bars("GPU-hours", ("team-a",), (Series("held", (4.0,)),), "hours")
    dispatcher = RecordingDispatcher(reply=lambda _: Reply(card=Card("Report", charts=(chart,))))
    slack.workspace.faults.unsupported_blocks = unsupported
    with opened(dispatcher):
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train report"))
        slack.until(lambda: slack.texts("U0ALICE", "C0TEAMA"))
    [message] = slack.workspace.visible("U0ALICE", "C0TEAMA")
    assert [each["type"] for each in message.blocks] == kinds


def test_undeliverable_answers_change_nothing(slack: Served, opened: Open) -> None:
    gate = Gate()

    def look_up() -> Reply:
        gate.wait()
        return say("too late")

    with opened(RecordingDispatcher(reply=lambda _: Reply(later=look_up))):
        slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train logs lane"))
        slack.workspace.response_urls._given.clear()
        gate.opened.set()
    assert shown(slack) == []


def test_transports_name_the_missing_secret(slack: Served) -> None:
    none = Secrets.model_validate({"bot_token": "xoxb-1"})
    for transport, missing in (("socket", "SLACK_APP_TOKEN"), ("http", "SLACK_SIGNING_SECRET")):
        settings = settings_for(slack, transport=transport)
        with pytest.raises(ConfigurationError) as caught:
            Transport(settings, none, answers_of(slack), RecordingDispatcher(), COMMANDS)
        assert missing in caught.value.hint
