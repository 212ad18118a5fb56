"""What an object of ours says of its row, in an annotation, so that a lost row can be written."""

from datetime import UTC, datetime
from typing import Annotated, TypeVar

import msgspec

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject

# People who may create objects in a namespace may have written a record, so that values which a
# database cannot store are none.
Name = Annotated[str, msgspec.Meta(max_length=253, pattern=r"^[A-Za-z0-9._-]*\Z")]
Text = Annotated[str, msgspec.Meta(max_length=10_000)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_NUL = "\\u0000"
_EARLIEST, _LATEST = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)

T = TypeVar("T")


def recorded(record: msgspec.Struct) -> str:
    """The value of the annotation."""
    return msgspec.json.encode(record).decode()


def record_of(found: ClusterObject, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """What the annotation of an object says; None if it has none that can be read."""
    text = found.metadata.annotations.get(labels.RECORD, "")
    if _NUL in text:
        return None
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def is_moment(moment: datetime) -> bool:
    """Whether it is a moment that can be calculated with."""
    return moment.tzinfo is not None and _EARLIEST < moment < _LATEST
