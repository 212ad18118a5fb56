"""Of any number of processes one sends; when it is killed, another one goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.slack.receiving.dispatchers import wait_until
from tests.bot.slack.sending.senders import SenderRig, sender_rig
from tests.playground.slack.served import Stage


@pytest.fixture
def replicas(stage: Stage, postgres_url: str) -> Iterator[SenderRig]:
    """A sender on PostgreSQL, where there may be several."""
    with sender_rig(stage, postgres_url, admin_channel="C0APPROVE") as opened:
        yield opened


@pytest.mark.postgres
def test_a_second_sender_waits_for_the_lease(replicas: SenderRig) -> None:
    assert replicas.sender.send_due() == 0
    second = replicas.another()
    replicas.show()
    assert second.send_due() == 0
    replicas.pass_time(29)
    assert second.send_due() == 0
    replicas.pass_time(2)
    assert second.send_due() == 1
    assert replicas.texts() == ["Run lane · Pending"]
    second.stop()


@pytest.mark.postgres
def test_a_stopped_sender_hands_over_at_once(replicas: SenderRig) -> None:
    assert replicas.sender.send_due() == 0
    replicas.sender.stop()
    replicas.show()
    second = replicas.another()
    assert second.send_due() == 1
    second.stop()


@pytest.mark.postgres
def test_a_replaced_sender_notices_before_posting(replicas: SenderRig) -> None:
    assert replicas.sender.send_due() == 0
    second = replicas.another()
    replicas.pass_time(31)
    assert second.send_due() == 0
    replicas.sender._lease._until = replicas.time.monotonic() + 29
    replicas.show()
    replicas.sender.send_due()
    assert replicas.texts() == []
    assert second.send_due() == 1
    second.stop()


@pytest.mark.postgres
def test_two_running_senders_post_everything_once(replicas: SenderRig) -> None:
    second = replicas.another()
    replicas.start(second)
    channels = ("C0TEAMA", "C0TEAMB", "C0DAILY", "C0APPROVE")
    for channel in channels:
        replicas.show(f"run-{channel}", channel)
    wait_until(lambda: all(replicas.texts(channel) for channel in channels))
    second.stop()
    assert [len(replicas.shown(channel)) for channel in channels] == [1, 1, 1, 1]


def test_a_new_server_takes_over_sqlite(stage: Stage, tmp_path: Path) -> None:
    with sender_rig(stage, f"sqlite:///{tmp_path}/bot.db") as post:
        assert post.sender.send_due() == 0
        post.show()
        second = post.another()
        assert second.send_due() == 1
        second.stop()


def test_a_server_taken_over_posts_no_more(stage: Stage, tmp_path: Path) -> None:
    with sender_rig(stage, f"sqlite:///{tmp_path}/bot.db") as post:
        assert post.sender.send_due() == 0
        second = post.another()
        assert second.send_due() == 0
        post.show()
        post.sender.send_due()
        assert post.texts() == []
        assert second.send_due() == 1
        second.stop()
