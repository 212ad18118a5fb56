"""A dataset in the lake with its manifest, and fills of it."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bot.datasets.worker.copying import Ways
from bot.datasets.worker.fill import Order, Result, Shard, fill
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.survey import Shelf, survey
from bot.datasets.worker.verifying import Verifier
from bot.datasets.worker.volume import Ownership, TargetFolder
from tests.bot.datasets.worker.workers import End, ended
from tests.object_stores import Lake

Tree = dict[str, bytes]


@dataclass
class Dataset:
    """What is stored, surveyed, and to be copied below `volume`."""

    lake: Lake
    bucket: str
    volume: Path
    content: Tree = field(default_factory=dict)
    digest: str = ""
    kind: type[TargetFolder] = TargetFolder
    counts: Counter[str] = field(default_factory=Counter)

    def put(self, content: Tree) -> None:
        """Stores objects without surveying them."""
        self.lake.put(self.bucket, content)
        self.content = {**self.content, **content}

    def survey(self) -> None:
        """Writes the manifest of what is stored now."""
        client = connected(read_settings(self.lake.store(), "--source-store"), self.bucket, 30.0)
        try:
            source, shelf = Address(self.bucket, "set/"), Shelf(client, "manifest/")
            self.digest = survey(client, source, shelf, CopyProgress("listing")).digest
        finally:
            client.close()

    def words(self, *more: str, endpoint: str | None = None, settings: str = "") -> list[str]:
        """The words after `quartermaster` that fill the volume."""
        where = settings or self.lake.store(endpoint)
        return [
            *("fill", "--source", f"s3://{self.bucket}/set/", "--source-store", where),
            *("--manifest", f"s3://{self.bucket}/manifest/", "--manifest-store", where),
            *("--digest", self.digest, "--target", str(self.volume), "--patience", "5", *more),
        ]

    def fill(self, *more: str, endpoint: str | None = None, settings: str = "") -> End:
        """Runs a worker to its end."""
        return ended(*self.words(*more, endpoint=endpoint, settings=settings))

    def copy(
        self, endpoint: str | None = None, share: Shard | None = None, engine: str = "auto"
    ) -> Result:
        """Fills the volume within this process; raises what a worker would have ended with."""
        where = read_settings(self.lake.store(endpoint), "--source-store")
        source = Address(self.bucket, "set/")
        client = connected(where, self.bucket, 2.0)
        volume = self.kind(self.volume, self.digest, Ownership())
        shelf = Shelf(client, "manifest/")
        reading = client.engine(engine, source.prefix, 8)
        ways = Ways(reading, Verifier(client, source.prefix))
        self.counts = ways.verifier.counts
        order = Order(self.digest, shelf, volume, share or Shard(), 8, 1.0)
        try:
            return fill(order, ways, CopyProgress("copying"))
        finally:
            client.close()

    def files(self) -> Tree | None:
        """What runs would see; None when nothing is ready."""
        root = self.volume / "ready" / "files"
        if not root.exists():
            return None
        found = (path for path in root.rglob("*") if not path.is_dir())
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}

    def left_over(self) -> list[str]:
        """What else is on the volume."""
        return sorted(path.name for path in self.volume.iterdir() if path.name != "ready")

    def kept_digest(self) -> tuple[str, str]:
        """The digest beside the files, and that of the manifest beside them."""
        ready = self.volume / "ready"
        index = json.loads((ready / "manifest" / "index.json").read_bytes())
        return (ready / "digest").read_text(), index["digest"]
