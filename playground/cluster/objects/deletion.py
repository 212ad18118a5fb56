"""Deleting: preconditions, grace, finalizers, and what becomes of the objects owned."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from playground.cluster.objects.errors import conflict
from playground.cluster.objects.kinds import JOB, NAMESPACE, POD, Kind, Object
from playground.cluster.objects.operations import Operations, stamp
from playground.cluster.objects.store import Key, copy_of, key_of

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
TRACKING = "batch.kubernetes.io/job-tracking"


@dataclass(frozen=True)
class DeleteOptions:
    """How a deletion is meant."""

    propagation: str | None = None
    grace_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False

    @classmethod
    def of(cls, body: Any) -> "DeleteOptions":
        """The options in the body of a request."""
        preconditions = body.get("preconditions") or {}
        orphan = "Orphan" if body.get("orphanDependents") else None
        return cls(
            body.get("propagationPolicy") or orphan,
            body.get("gracePeriodSeconds"),
            preconditions.get("uid"),
            preconditions.get("resourceVersion"),
            bool(body.get("dryRun")),
        )


class Deletion:
    """Deletes objects by the rules of the API server and its garbage collector.

    `guards` may refuse it, as webhooks and policies do that look at deletions.
    """

    def __init__(self, operations: Operations) -> None:
        self.guards: list[Callable[[Kind, Object], None]] = []
        self._operations = operations
        self._store = operations.store

    def delete(
        self, kind: Kind, key: Key, options: DeleteOptions | None = None
    ) -> tuple[Object, bool]:
        """The last state of the object, and whether it is gone at once."""
        options = options or DeleteOptions()
        obj = self._operations.get(kind, *key)
        _check(kind, obj, options)
        for guard in self.guards:
            guard(kind, obj)
        if options.dry_run:
            return obj, True
        added, dropped = _finalizers(kind, options.propagation)
        grace = _grace(kind, obj, options.grace_seconds)
        edited = self._store.edit(kind, *key) or obj
        metadata = edited["metadata"]
        kept = [f for f in metadata.get("finalizers", []) if f not in dropped]
        metadata["finalizers"] = kept + [f for f in added if f not in kept]
        if ORPHAN in metadata["finalizers"]:
            self._orphan(edited)
            metadata["finalizers"].remove(ORPHAN)
        if not metadata["finalizers"]:
            del metadata["finalizers"]
        if grace == 0 and not metadata.get("finalizers") and kind != NAMESPACE:
            return self._store.remove(kind, key) or obj, True
        self._mark(kind, edited, grace)
        return self._store.put(kind, edited), False

    def finish(self, kind: Kind, key: Key) -> None:
        """Confirms a graceful deletion, as the kubelet does for a stopped pod."""
        edited = self._store.edit(kind, *key)
        if edited is None:
            return
        edited["metadata"]["deletionGracePeriodSeconds"] = 0
        if edited["metadata"].get("finalizers"):
            self._store.put(kind, edited)
        else:
            self._store.remove(kind, key)

    def drop_finalizer(self, kind: Kind, key: Key, finalizer: str) -> None:
        """Takes one finalizer off; an object that waited for it alone is gone."""

        def without(obj: Object) -> Object:
            finalizers = [f for f in obj["metadata"].get("finalizers", ()) if f != finalizer]
            obj["metadata"]["finalizers"] = finalizers
            if not finalizers:
                del obj["metadata"]["finalizers"]
            return obj

        current = self._store.get(kind, *key)
        if current is not None and finalizer in current["metadata"].get("finalizers", ()):
            self._operations.patch(kind, key, without)

    def collect(self, uid: str) -> None:
        """Deletes in the background what an owner that is gone has left."""
        for name, obj in self._store.owned_by(uid):
            kind = self._kind(name)
            owners = obj["metadata"]["ownerReferences"]
            left = [owner for owner in owners if owner["uid"] != uid]
            if left:
                self._set_owners(kind, key_of(obj), left)
            elif not obj["metadata"].get("deletionTimestamp"):
                self.delete(kind, key_of(obj), DeleteOptions("Background"))

    def _orphan(self, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        for name, owned in self._store.owned_by(uid):
            left = [o for o in owned["metadata"]["ownerReferences"] if o["uid"] != uid]
            self._set_owners(self._kind(name), key_of(owned), left)

    def _set_owners(self, kind: Kind, key: Key, owners: list[Any]) -> None:
        entry = self._store.entry(kind.qualified, key)
        if entry is None:
            return
        edited = copy_of(entry)
        edited["metadata"]["ownerReferences"] = owners
        if not owners:
            del edited["metadata"]["ownerReferences"]
        self._store.put(kind, edited)

    def _mark(self, kind: Kind, edited: Object, grace: int) -> None:
        metadata = edited["metadata"]
        present = self._operations.present()
        if "deletionTimestamp" not in metadata and "generation" in metadata:
            metadata["generation"] += 1
        sooner = grace < metadata.get("deletionGracePeriodSeconds", grace + 1)
        if "deletionTimestamp" not in metadata or sooner:
            metadata["deletionTimestamp"] = stamp(present + timedelta(seconds=grace))
            metadata["deletionGracePeriodSeconds"] = grace
        if kind == NAMESPACE:
            edited["status"] = {**edited.get("status", {}), "phase": "Terminating"}

    def _kind(self, name: str) -> Kind:
        return next(kind for kind in self._operations.kinds if kind.qualified == name)


def _check(kind: Kind, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    if options.uid and options.uid != metadata["uid"]:
        why = (
            f"Precondition failed: UID in precondition: {options.uid}, "
            f"UID in object meta: {metadata['uid']}"
        )
        raise conflict(kind, metadata["name"], why)
    if options.resource_version and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {metadata['resourceVersion']}"
        )
        raise conflict(kind, metadata["name"], why)


def _finalizers(kind: Kind, propagation: str | None) -> tuple[list[str], list[str]]:
    """Finalizers a propagation policy adds and drops; Jobs of batch/v1 orphan by default."""
    policy = propagation or ("Orphan" if kind == JOB else "Background")
    added = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])
    return added, [f for f in (ORPHAN, FOREGROUND) if f not in added] if propagation else []


def _grace(kind: Kind, obj: Object, asked: int | None) -> int:
    if kind != POD:
        return 0
    over = obj.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    if not obj["spec"].get("nodeName") or over:
        return 0
    wanted = asked if asked is not None else obj["spec"].get("terminationGracePeriodSeconds", 30)
    return int(wanted)


def waits_for_jobs(obj: Object) -> bool:
    """Whether a pod is kept until its Job has counted it."""
    return TRACKING in obj["metadata"].get("finalizers", ())
