"""Deployments and ReplicaSets: as many pods as wanted, and how far a rollout is."""

from collections.abc import Iterable
from hashlib import sha256

import orjson

from playground.cluster.control.job_counts import is_active, is_ready
from playground.cluster.control.job_pods import owner_reference
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition, set_condition
from playground.cluster.objects.errors import ApiError
from playground.cluster.objects.kinds import DEPLOYMENT, POD, REPLICA_SET, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Change, Key, key_of

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
PATIENCE_SECONDS = 600
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_AVAILABLE = ("MinimumReplicasAvailable", "Deployment has minimum availability.")
_UNAVAILABLE = ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")


class ReplicaSets:
    """Keeps as many pods as each ReplicaSet wants."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """ReplicaSets that changed, and those of pods that did."""
        if change.kind == REPLICA_SET.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == POD.qualified:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == "ReplicaSet":
                    yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        """Creates or ends pods, and counts them."""
        wanted = self._world.store.get(REPLICA_SET, *key)
        if wanted is None or wanted["metadata"].get("deletionTimestamp"):
            return
        active = _pods(self._world, wanted)
        number = wanted["spec"].get("replicas", 1)
        for _ in range(number - len(active)):
            self._create(wanted)
        active.sort(key=lambda pod: (is_ready(pod), pod["metadata"]["creationTimestamp"]))
        for pod in active[: max(0, len(active) - number)]:
            self._world.deletion.delete(POD, key_of(pod))
            why = ("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
            self._world.record(REPLICA_SET, wanted, why, "replicaset-controller")
        now = _pods(self._world, wanted)
        ready = sum(map(is_ready, now))
        status = {
            "replicas": len(now),
            "fullyLabeledReplicas": len(now),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": wanted["metadata"]["generation"],
        }
        kept = {name: value for name, value in status.items() if value or name == "replicas"}
        self._world.change(REPLICA_SET, key, lambda obj: obj.update(status=kept))

    def _create(self, owner: Object) -> None:
        space, name = key_of(owner)
        template = owner["spec"]["template"]
        metadata = {
            **(template.get("metadata") or {}),
            "generateName": f"{name}-",
            "ownerReferences": [owner_reference(owner)],
        }
        body = {"metadata": metadata, "spec": template["spec"]}
        try:
            made = self._world.operations.create(POD, space, body)
        except ApiError as error:
            why = ("FailedCreate", f"Error creating: {error.message}")
            self._world.record(REPLICA_SET, owner, why, "replicaset-controller", warning=True)
            return
        why = ("SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        self._world.record(REPLICA_SET, owner, why, "replicaset-controller")


class Deployments:
    """Rolls out each Deployment through ReplicaSets."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Deployments that changed, and those of ReplicaSets that did."""
        if change.kind == DEPLOYMENT.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == REPLICA_SET.qualified:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        """Brings the ReplicaSets of a Deployment one look further, and tells how far they are."""
        wanted = self._world.store.get(DEPLOYMENT, *key)
        if wanted is None or wanted["metadata"].get("deletionTimestamp"):
            self._world.loop.wake(self, key, None)
            return
        tail = _hash(wanted["spec"]["template"])
        sets = self._sets(wanted)
        if not any(each["metadata"]["labels"][HASH] == tail for each in sets):
            self._create(wanted, tail, len(sets) + 1)
        current = next(s for s in self._sets(wanted) if s["metadata"]["labels"][HASH] == tail)
        number = wanted["spec"]["replicas"]
        self._scale(wanted, current, number)
        ready = current.get("status", {}).get("readyReplicas", 0)
        for old in self._sets(wanted):
            if old["metadata"]["labels"][HASH] != tail:
                keep = 0 if _recreates(wanted) else max(0, number - ready)
                self._scale(wanted, old, min(keep, old["spec"]["replicas"]))
        self._tell(key, wanted, tail)

    def _sets(self, wanted: Object) -> list[Object]:
        owned = self._world.store.owned_by(wanted["metadata"]["uid"], REPLICA_SET)
        return [each for _, each in owned]

    def _create(self, wanted: Object, tail: str, revision: int) -> None:
        space, name = key_of(wanted)
        spec, template = wanted["spec"], wanted["spec"]["template"]
        metadata = dict(template.get("metadata") or {})
        labels = {**(metadata.get("labels") or {}), HASH: tail}
        selector = {"matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH: tail}}
        body = {
            "metadata": {
                "name": f"{name}-{tail}",
                "labels": labels,
                "annotations": {REVISION: str(revision)},
                "ownerReferences": [owner_reference(wanted)],
            },
            "spec": {
                "replicas": 0,
                "selector": selector,
                "template": {**template, "metadata": {**metadata, "labels": labels}},
            },
        }
        self._world.operations.create(REPLICA_SET, space, body)

    def _scale(self, wanted: Object, one: Object, number: int) -> None:
        before = one["spec"]["replicas"]
        if before == number:
            return

        def edit(obj: Object) -> None:
            obj["spec"]["replicas"] = number
            obj["metadata"]["generation"] += 1

        self._world.change(REPLICA_SET, key_of(one), edit)
        way = "up" if number > before else "down"
        name = one["metadata"]["name"]
        words = f"Scaled {way} replica set {name} from {before} to {number}"
        self._world.record(
            DEPLOYMENT, wanted, ("ScalingReplicaSet", words), "deployment-controller"
        )

    def _tell(self, key: Key, wanted: Object, tail: str) -> None:
        sets = self._sets(wanted)
        rows = [each.get("status", {}) for each in sets]
        mine = next((s for s in sets if s["metadata"]["labels"][HASH] == tail), {})
        number = wanted["spec"]["replicas"]
        total, ready = (sum(r.get(n, 0) for r in rows) for n in ("replicas", "readyReplicas"))
        counts = {
            "replicas": total,
            "updatedReplicas": mine.get("status", {}).get("replicas", 0),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(0, number - ready),
        }
        done = total == number == ready == counts["updatedReplicas"]
        late = self._is_late(key, wanted, tail, done=done)
        before = condition(wanted, "Progressing")

        def edit(obj: Object) -> None:
            kept = {name: value for name, value in counts.items() if value}
            conditions = obj.get("status", {}).get("conditions", [])
            generation = obj["metadata"]["generation"]
            obj["status"] = {"observedGeneration": generation, **kept, "conditions": conditions}
            enough = ready >= number - number // 4
            why = _AVAILABLE if enough else _UNAVAILABLE
            set_condition(obj, "Available", status=enough, why=why, now=self._world.now)
            what = _progress(f"{key[1]}-{tail}", done=done, late=late)
            set_condition(obj, "Progressing", status=not late, why=what, now=self._world.now)
            for row in obj["status"]["conditions"]:
                row.setdefault("lastUpdateTime", row["lastTransitionTime"])
            row = condition(obj, "Progressing")
            if row is not None and before is not None and row["message"] != before["message"]:
                row["lastUpdateTime"] = stamp(self._world.now)

        self._world.change(DEPLOYMENT, key, edit)

    def _is_late(self, key: Key, wanted: Object, tail: str, *, done: bool) -> bool:
        """Whether this rollout does not get on; what was said of an earlier one does not count."""
        patience = wanted["spec"].get("progressDeadlineSeconds", PATIENCE_SECONDS)
        row = condition(wanted, "Progressing")
        if row is None or f'-{tail}"' not in row["message"]:
            row = {"lastUpdateTime": stamp(self._world.now)}
        end = moment_of(row["lastUpdateTime"]) + seconds(patience)
        if done or row.get("status") == "False":
            self._world.loop.wake(self, key, None)
            return not done
        self._world.loop.wake(self, key, end)
        return self._world.now >= end


def _pods(world: World, owner: Object) -> list[Object]:
    owned = world.store.owned_by(owner["metadata"]["uid"], POD)
    return [pod for _, pod in owned if is_active(pod)]


def _recreates(wanted: Object) -> bool:
    return bool((wanted["spec"].get("strategy") or {}).get("type") == "Recreate")


def _progress(name: str, *, done: bool, late: bool) -> tuple[str, str]:
    if done:
        return "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'
    if late:
        return "ProgressDeadlineExceeded", f'ReplicaSet "{name}" has timed out progressing.'
    return "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'


def _hash(template: Object) -> str:
    digest = sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:10])
