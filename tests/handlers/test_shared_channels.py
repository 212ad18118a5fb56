"""Channels that another company is in: nothing that shows a card there, unless they are allowed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session, col, select

from bot.commands.repeating import AGAIN
from bot.people.people import CHANNEL, Channel, row_id
from bot.reconcile.due import Due
from bot.slack.messages import Message
from bot.training.tables import FOLLOW, Run
from handlers.declared import COMMANDS
from tests.handlers.command_client import ALICE, TEAM_A, CommandClient, opened, question
from tests.handlers.furnished import Furnished
from tests.handlers.test_once import asked, people, told
from tests.handlers.test_permissions import TABLE
from tests.playground.cluster.served import Served

SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py"
REFUSED = (
    "This channel is shared with another company, which would see the card.\n"
    "Use a channel of your own company. A platform admin can allow this one:"
    " `slack.shared_channels` in quartermaster.yaml."
)


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        share(opened_client)
        yield opened_client


def share(client: CommandClient) -> None:
    def work(session: Session) -> None:
        session.merge(Channel(workspace_id="T0QM", channel_id=TEAM_A, is_shared_outside=True))

    client.application.database.transaction(work)


def runs(client: CommandClient) -> int:
    return client.application.database.read(lambda s: len(s.exec(select(Run)).all()))


def test_no_card_is_begun_in_shared_channels(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, SUBMIT) == REFUSED
    assert runs(client) == 0


def test_buttons_that_change_cards_are_refused(tmp_path: Path, served: Served) -> None:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as client:
        client.says(ALICE, TEAM_A, SUBMIT)
        run = client.application.database.read(lambda s: s.exec(select(Run)).one())
        share(client)
        assert client.clicks(ALICE, TEAM_A, "train.stop", run.id) == REFUSED
        assert client.clicks(ALICE, TEAM_A, "train.logs", run.id) != REFUSED
        assert client.application.database.read(lambda s: s.get_one(Run, run.id)).stop_by is None


def test_answers_for_one_person_are_given(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/train list").startswith("Runs of team-a")
    assert client.says(ALICE, "D0ALICE", SUBMIT) != REFUSED


def test_what_slack_tells_is_asked_about_at_once(client: CommandClient) -> None:
    client.application.dispatcher.channel_changed(TEAM_A)
    row = client.application.database.read(
        lambda s: s.get_one(Due, (CHANNEL, row_id("T0QM", TEAM_A)))
    )
    assert row.due_at is not None
    assert row.due_at <= client.application.clock.now()


def test_allowed_channels_are_as_others(tmp_path: Path, served: Served) -> None:
    more = f"slack: {{shared_channels: [{TEAM_A}]}}\n"
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, more) as client:
        share(client)
        assert client.says(ALICE, TEAM_A, SUBMIT) != REFUSED
        assert runs(client) == 1


# What shows one person something, and leaves nothing in the channel.
READING = {
    f"/{command.name} {verb.name}"
    for command in COMMANDS
    for verb in command.verbs.values()
    if not verb.mutates
} | {
    "[dataset.page]",
    "[train.logs]",
    "[train.curves]",
    "[train.compare-sweep]",
    "[train.curves-of-sweep]",
    "[train.open]",
    "[train.unfollow]",
    "[train.unwatch]",
}
# What is begun or ended in the direct messages of who asked, and seen nowhere else.
ALONE = {"/train logs lane --follow", "[train.unfollow]", "[train.unwatch]"}


@pytest.mark.timeout(300)
def test_every_verb_and_button_knows_shared_channels(everything: Furnished) -> None:
    """Whatever changes something is refused, and what is read stands in no message of ours."""
    wrong = []
    for row in TABLE:
        everything.put_back()
        share(everything.client)
        before = everything.effects()
        (said,) = told(everything, asked(everything, row, people(row)[0], "first"))
        reads = row in READING or " ".join(row.split()[:2]) in READING
        is_changed = row not in ALONE and everything.effects() != before
        if (said == REFUSED) is reads or is_changed:
            wrong.append((row, said))
    assert wrong == []


def test_a_log_is_followed_in_direct_messages_alone(tmp_path: Path, served: Served) -> None:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as client:
        client.says(ALICE, TEAM_A, SUBMIT)
        share(client)
        assert client.says(ALICE, TEAM_A, "/train logs lane --follow") != REFUSED
        found = client.application.database.read(
            lambda session: session.scalars(
                select(Message).where(col(Message.subject_kind) == FOLLOW)
            ).all()
        )
        assert [(each.channel, each.owner) for each in found] == [(ALICE, ALICE)]


def test_repeats_are_refused_there_too(tmp_path: Path, served: Served) -> None:
    """The question whether a command was meant was asked before another company came in."""
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as client:
        client.says(ALICE, TEAM_A, SUBMIT)
        value = question(client, SUBMIT)
        share(client)
        assert client.clicks(ALICE, TEAM_A, AGAIN, value) == REFUSED
        assert runs(client) == 1
