"""The options of the workers, as typed."""

from dataclasses import dataclass
from pathlib import Path

from bot.datasets.worker.volume import Ownership


@dataclass(frozen=True)
class Stores:
    """The options that name the source and the manifest, as typed."""

    source: str
    source_store: str
    manifest: str
    manifest_store: str
    patience_seconds: float


@dataclass(frozen=True)
class CopyOptions:
    """The folder of a dataset's copies, and its store; empty without copies."""

    place: str
    store: str


@dataclass(frozen=True)
class ReadOptions:
    """How objects are read."""

    workers: int = 1
    engine: str = "auto"


@dataclass(frozen=True, kw_only=True)
class FillOptions(ReadOptions):
    """The other options of fill."""

    digest: str
    target: Path
    shard: int
    shards: int
    ownership: Ownership
    keep_open: bool
    copies: str
    copies_store: str
    only: tuple[str, ...] = ()
