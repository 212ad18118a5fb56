"""What the root of a run says of the run, so that a lost row can be written again."""

from datetime import datetime
from typing import Any

import msgspec

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject
from bot.training.tables import Run


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What only the row of a run says: the rest is in the labels of its root."""

    name: str
    number: int
    channel: str
    queue: str
    asked_at: datetime
    spec: dict[str, Any]


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
_DECODER = msgspec.json.Decoder(RunRecord)


def recorded(run: Run) -> str:
    """The annotation of a new root."""
    record = RunRecord(
        name=run.name,
        number=run.number,
        channel=run.channel,
        queue=run.queue,
        asked_at=run.asked_at,
        spec=run.spec,
    )
    return msgspec.json.encode(record).decode()


def record_of(root: ClusterObject) -> RunRecord | None:
    """What the annotation of a root says; None if it has none that can be read."""
    try:
        record = _DECODER.decode(root.metadata.annotations.get(labels.RECORD, ""))
    except msgspec.DecodeError:
        return None
    return record if record.asked_at.tzinfo is not None else None
