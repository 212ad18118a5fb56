"""Each request is answered with what is its own, and one that breaks with an error."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
from slack_bolt import BoltRequest, BoltResponse

from bot.slack.card import Card, Reply, Table
from bot.slack.receiving.answers import Answers, FormChanges
from bot.slack.receiving.incoming import Arrival, Incoming, StepRun
from bot.slack.receiving.listeners import ARRIVAL, bolt_app
from bot.slack.receiving.reception import MakeRequest, RequestReceiver
from bot.slack.sending.budgets import Budgets
from tests.bot.slack.receiving.dispatchers import COMMANDS, answers_of, client_of, say
from tests.playground.slack.served import Served

COMMAND = {
    "command": "/train",
    "team_id": "T0QM",
    "user_id": "U0ALICE",
    "channel_id": "C0TEAMA",
    "trigger_id": "1.2.3",
}
CHECK = {"type": "url_verification", "challenge": "c0ffee"}


RUNS = tuple((f"lane-{number}",) for number in range(11))


class EchoDispatcher:
    """Says what it was asked; `break` makes what cannot be shown, and `list` a sorted table."""

    def answer(self, incoming: Incoming) -> Reply | None:
        if incoming.words == "list":
            return Reply(card=Card("Runs", table=Table(("Run",), RUNS)))
        if incoming.words == "break":
            return Reply(lines=(cast("Any", 7),))
        return say(f"You said {incoming.words}.") if incoming.words else None

    def channel_changed(self, channel_id: str) -> None:
        """Nothing."""

    def step_begun(self, run: StepRun) -> None:
        """Nothing."""

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        """Nothing."""


@pytest.fixture
def reception(slack: Served) -> Iterator[RequestReceiver]:
    """Takes what sockets bring, which need no signature."""
    with receiving(answers_of(slack)) as reception:
        yield reception


@contextmanager
def receiving(answers: Answers) -> Iterator[RequestReceiver]:
    yield RequestReceiver(bolt_app(COMMANDS, None, {"T0QM"}), EchoDispatcher(), answers)
    answers.stop()


def request(payload: dict[str, Any]) -> BoltRequest:
    return BoltRequest(mode="socket_mode", body=payload, context={ARRIVAL: Arrival(0.0)})


def said(words: str) -> BoltRequest:
    return request({**COMMAND, "text": words})


def told(response: BoltResponse) -> tuple[int, str]:
    """The status, and what can be read."""
    body = json.loads(response.body or "{}")
    return response.status, body.get("text") or body.get("challenge", "")


def test_each_is_told_what_is_for_it(reception: RequestReceiver) -> None:
    made = [said("one"), request(CHECK), said("two"), said(""), request(CHECK)]
    responses = [reception.answer(partial(lambda each: each, each)) for each in made]
    assert [told(response) for response in responses] == [
        (200, "You said one."),
        (200, "c0ffee"),
        (200, "You said two."),
        (200, ""),
        (200, "c0ffee"),
    ]


def test_long_tables_follow_the_acknowledgement(slack: Served) -> None:
    answers, asked = answers_of(slack), said("list")
    answers.start()
    with receiving(answers) as reception:
        response = reception.answer(lambda: asked)
        assert (response.status, response.body) == (200, "")
        for follow in asked.context[ARRIVAL].then:
            follow()
    (shown,) = slack.workspace.channels["C0TEAMA"].messages
    assert [block["type"] for block in shown.blocks] == ["header", "data_table"]


def test_a_busy_bot_acknowledges_with_the_table(slack: Served) -> None:
    with receiving(Answers(client_of(slack), Budgets(), most=0)) as reception:
        response = reception.answer(lambda: said("list"))
    (table,) = [block for block in json.loads(response.body)["blocks"] if block["type"] == "table"]
    cells = [cell["text"] for row in table["rows"] for cell in row]
    assert cells == ["Run", *(name for (name,) in RUNS)]


def test_one_that_breaks_is_answered_so(reception: RequestReceiver) -> None:
    def break_off() -> BoltRequest:
        raise ValueError("no body of ours")

    made: list[MakeRequest] = [
        partial(said, "one"),
        break_off,
        partial(said, "break"),
        partial(said, "two"),
    ]
    assert [told(response) for response in map(reception.answer, made)] == [
        (200, "You said one."),
        (500, ""),
        (500, ""),
        (200, "You said two."),
    ]


def test_an_older_change_is_not_shown() -> None:
    changes = FormChanges()
    changes.note("V1", 2.0)
    changes.note("V1", 1.0)
    changes.note("V2", 1.0)
    assert [changes.is_newest("V1", at) for at in (1.0, 2.0)] == [False, True]
    assert changes.is_newest("V2", 1.0)


def test_changes_of_old_forms_are_forgotten() -> None:
    changes = FormChanges()
    changes.note("V0", 2.0)
    for number in range(1, 1_001):
        changes.note(f"V{number}", 2.0)
    assert changes.is_newest("V0", 1.0)
    assert not changes.is_newest("V1", 1.0)
