"""Whether the bot is quiet, which a playground asks before it moves time."""

from pathlib import Path
from typing import Any

import pytest

from bot.clock import Clock
from bot.cluster.api.watch import WatchState
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeup, Wakeups
from bot.serving.health import Health
from bot.slack.receiving.answers import Answers
from bot.slack.receiving.transports import Transport
from bot.slack.sending.budgets import Budgets
from tests.bot.reconcile.test_loop import Rows, rest
from tests.bot.reconcile.test_wakeups import CHANGE
from tests.bot.slack.conftest import stage
from tests.bot.slack.receiving.dispatchers import (
    COMMANDS,
    RecordingDispatcher,
    client_of,
    secrets_of,
    wait_until,
)
from tests.bot.slack.sending.senders import sender_rig
from tests.playground.slack.served import Stage

__all__ = ["stage"]


def test_a_wakeup_written_meanwhile_is_noticed(stage: Stage, tmp_path: Path) -> None:
    with sender_rig(stage, f"sqlite:///{tmp_path}/bot.db") as post:
        clock, database = Clock(), post.database
        wakeups = Wakeups(database, clock, [lambda _change: [Wakeup("run", "lane", "cluster:x")]])
        loop = Loop(database, clock, [Rows(rest)])
        client, secrets = client_of(post.slack), secrets_of(post.slack)
        answers = Answers(client, Budgets())
        transport = Transport(post.settings, secrets, answers, RecordingDispatcher(), COMMANDS)
        health = Health(database, clock, {}, loop, wakeups, post.sender, transport, lambda: None)
        assert health.is_quiet(clock.now())

        def write() -> None:
            wakeups.start()
            wait_until(wakeups.is_quiet)

        wakeups.on_change(CHANGE)
        database.meanwhile = write
        assert not health.is_quiet(clock.now())
        wakeups.stop()
        loop.stop()


class Watched:
    """A cluster with one watch."""

    def __init__(self, error: str | None) -> None:
        self._state = WatchState(
            resource="pods",
            served=True,
            synced=error is None,
            age_seconds=1.0,
            error=error or "",
        )

    def watches(self) -> list[WatchState]:
        return [self._state]


@pytest.mark.parametrize(
    ("lab", "attic", "expected"),
    [
        (None, None, (None, None)),
        ("no answer", None, (None, None)),
        ("no answer", "no answer", ("pods: no answer", "pods: no answer")),
        ("", None, ("pods: not read yet", None)),
    ],
    ids=["both", "one-down", "both-down", "one-unread"],
)
def test_clusters_that_are_down_leave_others_served(
    lab: str | None, attic: str | None, expected: tuple[str | None, str | None]
) -> None:
    unused: Any = None
    clusters: Any = {"lab": Watched(lab), "attic": Watched(attic)}
    transport: Any = type("Transport", (), {"health": lambda: None})
    health = Health(unused, unused, clusters, unused, unused, transport, transport, lambda: None)
    conditions, troubles = health.conditions(), health.troubles()
    assert (conditions["cluster lab"](), conditions["cluster attic"]()) == expected
    seen = [lab, attic]
    assert [troubles[f"cluster {name}"]() for name in clusters] == [
        None if each is None else f"pods: {each or 'not read yet'}" for each in seen
    ]
