"""What controllers share: the objects, the time, and a place to record events."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from playground.cluster.control.loop import Loop
from playground.cluster.objects.deletion import Deletion
from playground.cluster.objects.kinds import EVENT, Kind, Object
from playground.cluster.objects.operations import Operations, stamp
from playground.cluster.objects.store import Key, Store

EVENT_LIFE = timedelta(hours=1)


@dataclass
class World:
    """The inside of the cluster, as controllers see it."""

    store: Store
    operations: Operations
    deletion: Deletion
    loop: Loop
    _recorded: deque[tuple[datetime, Key]] = field(default_factory=deque)
    _known: dict[tuple[str, str, str], Key] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        """The moment the loop has come to."""
        return self.loop.present

    def change(self, kind: Kind, key: Key, edit: Callable[[Object], None]) -> Object | None:
        """Edits an object in place of its controller; nothing if it is gone."""
        obj = self.store.edit(kind, *key)
        if obj is None:
            return None
        edit(obj)
        return self.store.put(kind, obj)

    def record(
        self, kind: Kind, obj: Object, why: tuple[str, str], source: str, *, warning: bool = False
    ) -> None:
        """Records an event with (reason, message); the same one again is counted."""
        self._expire()
        uid = obj["metadata"]["uid"]
        known = self._known.get((uid, *why))
        if known is not None and self.store.get(EVENT, *known) is not None:
            self.change(EVENT, known, self._again)
            return
        event = self._event(kind, obj, why, source)
        event["type"] = "Warning" if warning else "Normal"
        key = (event["metadata"]["namespace"], event["metadata"]["name"])
        self.store.put(EVENT, event)
        self._known[uid, *why] = key
        self._recorded.append((self.now, key))

    def _again(self, event: Object) -> None:
        event["count"] += 1
        event["lastTimestamp"] = stamp(self.now)

    def _event(self, kind: Kind, obj: Object, why: tuple[str, str], source: str) -> Object:
        metadata = obj["metadata"]
        space = metadata.get("namespace", "default")
        tail = f"{self.operations.random.getrandbits(64):016x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name']}.{tail}",
                "namespace": space,
                "uid": self.operations.uid(),
                "creationTimestamp": stamp(self.now),
            },
            "involvedObject": {
                "kind": kind.kind,
                "namespace": metadata.get("namespace"),
                "name": metadata["name"],
                "uid": metadata["uid"],
                "apiVersion": kind.api_version,
                "resourceVersion": metadata.get("resourceVersion", "0"),
            },
            "reason": why[0],
            "message": why[1][:1024],
            "source": {"component": source},
            "firstTimestamp": stamp(self.now),
            "lastTimestamp": stamp(self.now),
            "count": 1,
            "eventTime": None,
            "reportingComponent": source,
            "reportingInstance": "",
        }

    def _expire(self) -> None:
        while self._recorded and self._recorded[0][0] + EVENT_LIFE < self.now:
            _, key = self._recorded.popleft()
            event = self.store.remove(EVENT, key)
            if event is not None:
                uid = event["involvedObject"]["uid"]
                self._known.pop((uid, event["reason"], event["message"]), None)
