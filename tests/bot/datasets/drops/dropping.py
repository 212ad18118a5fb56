"""A bot that copies files from a strict Slack to a real store, by the worker that receives them."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from sqlmodel import select

from bot.clock import Clock
from bot.database.database import Session
from bot.datasets.drops.tables import DROP, LANE, Drop
from bot.datasets.tables import Push, PushPhase, Version
from bot.datasets.worker.presigned.receiving import Box, Received, ReceiveOrder, Receiver
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.settings import Address
from bot.reconcile.due import wake
from bot.reconcile.loop import Loop
from bot.slack.grammar.slack_parameters import SharedMessage
from playground.slack.people import Message
from tests.bot.slack.receiving.dispatchers import client_of
from tests.handlers.command_client import ALICE, TEAM_A, CommandClient
from tests.object_stores import Lake
from tests.playground.slack.served import Served

SETTINGS = """\
stores:
  lake:
    endpoint: ENDPOINT
    path_style: true
    credentials: KEYS
    places: {team-a: [s3://BUCKET/set/]}
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://BUCKET/state
  state_store: lake
  slack_files: 20Mi
"""
_SOON = timedelta(seconds=3)


@dataclass
class Dropping:
    """One drop at a time, whose steps are taken by hand; time moves with them."""

    client: CommandClient
    clock: Clock
    slack: Served
    lake: Lake
    bucket: str
    endpoint: str
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A new process on the same database."""
        app = self.client.application
        copying = app.services.datasets.copying(client_of(self.slack))
        self.loop = Loop(app.database, self.clock, [copying])

    def drop(self, *files: tuple[str, bytes], channel: str = TEAM_A, person: str = ALICE) -> str:
        """A person drops files; the link to their message."""
        message = self.slack.act(self.slack.workspace.drop(person, channel, files))
        self.messages.append(message)
        return SharedMessage(channel, message.ts, message.thread_ts or message.ts).link

    def says(self, text: str) -> str:
        """What Alice reads when she types a command in #team-a."""
        return self.client.says(ALICE, TEAM_A, text)

    def put(self, link: str, *more: str) -> str:
        """Alice saves the files of a message as the dataset `labels`."""
        target = f"s3://{self.bucket}/set/"
        return self.says(" ".join(("/dataset put labels --to", target, "--from", link, *more)))

    def push(self) -> Push:
        return self.client.application.database.read(lambda s: s.exec(select(Push)).one())

    def row(self) -> Drop:
        return self.client.application.database.read(lambda s: s.exec(select(Drop)).one())

    def versions(self) -> list[Version]:
        return self.client.application.database.read(lambda s: list(s.exec(select(Version)).all()))

    def steps(self, most: int = 1) -> None:
        """Takes so many steps, each when it is due."""
        for _ in range(most):
            self.clock.shift(self.clock.offset + _SOON)
            self.loop.run_due()

    def fails(self) -> tuple[str, str]:
        """Takes steps until the drop has failed: why, and what to do."""
        for _ in range(20):
            self.steps()
            if self.row().reason:
                return self.row().reason, self.row().unblock
        raise AssertionError(f"it has not failed: {self.row()}")

    def forgets(self, before: Drop) -> None:
        """The row is as it was before the last step, and due again, as after a kill."""

        def work(session: Session) -> None:
            session.merge(before)
            wake(session, DROP, before.id, LANE, self.clock.now())

        self.client.application.database.transaction(work)

    def waits(self) -> None:
        """The push's worker runs and waits for files."""

        def work(session: Session) -> None:
            push = session.exec(select(Push)).one()
            push.phase, push.stage, push.started_at = PushPhase.COPYING, "waiting", push.asked_at
            session.add(push)

        self.client.application.database.transaction(work)

    @contextmanager
    def received(self, *, overwrite: bool = False) -> Iterator["Future[Received]"]:
        """The worker of the push, as its Job runs it, while the block lasts."""
        where = read_settings(self.lake.store(self.endpoint), "--store")
        client = connected(where, self.bucket, 2.0)
        prefix = self.push().box.removeprefix(f"s3://{self.bucket}/")
        order = ReceiveOrder(
            Box(client, prefix),
            client,
            Address(self.bucket, "set/"),
            timedelta(hours=12),
            every_seconds=0.02,
            overwrite=overwrite,
        )
        stopped = threading.Event()
        receiver = Receiver(order, CopyProgress("waiting"), stopped)
        receiver.begin()
        self.waits()
        with ThreadPoolExecutor(1) as pool:
            result = pool.submit(receiver.run)
            try:
                yield result
            finally:
                stopped.set()
        client.close()

    def arrives(self, result: "Future[Received]") -> Received:
        """Takes steps until the worker has found everything."""
        pause = threading.Event()
        for _ in range(600):
            if result.done():
                return result.result()
            assert not self.row().reason, self.row().reason
            self.steps()
            pause.wait(0.05)
        raise AssertionError(f"it does not arrive: {self.row()}")

    def stored(self) -> dict[str, bytes]:
        """What is in the store, by name."""
        found = self.lake.client.list_objects_v2(Bucket=self.bucket, Prefix="set/")
        keys = [each["Key"].removeprefix("set/") for each in found.get("Contents", ())]
        return {key: self.lake.get(self.bucket, "set/", key) for key in keys}
