"""A folder of files, and pushes of it into the lake."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.push import Order, Result, Ways, push
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.tree import Tree
from bot.datasets.worker.verifying import Verifier
from tests.bot.datasets.worker.workers import End, ended
from tests.object_stores import Lake


@dataclass
class Folder:
    """Files below `root`, which go to `set/` of a bucket."""

    lake: Lake
    bucket: str
    root: Path
    counts: Counter[str] = field(default_factory=Counter)

    def write(self, content: dict[str, bytes]) -> None:
        """Makes files."""
        for key, value in content.items():
            path = self.root / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(value)

    def words(self, *more: str, endpoint: str | None = None) -> list[str]:
        """The words after `quartermaster` that push it."""
        return [
            *("push", "--source", str(self.root), "--target", f"s3://{self.bucket}/set/"),
            *("--target-store", self.lake.store(endpoint), "--patience", "5", *more),
        ]

    def push(self, *more: str, endpoint: str | None = None) -> End:
        """Runs a worker to its end."""
        return ended(*self.words(*more, endpoint=endpoint))

    def copy(self, endpoint: str | None = None, *, overwrite: bool = False) -> Result:
        """Pushes within this process; raises what a worker would have ended with."""
        target = Address(self.bucket, "set/")
        client = connected(read_settings(self.lake.store(endpoint), "--store"), self.bucket, 2.0)
        verifier = Verifier(client, target.prefix, are_ours=True)
        ways = Ways(client, client.uploader(target.prefix), verifier)
        self.counts = verifier.counts
        order = Order(Tree(self.root), target, 8, 1.0, overwrite)
        try:
            return push(order, ways, CopyProgress("listing"))
        finally:
            client.close()

    def files(self) -> dict[str, bytes]:
        """What is to be in the store."""
        paths = [path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()]
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in paths}

    def stored(self) -> dict[str, bytes]:
        """What is there."""
        pages = self.lake.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix="set/"
        )
        keys = [found["Key"][4:] for page in pages for found in page.get("Contents", [])]
        return {key: self.lake.get(self.bucket, "set/", key) for key in keys}

    def unfinished(self) -> list[str]:
        """Keys of which parts were left over."""
        answer = self.lake.client.list_multipart_uploads(Bucket=self.bucket)
        return [found["Key"] for found in answer.get("Uploads", [])]
