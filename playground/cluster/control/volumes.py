"""Volumes, which stay or go when the claims they were made for are gone."""

from collections.abc import Iterable

from playground.cluster.control.world import World
from playground.cluster.objects.kinds import CLAIM, VOLUME
from playground.cluster.objects.storage_rules import VOLUME_PROTECTION
from playground.cluster.objects.store import Change, Key


class Volumes:
    """Lets volumes go, or keeps them, when their claims are gone."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Volumes that changed, and those of claims that are gone."""
        if change.kind == VOLUME.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == CLAIM.qualified and change.type == "DELETED":
            yield ("", change.obj["spec"].get("volumeName") or "")

    def reconcile(self, key: Key) -> None:
        """Says whether a volume is free, taken or left over, and removes what nobody needs."""
        volume = self._world.store.get(VOLUME, *key)
        if volume is None:
            return
        owner = volume["spec"].get("claimRef") or {}
        gone = bool(owner.get("uid")) and owner["uid"] not in self._world.store.uids
        if volume["metadata"].get("deletionTimestamp"):
            if gone or not owner:
                self._world.deletion.drop_finalizer(VOLUME, key, VOLUME_PROTECTION)
        elif gone and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._world.deletion.delete(VOLUME, key)
        else:
            phase = "Released" if gone else "Bound" if owner.get("uid") else "Available"
            self._world.change(VOLUME, key, lambda obj: obj.update(status={"phase": phase}))
