"""What people write to the bot in the thread of a card is about the card's object."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlmodel import col, delete, select, update

from bot.database.database import Session
from bot.datasets.caches.tables import CACHE
from bot.datasets.tables import VERSION
from bot.slack.markup import sentence
from bot.slack.messages import CARD, Message, ThreadMessage, post_once, show_card
from bot.training.tables import Run
from handlers.dataset.catalogue import DatasetReference, PartReference
from handlers.threads import OBJECTS
from tests.bot.datasets.caches.rows import add_cached
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    FAR,
    MIA,
    TEAM_A,
    TEAM_B,
    CommandClient,
)

SUBMIT = "--gpus 1 --image ghcr.io/acme/train:7 -- python train.py"
DIRECT = "D0ALICE"
NOW = datetime(2026, 11, 26, 9, tzinfo=UTC)

Says = Callable[..., str]


def posted(client: CommandClient, ts: str, purpose: str = CARD, place: str = TEAM_A) -> None:
    """Slack has the messages of this purpose that were not posted before."""

    def note(session: Session) -> None:
        session.exec(
            update(Message)
            .where(col(Message.purpose) == purpose, col(Message.ts).is_(None))
            .values(ts=ts, place=place)
        )

    client.application.database.transaction(note)


def about_run(client: CommandClient, act: Callable[[Session, Run], object]) -> None:
    """Does something with the row of the only run."""
    client.application.database.transaction(
        lambda session: act(session, session.exec(select(Run)).one())
    )


@pytest.fixture
def says(client: CommandClient) -> Says:
    """Alice's mention of the bot in the thread of a card of her run `lane`, answered."""
    client.says(ALICE, TEAM_A, f"/train submit lane {SUBMIT}")
    posted(client, "10.1")

    def say(words: str, person: str = ALICE, channel: str = TEAM_A, thread: str = "10.1") -> str:
        mention = client.incoming(person, channel, words=words, message_ts="11.1")
        return client.answer(replace(mention, kind="mention", thread_ts=thread))

    return say


LOST = (
    "There is no command `@Quartermaster frobnicate`.\n"
    "In this thread these are about lane: `show`, `logs`, `stop`, `resubmit`, `why`, `watch`,"
    " `unwatch`, `open`,"
    " `extend`, `scale`, `export`, `compare`."
)


def test_a_verb_alone_means_the_run(says: Says) -> None:
    assert says("why").splitlines()[0] == "⏳ lane · Pending"
    assert says("  Show").splitlines()[0] == "⏳ lane · Pending"
    assert says("stop") == (
        "Stopping `lane`. Its last lines are kept."
        " `@Quartermaster train resubmit lane` starts it again."
    )


def test_each_card_means_its_own_run(client: CommandClient, says: Says) -> None:
    posted(client, "15.1", "stopped")  # nothing that was posted before changes its thread
    client.says(ALICE, TEAM_A, f"/train submit other {SUBMIT}")
    posted(client, "20.1")
    assert says("show", thread="20.1").splitlines()[0] == "⏳ other · Pending"
    assert says("show").splitlines()[0] == "⏳ lane · Pending"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("why lane", "⏳ lane · Pending"),
        ("train why lane", "⏳ lane · Pending"),
        ("show gone", "team-a has no run gone."),
        ("compare gone", "team-a has no run gone."),
        ("list", "Runs of team-a"),
        ("qm whoami", "You are Alice"),
        ("", "@Quartermaster train: Training runs"),
        ("help", "@Quartermaster train: Training runs"),
        ("stop --now", "`stop` has no option `--now`."),
    ],
)
def test_whole_commands_mean_what_they_say(says: Says, words: str, answer: str) -> None:
    assert says(words).splitlines()[0].startswith(answer)


def test_a_programs_words_stay_as_they_are(client: CommandClient, says: Says) -> None:
    """Slack escapes these characters, and they mean something to Slack once that is undone."""
    says("submit two --gpus 1 --image lane:1 -- sh -c 'cat &lt; in &gt; out &amp;&amp; ls'")
    shown = client.says(ALICE, TEAM_A, "/train show two")
    assert "`sh -c 'cat < in > out && ls'`" in shown


def test_a_line_break_ends_the_verb_too(says: Says) -> None:
    assert says("why\nlane").splitlines()[0] == "⏳ lane · Pending"


@pytest.mark.parametrize("kind", [VERSION, CACHE])
def test_a_version_means_no_whole_dataset(client: CommandClient, kind: str) -> None:
    """Its thread is no place to remove a dataset with all its versions by one word."""

    def cached(session: Session) -> str:
        cache = add_cached(session)
        session.flush()
        return cache.id if kind == CACHE else cache.version_id

    row_id = client.application.database.transaction(cached)
    found = client.application.database.read(lambda session: OBJECTS[kind](session, row_id))
    assert found is not None
    assert (found.command, found.names) == ("dataset", ((DatasetReference, "chest-xray@v3"),))


def test_folders_mean_themselves_in_their_thread(client: CommandClient) -> None:
    def cached(session: Session) -> str:
        return add_cached(session, part="train/").id

    row_id = client.application.database.transaction(cached)
    found = client.application.database.read(lambda session: OBJECTS[CACHE](session, row_id))
    assert found is not None
    assert found.names == (
        (PartReference, "chest-xray@v3/train/"),
        (DatasetReference, "chest-xray@v3"),
    )


def test_guests_learn_no_name_from_a_thread(says: Says) -> None:
    for person in (DAN, FAR):
        said = says("frobnicate", person).splitlines()
        assert said[0] == "Guests and people from other workspaces cannot use Quartermaster."


def test_other_words_are_answered_with_what_helps(says: Says) -> None:
    assert says("frobnicate") == LOST
    guess = says("log").splitlines()[1]
    assert guess.startswith("Did you mean `@Quartermaster logs`? In this thread these are about")


def test_a_secret_is_not_repeated(says: Says) -> None:
    assert "ghp_" not in says("ghp_aBcD" + "1" * 32)


def test_rights_are_those_of_the_typed_command(says: Says) -> None:
    assert says("why", BOB).splitlines()[0] == "You are not a member of team-a."
    refused = says("stop", MIA).splitlines()[0]
    assert refused == "lane belongs to @U0ALICE."
    assert says("stop", CAROL).startswith("Stopping `lane`.")


def test_threads_of_other_messages_stay_as_they_are(says: Says) -> None:
    assert says("why", thread="99.1").splitlines()[0] == "There is no command `@Quartermaster why`."
    # The same timestamp in another channel is another message.
    elsewhere = says("why", BOB, TEAM_B).splitlines()[0]
    assert elsewhere == "There is no command `@Quartermaster why`."


def test_a_direct_message_about_a_run_means_it(client: CommandClient, says: Says) -> None:
    note = ThreadMessage("told", (sentence("lane runs."),), to=ALICE)
    about_run(client, lambda session, run: post_once(session, run.subject, TEAM_A, note, NOW))
    posted(client, "30.1", "told", DIRECT)
    assert says("why", channel=DIRECT, thread="30.1").splitlines()[0] == "⏳ lane · Pending"


def test_a_card_elsewhere_names_its_team(client: CommandClient, says: Says) -> None:
    about_run(
        client, lambda session, run: show_card(session, run.subject, "D0CAROL", NOW, live=False)
    )
    posted(client, "40.1", place="D0CAROL")
    answer = says("show", CAROL, "D0CAROL", "40.1")
    assert answer.splitlines()[0] == "⏳ lane · Pending"


def test_a_question_there_repeats_the_whole_command(client: CommandClient, says: Says) -> None:
    words = f"submit two {SUBMIT}"
    says(words)
    client.application.database.transaction(
        lambda session: session.exec(delete(Run).where(col(Run.name) == "two"))
    )
    mention = client.incoming(ALICE, TEAM_A, words=words, message_ts="12.1")
    asked = replace(mention, kind="mention", thread_ts="10.1")
    question = client.application.dispatcher.answer(asked)
    assert question is not None
    (button,) = question.buttons
    said = client.clicks(ALICE, TEAM_A, button.action, button.value)
    assert said.startswith("Submitted run `two` with 1 GPU")
