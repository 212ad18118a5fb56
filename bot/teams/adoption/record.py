"""What the objects of a team that was created in Slack say of it, so that it is known again."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from bot.cluster import records
from bot.cluster.records import Name
from bot.cluster.types.objects import ClusterObject
from bot.teams.tables import TeamChange

_MOST = 50


class RecordedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the team, as its row keeps it."""

    kind: Name
    name: Name
    namespace: Name | None
    body: dict[str, Any]


class TeamRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A team: what quartermaster.yaml would say of it, and the objects that were made for it."""

    said: dict[str, Any]
    objects: Annotated[tuple[RecordedObject, ...], msgspec.Meta(min_length=1, max_length=_MOST)]
    change_id: Name
    asked_at: datetime

    def agrees(self, other: "TeamRecord | None") -> bool:
        """Whether another says the same of the team, whichever request that was made for.

        A request that is repeated after a failure uses the objects of the one before.
        """
        return other is not None and (self.said, self.objects) == (other.said, other.objects)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
_DECODER = msgspec.json.Decoder(TeamRecord)


def recorded(row: TeamChange) -> str:
    """The annotation of each object that is made for a new team."""
    objects = tuple(RecordedObject(**each) for each in row.objects)
    return records.recorded(
        TeamRecord(said=row.said, objects=objects, change_id=row.id, asked_at=row.asked_at)
    )


def record_of(found: ClusterObject) -> TeamRecord | None:
    """What the annotation says; None if there is none that can be read."""
    said = records.record_of(found, _DECODER)
    return said if said is not None and records.is_moment(said.asked_at) else None
