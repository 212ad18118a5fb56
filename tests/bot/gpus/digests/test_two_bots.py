"""Two bots tell one channel: the digest stands there once, also when one dies while it posts."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlmodel import Session, select

from bot.gpus.digests.controller import DigestRenderer
from bot.gpus.digests.tables import DIGEST, Digest
from bot.reconcile.due import wake
from bot.slack.messages import Message
from bot.slack.sending.sender import Sender
from playground.ledger import Fault
from tests.bot.gpus.digests.telling import DAY, NEXT, NOW, SECTIONS, Telling
from tests.bot.gpus.digests.test_digests import a_day
from tests.bot.slack.receiving.dispatchers import client_of, settings_for
from tests.bot.slack.sending.senders import Time, TimedClock, TimedDatabase
from tests.databases import create_tables
from tests.playground.slack.served import Served, Stage

UPLOAD = "files.getUploadURLExternal"


class Pair:
    """Two bots before one Slack; time is theirs."""

    def __init__(self, slack: Served, database: TimedDatabase, given: Time) -> None:
        self.slack, self.database, self.time = slack, database, given
        self.telling = Telling(database)
        self.senders = [self.sender() for _ in range(2)]

    def sender(self) -> Sender:
        settings = settings_for(self.slack)
        return Sender(
            self.database,
            client_of(self.slack),
            {DIGEST: DigestRenderer()},
            lambda: settings,
            monotonic=self.time.monotonic,
        )

    def gather(self) -> None:
        """Both bots look for what is due."""
        row = Digest(
            workspace_id="T0QM", channel="C0DAILY", period="day", day=NEXT.date(), begun=DAY,
            ended=NEXT, time_zone="UTC", sections=SECTIONS, asked_at=NOW,
        )  # fmt: skip
        row_id = row.id

        def work(session: Session) -> None:
            session.add(row)
            wake(session, DIGEST, row_id, DIGEST, NOW)

        self.database.transaction(a_day)
        self.database.transaction(work)
        for loop in (self.telling.loop, self.telling.bot()):
            loop.run_due()

    def send(self, seconds: int, *, first: bool = True) -> None:
        """Whoever lives sends what it can; without the first bot its lease has to run out."""
        for _ in range(seconds):
            for sender in self.senders if first else self.senders[1:]:
                sender.send_due()
            self.time.moved += timedelta(seconds=1)

    def shown(self) -> list[list[str]]:
        """The kinds of the blocks of each message in the channel."""
        messages = self.slack.workspace.channels["C0DAILY"].messages
        return [[block["type"] for block in message.blocks] for message in messages]


@pytest.fixture
def pair(stage: Stage, database_url: str) -> Iterator[Pair]:
    given = Time()
    with stage.workspace(given.monotonic, TimedClock(given)) as slack:
        create_tables(database_url)
        database = TimedDatabase(database_url, given)
        found = Pair(slack, database, given)
        try:
            yield found
        finally:
            for sender in found.senders:
                sender.stop()
            database.close()


WHOLE = ["header", "section", "data_visualization", "image", "image", "table", "context"]


def test_two_bots_post_a_digest_once(pair: Pair) -> None:
    pair.gather()
    pair.send(60)
    assert pair.shown() == [WHOLE]


@pytest.mark.parametrize("method", ["chat.postMessage", UPLOAD, "files.completeUploadExternal"])
def test_death_while_posting_leaves_one(pair: Pair, method: str) -> None:
    pair.slack.workspace.ledger.by_name[method] = [Fault.LOSE_ANSWER]
    pair.gather()
    pair.senders[0].send_due()  # and then it is killed: nothing is noted any more
    pair.send(180, first=False)
    assert pair.shown() == [WHOLE]
    [row] = pair.database.read(lambda session: list(session.exec(select(Message))))
    assert row.ts is not None
