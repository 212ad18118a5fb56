"""Nothing new is shown in a channel that another company is in, unless it is allowed."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.clock import Clock
from bot.people.directory import SharedChannels
from bot.people.people import Channel
from bot.slack.sending.sender import Sender
from playground.ledger import Fault
from tests.bot.slack.receiving.dispatchers import client_of
from tests.bot.slack.sending.senders import SenderRig, sender_rig
from tests.playground.slack.served import Stage

MOVED = (
    "#team-a is shared with another company, which would see this. Name another channel, or allow"
    " it: `slack.shared_channels` in quartermaster.yaml."
)

WITHDRAWN = "This channel is shared with another company, so this is no longer shown here."
TOLD = (
    "#team-a is shared with another company. Its messages are sent here or to their owners;"
    " commands that change something are rejected there. Name another channel in"
    " quartermaster.yaml or allow this one in `slack.shared_channels`."
)


@contextmanager
def guarded(stage: Stage, folder: Path, **slack_settings: object) -> Iterator[SenderRig]:
    """An sender_rig whose sender keeps out of shared channels, as that of the bot."""
    with sender_rig(stage, f"sqlite:///{folder}/bot.db", **slack_settings) as post:
        client, clock = client_of(post.slack), Clock()
        shared = SharedChannels(client, post.database, clock, lambda: post.settings)
        post.sender = Sender(
            post.database,
            client,
            {post.runs.kind: post.runs},
            lambda: post.settings,
            monotonic=post.time.monotonic,
            refuse=shared.refuse,
        )
        yield post


@pytest.fixture
def post(stage: Stage, tmp_path: Path) -> Iterator[SenderRig]:
    with guarded(stage, tmp_path, admin_channel="C0APPROVE") as opened:
        yield opened


def share(post: SenderRig, *channels: str) -> None:
    for channel in channels:
        post.slack.call(partial(post.slack.workspace.share, channel))


def forget(post: SenderRig, channel: str = "C0TEAMA") -> None:
    """Has it known a day ago how the channel was."""

    def work(session: Session) -> None:
        row = session.get_one(Channel, ("T0QM", channel))
        assert row.refreshed_at is not None
        row.refreshed_at -= timedelta(days=1)

    post.database.transaction(work)


@pytest.mark.parametrize("is_pending", [False, True])
def test_cards_of_shared_channels_go_to_admins(post: SenderRig, *, is_pending: bool) -> None:
    share(post, "C0TEAMA")
    if is_pending:
        place = post.slack.workspace.channels["C0TEAMA"]
        place.is_ext_shared, place.is_pending_ext_shared = False, True
    post.show()
    post.say("ended", "Run lane succeeded.")
    for _ in range(4):
        post.sender.send_due()
        post.pass_time(1)
    assert post.texts() == []
    card = f"Run lane · Pending\n{MOVED}"
    assert post.texts("C0APPROVE") == [card, "Run lane succeeded.", TOLD]
    assert post.calls("conversations.info") == 2


def test_cards_shown_before_go_on_elsewhere(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    share(post, "C0TEAMA")
    forget(post)
    post.change("Running")
    post.sender.send_due()
    assert post.texts() == [WITHDRAWN]
    assert [shown.blocks for shown in post.shown()] == [[]]
    post.pass_time(1)
    post.sender.send_due()
    assert post.texts("C0APPROVE") == [TOLD, f"Run lane · Running\n{MOVED}"]


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
def test_a_lost_withdrawal_is_made_again(post: SenderRig, fault: Fault) -> None:
    post.show()
    post.sender.send_due()
    share(post, "C0TEAMA")
    forget(post)
    post.slack.workspace.ledger.by_name["chat.update"] = [fault]
    post.change("Running")
    post.sender.send_due()
    assert f"Run lane · Running\n{MOVED}" not in post.texts("C0APPROVE")
    post.pass_time(5)
    post.sender.send_due()
    assert post.texts() == [WITHDRAWN]
    assert f"Run lane · Running\n{MOVED}" in post.texts("C0APPROVE")


def test_withdrawals_keep_the_pace_of_updates(post: SenderRig) -> None:
    """As many as Slack takes of the whole workspace, however many cards stand in the channel."""
    runs = [f"run-{number}" for number in range(12)]
    for run in runs:
        post.show(run)
        post.sender.send_due()
        post.pass_time(2)
    share(post, "C0TEAMA")
    forget(post)
    for run in runs:
        post.change("Running", run)
    post.sender.send_due()
    at_once = post.calls("chat.update")
    assert at_once < len(runs)
    assert post.texts().count(WITHDRAWN) == at_once
    for _ in runs:
        post.pass_time(2)
        post.sender.send_due()
    assert post.texts() == [WITHDRAWN] * len(runs)
    assert post.calls("chat.update") == len(runs)


def test_withdrawn_cards_may_be_gone_already(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    share(post, "C0TEAMA")
    forget(post)
    [card] = post.shown()
    post.slack.call(lambda: post.slack.workspace.delete(card))
    post.change("Running")
    for _ in range(2):
        post.sender.send_due()
        post.pass_time(1)
    assert f"Run lane · Running\n{MOVED}" in post.texts("C0APPROVE")


def test_what_did_not_change_is_left_alone(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    share(post, "C0TEAMA")
    forget(post)
    post.change("Pending")
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
    assert post.calls("chat.update") == 0


def test_owners_are_told_where_admins_share(post: SenderRig) -> None:
    share(post, "C0TEAMA", "C0APPROVE")
    post.show()
    post.sender.send_due()
    assert (post.texts(), post.texts("C0APPROVE")) == ([], [])
    assert post.texts("D0ALICE") == [f"Run lane · Pending\n{MOVED}"]


def test_what_is_known_is_not_asked_again(post: SenderRig) -> None:
    for number in range(4):
        post.show(f"run-{number}")
        post.sender.send_due()
        post.pass_time(2)
    assert len(post.texts()) == 4
    assert post.calls("conversations.info") == 1


def test_allowed_channels_are_not_asked_about(stage: Stage, tmp_path: Path) -> None:
    with guarded(stage, tmp_path, shared_channels=["C0TEAMA"]) as post:
        share(post, "C0TEAMA")
        post.show()
        post.sender.send_due()
        assert post.texts() == ["Run lane · Pending"]
        assert post.calls("conversations.info") == 0


def test_cards_wait_until_slack_says_how_channels_are(post: SenderRig) -> None:
    post.slack.workspace.ledger.by_name["conversations.info"] = [Fault.LOSE_ANSWER]
    post.show()
    post.sender.send_due()
    assert post.texts() == []
    post.pass_time(61)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]


def test_channels_nobody_can_ask_about_get_cards(post: SenderRig) -> None:
    post.slack.workspace.scopes -= {"channels:read", "groups:read"}
    post.show()
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
