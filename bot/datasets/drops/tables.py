"""The rows of files that are copied from Slack."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Final

import msgspec
from sqlalchemy import JSON
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment
from bot.datasets.tables import PUSH
from bot.datasets.worker.stores.presigned import ListedFile, Piece
from bot.slack.messages import Subject

DROP: Final = "dataset-drop"
LANE: Final = "slack-files"
"""The lane of all of them: what they wait for is Slack, or a store."""

ENDS_WITHIN: Final = timedelta(hours=2)


class DropPhase(StrEnum):
    """How far the copying of a message's files is; the last one is the end."""

    FINDING = "finding"
    READING = "reading"
    SENDING = "sending"
    ENDED = "ended"


class DroppedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of a message, which becomes the object `key`; `pieces` are those that were read."""

    id: str
    name: str
    key: str
    size: int
    pieces: tuple[Piece, ...] = ()

    @property
    def listed(self) -> ListedFile:
        """The file as a push lists it; it is complete once every piece was read."""
        return ListedFile(self.key, self.size, self.pieces)

    @property
    def is_read(self) -> bool:
        """Whether the checksums of all of it are known."""
        return len(self.pieces) == len(self.listed.sizes)


class Drop(SQLModel, table=True):
    """The files of a Slack message, on their way into the push of the same id.

    The service writes the first block once, the controller the rest. `ts` is the message, in the
    thread `thread_ts`, which is the message itself outside threads. `files` are those found, with
    their checksums as far as they were read. `turns` counts the listings that were sent; `missing`
    counts the pieces that the last answer asked for, no fewer than before for `idle` answers.
    `reason`, `unblock` and `keys` say why it failed; the push then fails with the same words.
    """

    __tablename__: ClassVar[Any] = "dataset_drops"

    id: str = Field(primary_key=True)
    workspace_id: str
    channel: str
    ts: str
    thread_ts: str
    asked_at: datetime = Field(sa_type=Moment)

    phase: str = DropPhase.FINDING
    files: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    turns: int = 0
    listed_at: datetime | None = Field(default=None, sa_type=Moment)
    missing: int | None = None
    idle: int = 0
    reason: str = ""
    unblock: str = ""
    keys: list[str] = Field(default_factory=list, sa_type=JSON)
    trouble: str = ""
    is_cleared: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.phase != DropPhase.ENDED

    @property
    def found(self) -> tuple[DroppedFile, ...]:
        """Its files."""
        return files_of(self.files)

    @property
    def subject(self) -> Subject:
        """What its messages are about: the push."""
        return Subject(self.workspace_id, PUSH, self.id)


def files_of(kept: Sequence[Mapping[str, Any]]) -> tuple[DroppedFile, ...]:
    """The files that a row has kept."""
    return msgspec.convert(kept, tuple[DroppedFile, ...])


def kept(files: Sequence[DroppedFile]) -> list[dict[str, Any]]:
    """The files as a row keeps them."""
    found: list[dict[str, Any]] = msgspec.to_builtins(files)
    return found
