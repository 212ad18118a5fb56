"""How Trident puts a volume back to what its newest snapshot shows, or says why it does not."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.control.contents import Contents, handle_of
from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.snapshot_checks import claim_name
from playground.cluster.control.sources import content_of, source_of
from playground.cluster.control.trident import DRIVER
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import CLAIM, POD, SNAPSHOT_ACTION, VOLUME_SNAPSHOT, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.storage_rules import claims_of, volume_of
from playground.cluster.objects.store import Change, Key

BEGINS_SECONDS, TAKES_SECONDS = 1.0, 5.0
# How long ONTAP takes to split a clone off, once somebody has asked for that.
SPLIT_SECONDS = 30.0
_SPLIT = "trident.netapp.io/splitOnClone"
_FINAL = {"Succeeded", "Failed"}


class SnapshotActions:
    """Puts volumes back; it begins nothing while it `sleeps`."""

    def __init__(self, world: World, contents: Contents) -> None:
        self._world = world
        self._contents = contents
        self.sleeps = False

    def wants(self, change: Change) -> Iterable[Key]:
        """Actions that changed."""
        if change.kind == SNAPSHOT_ACTION.qualified:
            yield change.key

    def retry(self) -> None:
        """Looks at all actions again, after it slept."""
        for each in list(self._world.store.all(SNAPSHOT_ACTION)):
            metadata = each["metadata"]
            self._world.loop.mark(self, (metadata["namespace"], metadata["name"]))

    def reconcile(self, key: Key) -> None:
        """Takes an action one look further."""
        action = self._world.store.get(SNAPSHOT_ACTION, *key)
        state = ((action or {}).get("status") or {}).get("state", "")
        if action is None or state in _FINAL or (self.sleeps and not state):
            return
        begun = action["status"]["startTime"] if state else action["metadata"]["creationTimestamp"]
        due = moment_of(begun) + seconds(TAKES_SECONDS if state else BEGINS_SECONDS)
        if self._world.now < due:
            self._world.loop.wake(self, key, due)
        elif not state:
            self._say(key, state="In progress", startTime=stamp(self._world.now))
            self._world.loop.mark(self, key)
        else:
            self._finish(key, action)

    def _finish(self, key: Key, action: Object) -> None:
        spec, done = action["spec"], stamp(self._world.now)
        problem = self._problem(key[0], spec["pvcName"], spec["volumeSnapshotName"])
        if problem:
            self._say(key, state="Failed", message=problem, completionTime=done)
            return
        store = self._world.store
        claim = store.get(CLAIM, key[0], spec["pvcName"])
        volume = volume_of(store, claim) if claim is not None else None
        snapshot = store.get(VOLUME_SNAPSHOT, key[0], spec["volumeSnapshotName"])
        content = content_of(store, snapshot) or {}
        handle = handle_of(volume) if volume is not None else ""
        self._contents.drop(handle)
        self._contents.copy(content["status"]["snapshotHandle"], handle)
        self._say(key, state="Succeeded", completionTime=done)

    def _problem(self, space: str, pvc: str, name: str) -> str:
        """Why Trident refuses, in its words; empty if it does not."""
        store = self._world.store
        claim = store.get(CLAIM, space, pvc)
        if claim is None:
            return f'persistentvolumeclaims "{pvc}" not found'
        volume = volume_of(store, claim)
        if volume is None:
            return f"PVC {space}/{pvc} is not bound to a PV"
        if volume["spec"].get("csi", {}).get("driver") != DRIVER:
            return f"PV {volume['metadata']['name']} is not a Trident volume"
        mine = [each for each in store.all(VOLUME_SNAPSHOT, space) if claim_name(each) == pvc]
        own = next((each for each in mine if each["metadata"]["name"] == name), None)
        if own is None or not (own.get("status") or {}).get("readyToUse"):
            return f"volume snapshot {name} is not ready to use"
        if any(_moment(each) > _moment(own) for each in mine):
            return f"volume snapshot {name} is not the newest snapshot of PVC {space}/{pvc}"
        if any(self._is_published(each, pvc) for each in store.all(POD, space)):
            return "cannot restore attached volume to snapshot"
        if any(self._depends(each, pvc, own) for each in store.all(CLAIM, space)):
            return (
                "failed to restore volume: Snapshot copy is busy because one or more FlexClone"
                " volumes depend on a newer one"
            )
        return ""

    def _depends(self, claim: Object, pvc: str, snapshot: Object) -> bool:
        """Whether a clone has blocks of what the volume held after a snapshot."""
        source, metadata = source_of(claim) or {}, claim["metadata"]
        if (source.get("kind"), source.get("name")) != (CLAIM.kind, pvc):
            return False
        made = moment_of(metadata["creationTimestamp"])
        if volume_of(self._world.store, claim) is None or made < moment_of(_moment(snapshot)):
            return False
        is_asked = (metadata.get("annotations") or {}).get(_SPLIT) == "true"
        return not is_asked or self._world.now < made + seconds(SPLIT_SECONDS)

    def _is_published(self, pod: Object, pvc: str) -> bool:
        is_placed = bool(pod["spec"].get("nodeName")) and not is_ended(pod)
        return is_placed and pvc in {name for _, name in claims_of(pod)}

    def _say(self, key: Key, **status: Any) -> None:
        self._world.change(
            SNAPSHOT_ACTION, key, lambda obj: obj.setdefault("status", {}).update(status)
        )


def _moment(snapshot: Object) -> str:
    moment: str = (snapshot.get("status") or {}).get("creationTime") or "9999"
    return moment
