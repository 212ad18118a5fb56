"""Direct messages for people of a team: posted only while they may read its runs."""

from dataclasses import dataclass, field

import pytest
from sqlmodel import Session

from bot.slack.sending.sender import Sender
from playground.ledger import Fault
from tests.bot.slack.receiving.dispatchers import client_of
from tests.bot.slack.sending.senders import SenderRig
from tests.bot.slack.sending.test_direct_notes import DIRECT, goes_away, linked, sends, thread


@dataclass
class Readers:
    """Who may read the runs of which team; a test changes it."""

    may: set[tuple[str, str]] = field(default_factory=lambda: {("U0ALICE", "team-a")})

    def __call__(self, _session: Session, person: str, team: str) -> bool:
        return (person, team) in self.may


@pytest.fixture
def readers(post: SenderRig) -> Readers:
    found = Readers()
    post.sender = Sender(
        post.database,
        client_of(post.slack),
        {post.runs.kind: post.runs},
        lambda: post.settings,
        monotonic=post.time.monotonic,
        may_read=found,
    )
    return found


def tells(post: SenderRig, team: str = "team-a") -> None:
    post.say("watched-ended", "Run lane succeeded.", to="U0ALICE", team=team)


@pytest.mark.usefixtures("readers")
def test_members_get_the_message(post: SenderRig) -> None:
    post.show()
    tells(post)
    sends(post)
    assert [each.text for each in post.shown(DIRECT)] == [linked(post)]


def test_former_members_get_nothing(post: SenderRig, readers: Readers) -> None:
    """They leave between the event and its message, as while Slack is down."""
    post.show()
    tells(post)
    readers.may.clear()
    sends(post)
    assert (post.shown(DIRECT), post.texts()) == ([], ["Run lane · Pending"])
    assert post.sender.depth() == 0
    readers.may.add(("U0ALICE", "team-a"))
    sends(post)
    assert post.shown(DIRECT) == []


@pytest.mark.usefixtures("readers")
def test_members_of_another_team_get_nothing(post: SenderRig) -> None:
    post.show()
    tells(post, "team-b")
    sends(post)
    assert (post.shown(DIRECT), post.sender.depth()) == ([], 0)


def test_a_thread_replaces_no_right(post: SenderRig, readers: Readers) -> None:
    """What Slack does not deliver goes to the card's thread, unless the right is lost by then."""
    post.show()
    goes_away(post)
    tells(post)
    sends(post)
    assert len(thread(post)) == 1
    post.say("watched-other", "Run lane idles.", to="U0ALICE", team="team-a")
    readers.may.clear()
    sends(post)
    assert (len(thread(post)), post.sender.depth()) == (1, 0)


@pytest.mark.usefixtures("readers")
@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
def test_a_lost_answer_makes_no_second_message(post: SenderRig, fault: Fault) -> None:
    post.show()
    post.sender.send_due()
    tells(post)
    post.slack.workspace.ledger.by_name["chat.postMessage"] = [fault]
    sends(post)
    post.pass_time(61)
    sends(post)
    assert [each.text for each in post.shown(DIRECT)] == [linked(post)]


def test_a_sender_that_knows_no_rights_posts_nothing(post: SenderRig) -> None:
    post.show()
    tells(post)
    sends(post)
    assert (post.shown(DIRECT), post.sender.depth()) == ([], 0)
