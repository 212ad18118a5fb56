"""Garbage collection, namespaces that end, and definitions that come into force."""

from collections.abc import Iterable
from datetime import datetime

from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import set_condition
from playground.cluster.objects.deletion import FOREGROUND, DeleteOptions
from playground.cluster.objects.kinds import (
    CONFIG_MAP,
    CRD,
    NAMESPACE,
    SERVICE_ACCOUNT,
    Kind,
    Object,
)
from playground.cluster.objects.store import Change, Key, key_of, owner_uids

NAMESPACE_SECONDS = 1
CRD_SECONDS = 0.5


class Collector:
    """Deletes what owners leave behind; keys are (kind of the owner or "", uid or name)."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Owners that are gone or wait for what they own."""
        metadata = change.obj["metadata"]
        if change.type == "DELETED":
            yield ("gone", metadata["uid"])
            for uid in owner_uids(change.obj):
                yield ("check", uid)
        elif FOREGROUND in metadata.get("finalizers", ()) and metadata.get("deletionTimestamp"):
            yield ("check", metadata["uid"])
        elif change.type == "ADDED" and "ownerReferences" in metadata:
            for uid in owner_uids(change.obj):
                if uid not in self._world.store.uids:
                    yield ("gone", uid)

    def reconcile(self, key: Key) -> None:
        """Collects what an owner left, or lets an owner go that waited for it."""
        what, uid = key
        if what == "gone":
            self._world.deletion.collect(uid)
            return
        owner = self._waiting(uid)
        if owner is None:
            return
        kind, obj = owner
        owned = self._world.store.owned_by(uid)
        for name, dependent in owned:
            if not dependent["metadata"].get("deletionTimestamp"):
                options = DeleteOptions("Background")
                self._world.deletion.delete(self._kind(name), key_of(dependent), options)
        if not any(_blocks(dependent, uid) for _, dependent in self._world.store.owned_by(uid)):
            self._world.deletion.drop_finalizer(kind, key_of(obj), FOREGROUND)

    def _waiting(self, uid: str) -> tuple[Kind, Object] | None:
        found = self._world.store.of_uid(uid)
        if found is None or FOREGROUND not in found[1]["metadata"].get("finalizers", ()):
            return None
        return self._kind(found[0]), found[1]

    def _kind(self, name: str) -> Kind:
        return next(kind for kind in self._world.operations.kinds if kind.qualified == name)


def _blocks(dependent: Object, uid: str) -> bool:
    owners = dependent["metadata"]["ownerReferences"]
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)


class Namespaces:
    """Fills new namespaces, and empties those that end before they go."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Namespaces that changed, or that end and lost an object."""
        if change.kind == NAMESPACE.qualified:
            if change.type != "DELETED":
                yield change.key
        elif change.type == "DELETED" and change.key[0]:
            space = self._world.store.get(NAMESPACE, "", change.key[0])
            if space is not None and space["status"]["phase"] == "Terminating":
                yield ("", change.key[0])

    def reconcile(self, key: Key) -> None:
        """Fills a namespace, or empties it and lets it go a moment later."""
        space = self._world.store.get(NAMESPACE, *key)
        if space is None:
            return
        if space["status"]["phase"] != "Terminating":
            self._fill(key[1])
            return
        left = list(self._world.store.in_namespace(key[1]))
        for name, obj in left:
            if not obj["metadata"].get("deletionTimestamp"):
                kind = next(k for k in self._world.operations.kinds if k.qualified == name)
                self._world.deletion.delete(kind, key_of(obj), DeleteOptions("Background"))
        ready = moment_of(space["metadata"]["deletionTimestamp"]) + seconds(NAMESPACE_SECONDS)
        if self._world.now < ready:
            self._world.loop.wake(self, key, ready)
        elif not any(self._world.store.in_namespace(key[1])):
            self._world.store.remove(NAMESPACE, key)

    def _fill(self, name: str) -> None:
        for kind, wanted in ((SERVICE_ACCOUNT, "default"), (CONFIG_MAP, "kube-root-ca.crt")):
            if self._world.store.get(kind, name, wanted) is None:
                self._world.operations.create(kind, name, {"metadata": {"name": wanted}})


class Definitions:
    """Serves custom kinds some moments after their definitions appear, as a real server does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[Key, datetime] = {}

    def wants(self, change: Change) -> Iterable[Key]:
        """Definitions that changed or went."""
        if change.kind == CRD.qualified:
            if change.type == "DELETED":
                self._seen.pop(change.key, None)
                spec = change.obj["spec"]
                self._world.operations.kinds.forget(spec["group"], spec["names"]["plural"])
            else:
                yield change.key

    def reconcile(self, key: Key) -> None:
        """Establishes a definition when its time has come."""
        definition = self._world.store.get(CRD, *key)
        if definition is None:
            return
        ready = self._seen.setdefault(key, self._world.now) + seconds(CRD_SECONDS)
        if self._world.now < ready:
            self._world.loop.wake(self, key, ready)
            return
        self._world.operations.kinds.define(definition)
        self._world.change(CRD, key, self._establish)

    def _establish(self, obj: Object) -> None:
        names = obj["spec"]["names"]
        obj["status"]["acceptedNames"] = dict(names)
        obj["status"]["storedVersions"] = [
            v["name"] for v in obj["spec"]["versions"] if v.get("storage")
        ]
        for kind, why in (
            ("NamesAccepted", ("NoConflicts", "no conflicts found")),
            ("Established", ("InitialNamesAccepted", "the initial names have been accepted")),
        ):
            set_condition(obj, kind, status=True, why=why, now=self._world.now)
