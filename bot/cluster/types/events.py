"""Events of a cluster: what its components say happened."""

from datetime import datetime

from msgspec.structs import force_setattr

from bot.cluster.types.objects import ClusterObject, ObjectPart
from bot.masking import without_mentions


class ObjectReference(ObjectPart, frozen=True, kw_only=True):
    """What an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(ObjectPart, frozen=True, kw_only=True):
    """An event that keeps happening."""

    count: int = 0
    last_observed_time: datetime | None = None


class Event(ClusterObject, frozen=True, kw_only=True):
    """Something that happened to an object, in the words of the component that saw it."""

    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    reporting_component: str = ""
    series: EventSeries | None = None

    def __post_init__(self) -> None:
        """Takes what would be a mention out of its words."""
        if "<" in self.message:
            force_setattr(self, "message", without_mentions(self.message))

    @property
    def last_seen(self) -> datetime | None:
        """When it happened last; the three places where Kubernetes writes it are one here."""
        series = self.series.last_observed_time if self.series else None
        return series or self.last_timestamp or self.event_time or self.metadata.creation_timestamp
