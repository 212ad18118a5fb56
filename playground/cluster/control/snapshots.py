"""Snapshots of volumes: what the snapshot controller and the sidecar of a driver make of them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from playground.cluster.control.claims import SECONDS
from playground.cluster.control.contents import Contents, handle_of
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.snapshot_checks import (
    PREFIX,
    ProblemError,
    claim_name,
    claim_of,
    class_of,
)
from playground.cluster.control.sources import content_of, source_of
from playground.cluster.control.static_contents import bind_content, named_content
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import (
    CLAIM,
    VOLUME_SNAPSHOT,
    VOLUME_SNAPSHOT_CLASS,
    VOLUME_SNAPSHOT_CONTENT,
    Object,
)
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.storage_rules import volume_of
from playground.cluster.objects.store import Change, Key, key_of

SOURCE = "snapshot-controller"
BOUND = f"{PREFIX}volumesnapshot-bound-protection"
AS_SOURCE = f"{PREFIX}volumesnapshot-as-source-protection"
CONTENT_BOUND = f"{PREFIX}volumesnapshotcontent-bound-protection"
CLAIM_AS_SOURCE = f"{PREFIX}pvc-as-source-protection"
USUAL_SECONDS, BEGINS_SECONDS, RETRY_SECONDS, GOES_SECONDS = 5.0, 1.0, 10.0, 1.0


class Snapshots:
    """Takes snapshots, and lets them go.

    `failures` are what drivers answer instead of taking a snapshot, by snapshot class, and
    `kept` what they answer instead of deleting one.
    """

    def __init__(self, world: World, contents: Contents) -> None:
        self._world = world
        self._contents = contents
        self.failures: dict[str, str] = {}
        self.kept: dict[str, str] = {}

    def wants(self, change: Change) -> Iterable[Key]:
        """Snapshots that changed, and those that a class, a claim or a content concerns."""
        if change.kind == VOLUME_SNAPSHOT.qualified:
            yield change.key
        elif change.kind == VOLUME_SNAPSHOT_CLASS.qualified:
            yield from (key_of(each) for each in self._world.store.all(VOLUME_SNAPSHOT))
        elif change.kind == VOLUME_SNAPSHOT_CONTENT.qualified:
            reference = change.obj["spec"]["volumeSnapshotRef"]
            yield reference["namespace"], reference["name"]
        elif change.kind == CLAIM.qualified:
            source = source_of(change.obj) or {}
            for each in self._world.store.all(VOLUME_SNAPSHOT, change.key[0]):
                if change.key[1] == claim_name(each) or source.get("name") == key_of(each)[1]:
                    yield key_of(each)

    def retry(self) -> None:
        """Looks at all snapshots again, after a driver was mended."""
        for each in list(self._world.store.all(VOLUME_SNAPSHOT)):
            self._world.loop.mark(self, key_of(each))

    def reconcile(self, key: Key) -> None:
        """Takes a snapshot one look further."""
        snapshot = self._world.store.get(VOLUME_SNAPSHOT, *key)
        if snapshot is None:
            self._world.loop.wake(self, key, None)
        elif snapshot["metadata"].get("deletionTimestamp"):
            self._let_go(key, snapshot)
        elif not (snapshot.get("status") or {}).get("readyToUse"):
            snapshot = self._world.change(VOLUME_SNAPSHOT, key, _protect) or snapshot
            try:
                if named_content(snapshot):
                    bind_content(self._world, key, snapshot)
                else:
                    self._take(key, snapshot)
            except ProblemError as error:
                self._fail(key, snapshot, *error.args)

    def _take(self, key: Key, snapshot: Object) -> None:
        """Binds a content after a moment, and is ready when the driver is."""
        kind = self._class(snapshot)
        claim = claim_of(self._world.store, snapshot)
        claim = self._world.change(CLAIM, key_of(claim), _hold) or claim
        begins = moment_of(snapshot["metadata"]["creationTimestamp"]) + seconds(BEGINS_SECONDS)
        if self._world.now < begins:
            self._world.loop.wake(self, key, begins)
            return
        content = content_of(self._world.store, snapshot)
        if content is None:
            content = self._bind(key, snapshot, kind, claim)
        problem = self.failures.get(kind["metadata"]["name"])
        if problem and not content.get("status"):
            words = f"failed to take snapshot of the volume {content['spec']['source']}"
            doing = "Failed to check and update snapshot content"
            raise ProblemError(
                "SnapshotContentCheckandUpdateFailed", f'{doing}: {words}: "{problem}"'
            )
        if not content.get("status"):
            content = self._cut(key, content, claim)
        takes = (kind.get("parameters") or {}).get(SECONDS)
        ready = _cut_at(content) + seconds(USUAL_SECONDS if takes is None else float(takes))
        if self._world.now < ready:
            self._world.loop.wake(self, key, ready)
            return
        self._ready(key, content)

    def _class(self, snapshot: Object) -> Object:
        """The class of a snapshot; the driver's default one is written into it."""
        kind = class_of(self._world.store, snapshot)
        name = kind["metadata"]["name"]
        if snapshot["spec"].get("volumeSnapshotClassName") != name:
            named = {"volumeSnapshotClassName": name}
            self._world.change(
                VOLUME_SNAPSHOT, key_of(snapshot), lambda obj: obj["spec"].update(named)
            )
        return kind

    def _bind(self, key: Key, snapshot: Object, kind: Object, claim: Object) -> Object:
        """The content of a snapshot, made for it; the snapshot says so, and no more yet."""
        volume = volume_of(self._world.store, claim) or {}
        name = f"snapcontent-{snapshot['metadata']['uid']}"
        reference = {
            "apiVersion": VOLUME_SNAPSHOT.api_version,
            "kind": VOLUME_SNAPSHOT.kind,
            "namespace": key[0],
            "name": key[1],
            "uid": snapshot["metadata"]["uid"],
        }
        body = {
            "metadata": {"name": name, "finalizers": [CONTENT_BOUND]},
            "spec": {
                "deletionPolicy": kind["deletionPolicy"],
                "driver": kind["driver"],
                "source": {"volumeHandle": volume["spec"]["csi"]["volumeHandle"]},
                "sourceVolumeMode": "Filesystem",
                "volumeSnapshotClassName": kind["metadata"]["name"],
                "volumeSnapshotRef": reference,
            },
        }
        self._world.operations.create(VOLUME_SNAPSHOT_CONTENT, "", body)
        words = f"Waiting for a snapshot {key[0]}/{key[1]} to be created by the CSI driver."
        self._world.record(VOLUME_SNAPSHOT, snapshot, ("CreatingSnapshot", words), SOURCE)
        status = {"boundVolumeSnapshotContentName": name, "readyToUse": False}
        self._world.change(VOLUME_SNAPSHOT, key, lambda obj: obj.update(status=status))
        return self._world.store.get(VOLUME_SNAPSHOT_CONTENT, "", name) or {}

    def _cut(self, key: Key, content: Object, claim: Object) -> Object:
        """The moment that the snapshot shows: what is written later is not in it."""
        volume = volume_of(self._world.store, claim) or {}
        handle = f"snapshot-{content['spec']['volumeSnapshotRef']['uid']}"
        self._contents.copy(handle_of(volume), handle)
        now = self._world.now
        size = volume["spec"]["capacity"]["storage"]
        status = {
            "snapshotHandle": handle,
            "creationTime": int(now.timestamp()) * 10**9,
            "readyToUse": False,
            "restoreSize": size,
        }
        self._world.change(VOLUME_SNAPSHOT, key, lambda obj: _shown(obj, stamp(now), size, content))
        return (
            self._world.change(
                VOLUME_SNAPSHOT_CONTENT, key_of(content), lambda obj: obj.update(status=status)
            )
            or content
        )

    def _ready(self, key: Key, content: Object) -> None:
        done = self._world.change(
            VOLUME_SNAPSHOT, key, lambda obj: obj["status"].update(readyToUse=True)
        )
        self._world.change(
            VOLUME_SNAPSHOT_CONTENT,
            key_of(content),
            lambda obj: obj["status"].update(readyToUse=True),
        )
        if done is not None:
            words = f"Snapshot {key[0]}/{key[1]} is ready to use."
            self._world.record(VOLUME_SNAPSHOT, done, ("SnapshotReady", words), SOURCE)
            self._release((key[0], claim_name(done)))

    def _fail(self, key: Key, snapshot: Object, reason: str, message: str) -> None:
        """Says what went wrong, and tries again."""
        self._world.record(VOLUME_SNAPSHOT, snapshot, (reason, message), SOURCE, warning=True)
        error = {"message": message, "time": stamp(self._world.now)}

        def tell(obj: Object) -> None:
            status = obj.setdefault("status", {})
            if (status.get("error") or {}).get("message") != message:
                status["error"] = error
            status["readyToUse"] = False

        self._world.change(VOLUME_SNAPSHOT, key, tell)
        # The longer it has failed, the longer the controller waits.
        asked = moment_of(snapshot["metadata"]["creationTimestamp"])
        wait = max(seconds(RETRY_SECONDS), (self._world.now - asked) / 4)
        self._world.loop.wake(self, key, self._world.now + wait)

    def _let_go(self, key: Key, snapshot: Object) -> None:
        """Deletes what the store has, as the class says, unless a claim is being made of it."""
        store, content = self._world.store, content_of(self._world.store, snapshot)
        waiting = (
            each
            for each in store.all(CLAIM, key[0])
            if not each["spec"].get("volumeName") and (source_of(each) or {}).get("name") == key[1]
        )
        if next(waiting, None) is not None:
            return
        goes = moment_of(snapshot["metadata"]["deletionTimestamp"]) + seconds(GOES_SECONDS)
        if self._world.now < goes:
            self._world.loop.wake(self, key, goes)
            return
        if content is not None and content["spec"]["deletionPolicy"] == "Delete":
            problem = self.kept.get(content["spec"]["volumeSnapshotClassName"])
            if problem:
                self._world.loop.wake(self, key, self._world.now + seconds(RETRY_SECONDS))
                return
            self._contents.drop((content.get("status") or {}).get("snapshotHandle", "none"))
            self._world.deletion.delete(VOLUME_SNAPSHOT_CONTENT, key_of(content))
            self._world.deletion.drop_finalizer(
                VOLUME_SNAPSHOT_CONTENT, key_of(content), CONTENT_BOUND
            )
        for finalizer in (AS_SOURCE, BOUND):
            self._world.deletion.drop_finalizer(VOLUME_SNAPSHOT, key, finalizer)
        self._release((key[0], claim_name(snapshot)))

    def _release(self, key: Key) -> None:
        """Lets a claim go that no snapshot is being taken of any more."""
        others = (
            each
            for each in self._world.store.all(VOLUME_SNAPSHOT, key[0])
            if claim_name(each) == key[1] and not (each.get("status") or {}).get("readyToUse")
        )
        if next(others, None) is None:
            self._world.deletion.drop_finalizer(CLAIM, key, CLAIM_AS_SOURCE)


def _cut_at(content: Object) -> datetime:
    return datetime.fromtimestamp(content["status"]["creationTime"] / 10**9, tz=UTC)


def _protect(snapshot: Object) -> None:
    kept = snapshot["metadata"].setdefault("finalizers", [])
    kept += [each for each in (AS_SOURCE, BOUND) if each not in kept]


def _hold(claim: Object) -> None:
    kept = claim["metadata"].setdefault("finalizers", [])
    kept += [each for each in (CLAIM_AS_SOURCE,) if each not in kept]


def _shown(snapshot: Object, moment: str, size: Any, content: Object) -> None:
    snapshot["status"] = {
        "boundVolumeSnapshotContentName": content["metadata"]["name"],
        "creationTime": moment,
        "readyToUse": False,
        "restoreSize": size,
    }
