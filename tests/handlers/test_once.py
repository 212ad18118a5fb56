"""What somebody asks for twice has one effect: delivered twice, clicked twice, by two at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session, select

from bot.commands.repeating import AGAIN
from bot.datasets.tables import Push
from bot.quotas.tables import Override
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from handlers.declared import COMMANDS
from tests.handlers.command_client import ALICE, MIA, TEAM_A, CommandClient, question
from tests.handlers.furnished import Furnished
from tests.handlers.test_permissions import IN_THE_CHANNEL, TABLE

REQUEST = "/quota request +8 --for 1d --reason deadline"
DONE = "This was already done. Nothing was done twice."
STAMP = f"{datetime.now(UTC).timestamp():.6f}"
MUTATING = {
    f"/{command.name} {verb.name}"
    for command in COMMANDS
    for verb in command.verbs.values()
    if verb.mutates
}
ROWS = [row for row in TABLE if row.startswith("[") or " ".join(row.split()[:2]) in MUTATING]
# These answer with a question, or with what they read: nothing is written at all.
WITHOUT_EFFECT = {
    "/dataset evict chest-xray@v3",
    "/dataset evict theirs@v3",
    "/snapshot delete lane-data",
    "/snapshot restore lane-data --in-place --reason paper",
    "/gpu digest",
    "/anf grow lane-data 2Ti",
    "/anf repair lane-data",
    "/anf pool create new-1 --size 4TiB --level premium",
    "/pvc resize imagenet 2Ti",
    "/pvc copy scratch --as shared --class azurenetappfiles",
    "/pvc delete team-a-data",
    "/team remove vision",
    "[dataset.page]",
    "/train stop grid",
    "/train flow list",
    "/train flow show nightly",
    "/train flow show nightly --argo",
    "[train.logs]",
    "[train.curves]",
    "[train.open]",
    "[qm.refresh]",
    "[pvc.delete-ask]",
    "[anf.pool-ask]",
    "[train.link]",
    "[train.compare-sweep]",
    "[train.curves-of-sweep]",
}
# Each person's own: two people are two effects.
OWN = {
    "/gpu digest --dm",
    "/notices thread",
    "/notices dm",
    "/notices none",
    "[notices.choose]",
    "/train watch theirs",
    # Who was given a grant, and when, is noted each time.
    "[dataset.put_grant]",
}
# Saying them again says the same of the same rows, with a line of audit each time.
SAID_AGAIN = OWN | {
    "/dataset head chest-xray@v3 labels.csv",
    "/dataset cache retina@v1 --yes",
    '/snapshot schedule lane-data "0 2 * * *" --max 14',
    "/gpu digest set --at 09:00",
    '/train flow schedule nightly --cron "0 2 * * *"',
}


def people(row: str) -> tuple[str, str]:
    """Two who may, or one twice where there is but one."""
    may = [IN_THE_CHANNEL[each] for each in TABLE[row].split()[0] if each != "."]
    return may[0], (may + may)[1]


def asked(everything: Furnished, row: str, person: str, delivery: str) -> Incoming:
    client = everything.client
    if not row.startswith("["):
        name, _, words = row.removeprefix("/").partition(" ")
        return client.incoming(person, TEAM_A, command=name, words=words, delivery=delivery)
    action = row.strip("[]")
    how = {"kind": "button", "command": action, "value": everything.values[action]}
    return client.incoming(person, TEAM_A, delivery=delivery, message_ts=STAMP, **how)


def told(everything: Furnished, *incomings: Incoming) -> list[str]:
    replies = map(everything.client.application.dispatcher.answer, incomings)
    return [as_text(reply) if reply else "" for reply in replies]


def has_effect_once(everything: Furnished, row: str, who: str, delivery: str) -> bool:
    """Whether asking again like that leaves all rows as asking once did."""
    everything.put_back()
    before = everything.effects()
    told(everything, asked(everything, row, people(row)[0], "first"))
    once = everything.effects()
    assert (once == before) == (row in WITHOUT_EFFECT), row
    (said,) = told(everything, asked(everything, row, who, delivery))
    assert "Something went wrong" not in said
    twice = everything.effects()
    return twice == once or (row in SAID_AGAIN and _rows(twice) == _rows(once))


def _rows(effects: dict[str, list[dict[str, object]]]) -> dict[str, int]:
    return {table: len(rows) for table, rows in effects.items() if table != "audit"}


@pytest.mark.timeout(300)
def test_what_is_delivered_twice_is_done_once(everything: Furnished) -> None:
    twice = [row for row in ROWS if not has_effect_once(everything, row, people(row)[0], "first")]
    assert twice == []


@pytest.mark.timeout(300)
def test_what_is_asked_twice_is_done_once(everything: Furnished) -> None:
    twice = [row for row in ROWS if not has_effect_once(everything, row, people(row)[0], "second")]
    assert twice == []


@pytest.mark.timeout(300)
def test_what_two_people_ask_is_done_once(everything: Furnished) -> None:
    twice = [row for row in ROWS if not has_effect_once(everything, row, people(row)[1], "second")]
    assert [row for row in twice if row not in OWN] == []


@pytest.mark.timeout(300)
def test_what_two_ask_at_once_is_done_once(everything: Furnished) -> None:
    """As when their requests are committed together."""

    def rows(row: str, *deliveries: str) -> dict[str, int]:
        everything.put_back()
        who = zip(people(row), deliveries, strict=False)
        told(everything, *(asked(everything, row, each, name) for each, name in who))
        return _rows(everything.effects())

    twice = [row for row in ROWS if rows(row, "first", "second") != rows(row, "first")]
    assert [row for row in twice if row not in OWN] == []


def test_questions_after_their_effect_stay_answered(everything: Furnished) -> None:
    """Also when what they began has ended long ago, so that nothing else would refuse them."""
    everything.put_back()
    click = asked(everything, "[dataset.push]", ALICE, "first")
    (said,) = told(everything, click)
    assert "Pushing" in said

    def end(session: Session) -> int:
        pushes = session.scalars(select(Push)).all()
        for push in pushes:
            push.ended_at, push.is_cleared = datetime.now(UTC), True
        return len(pushes)

    count = everything.client.application.database.transaction(end)
    assert told(everything, replace(click, delivery="second")) == [DONE]
    assert everything.client.application.database.transaction(end) == count


@pytest.mark.parametrize(
    "action",
    [
        *("dataset.push", "dataset.cache", "anf.grow", "anf.go"),
        *("pvc.resize", "pvc.copy", "pvc.delete"),
    ],
)
def test_questions_of_yesterday_are_out_of_date(everything: Furnished, action: str) -> None:
    everything.put_back()
    old = f"{(datetime.now(UTC) - timedelta(hours=25)).timestamp():.6f}"
    click = replace(asked(everything, f"[{action}]", ALICE, "first"), message_ts=old)
    before = everything.effects()
    assert told(everything, click) == [
        "This question is out of date. Nothing was done.\nRequest it again."
    ]
    assert everything.effects() == before


def overrides(client: CommandClient) -> int:
    return client.application.database.read(lambda s: len(s.scalars(select(Override)).all()))


def test_a_repeat_is_done_once_however_often_clicked(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, REQUEST)
    value = question(client, REQUEST)
    assert client.clicks(ALICE, TEAM_A, AGAIN, value).startswith("Requested for team-a")
    assert {client.clicks(ALICE, TEAM_A, AGAIN, value) for _ in range(3)} == {DONE}
    assert overrides(client) == 2


def test_a_question_delivered_twice_is_one(client: CommandClient) -> None:
    """Slack sends the doubted command again, so that the person sees two buttons."""
    client.says(ALICE, TEAM_A, REQUEST)
    name, _, words = REQUEST.removeprefix("/").partition(" ")
    doubted = client.incoming(ALICE, TEAM_A, command=name, words=words)
    replies = [client.application.dispatcher.answer(doubted) for _ in range(2)]
    values = [reply.buttons[0].value for reply in replies if reply is not None]
    assert [client.clicks(ALICE, TEAM_A, AGAIN, each)[:5] for each in values] == ["Reque", "This "]
    assert client.answer(doubted).startswith("This was already received.")
    assert overrides(client) == 2


def test_a_question_is_for_whom_it_was_asked(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, REQUEST)
    value = question(client, REQUEST)
    assert client.clicks(MIA, TEAM_A, AGAIN, value) == (
        "This question is for @U0ALICE.\nSend the command yourself."
    )
    old = value.replace('"at":', '"at":-')
    assert client.clicks(ALICE, TEAM_A, AGAIN, old).startswith("This question is out of date.")
    assert client.clicks(ALICE, TEAM_A, AGAIN, "{}").startswith("This question is out of date.")
    assert overrides(client) == 1


def test_two_who_ask_for_the_same_are_asked(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, REQUEST)
    assert client.says(MIA, TEAM_A, REQUEST).startswith("The same command was sent here ")
    assert overrides(client) == 1
