"""What the root of a run says of the run, so that a lost row can be written again."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from bot.cluster import records
from bot.cluster.records import Name, Text
from bot.cluster.types.objects import ClusterObject
from bot.slack.grammar.parameters import RunName
from bot.training.tables import Run

_NAME = rf"^{RunName.rule.pattern}\Z"


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What only the row of a run says: the rest is in the labels of its root."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME)]
    number: Annotated[int, msgspec.Meta(ge=1, le=999_999)]
    channel: Text
    queue: Name
    asked_at: datetime
    spec: dict[str, Any]


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
_DECODER = msgspec.json.Decoder(RunRecord)


def recorded(run: Run) -> str:
    """The annotation of a new root."""
    return records.recorded(
        RunRecord(
            name=run.name,
            number=run.number,
            channel=run.channel,
            queue=run.queue,
            asked_at=run.asked_at,
            spec=run.spec,
        )
    )


def record_of(root: ClusterObject) -> RunRecord | None:
    """What the annotation of a root says; None if it has none that can be read."""
    record = records.record_of(root, _DECODER)
    return record if record is not None and records.is_moment(record.asked_at) else None
