"""A person's computer with a folder, and the worker in the cluster that lets it push."""

import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path

from bot.datasets.worker.presigned import receiving, sending
from bot.datasets.worker.presigned.messages import (
    ANSWER,
    GRANT,
    LISTING,
    Answer,
    FolderListing,
    Grant,
    packed,
    read_answer,
    stored_grant,
)
from bot.datasets.worker.presigned.receiving import Box, Received
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.tree import Tree
from tests.bot.datasets.worker.pushes import Folder

_NUMBERS = count(1)


@dataclass
class Receiving:
    """A worker that lets a computer push; `result` is how it ended."""

    client: StoreClient
    progress: CopyProgress
    result: "Future[Received]"
    stopped: threading.Event
    box: str

    def grant(self) -> Grant:
        """The grant, as soon as the worker has written it."""
        pause = threading.Event()
        while not self.result.done() and self.client.head(f"{self.box}{GRANT}") is None:
            pause.wait(0.02)
        return stored_grant(self.client.read(f"{self.box}{GRANT}"))

    def tell(self, listing: FolderListing) -> Answer:
        """Sends a listing of one's own making, and returns its answer."""
        self.grant()
        self.client.write(f"{self.box}{LISTING}", packed(listing))
        return self.answered(lambda answer: answer.turn == listing.turn)

    def answered(self, is_it: Callable[[Answer], bool]) -> Answer:
        """The first answer that is the expected one."""
        pause = threading.Event()
        while not is_it(answer := read_answer(self.client.read(f"{self.box}{ANSWER}"))):
            pause.wait(0.02)
        return answer

    def left(self) -> list[str]:
        """The names that are in the box."""
        return sorted(each.key for each in self.client.listed(self.box, versioned=False))


@dataclass
class Computer:
    """A folder on a computer that has no keys of the store."""

    folder: Folder
    endpoint: str | None = None
    progress: CopyProgress = field(default_factory=lambda: CopyProgress("listing"))

    @contextlib.contextmanager
    def received(
        self,
        *,
        overwrite: bool = False,
        lasts: timedelta = timedelta(hours=12),
        public: str | None = None,
        box: str = "",
        at_once: int = 2_000,
    ) -> Iterator[Receiving]:
        """A worker in this process, while the block lasts."""
        where = read_settings(
            self.folder.lake.store(self.endpoint, public_endpoint=public), "--store"
        )
        bucket = self.folder.bucket
        client = connected(where, bucket, 2.0)
        place = Box(client, box or f"uploads/{next(_NUMBERS)}/")
        order = receiving.ReceiveOrder(
            place,
            client,
            Address(bucket, "set/"),
            lasts,
            every_seconds=0.02,
            at_once=at_once,
            overwrite=overwrite,
        )
        progress, stopped = CopyProgress("waiting"), threading.Event()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            receiver = receiving.Receiver(order, progress, stopped)
            receiver.begin()
            result = pool.submit(receiver.run)
            try:
                yield Receiving(client, progress, result, stopped, place.prefix)
            finally:
                stopped.set()
        client.close()

    def push(self, grant: Grant, root: Path | None = None) -> sending.Sent:
        """Pushes the folder, as `quartermaster dataset push` does."""
        self.progress = CopyProgress("listing")
        order = sending.SendOrder(
            Tree(root or self.folder.root),
            grant,
            8,
            patience_seconds=2.0,
            answer_seconds=30.0,
            poll_seconds=0.02,
        )
        return sending.send(order, self.progress)
