"""Volume claims: bound to volumes that fit, provisioned where their class says so, protected."""

from collections.abc import Iterable
from datetime import datetime

from playground.cluster.control.contents import Contents
from playground.cluster.control.growing import SOURCE, USUAL_SECONDS, Growers, Growing
from playground.cluster.control.loop import seconds
from playground.cluster.control.sources import Maker, attributes, fill, source_problem
from playground.cluster.control.trident import DRIVER
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import CLAIM, NODE, POD, STORAGE_CLASS, VOLUME, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.storage_rules import (
    CLAIM_PROTECTION,
    claims_of,
)
from playground.cluster.objects.store import Change, Key, key_of

PROVISIONER = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
# A class of the playground may say how long its provisioner takes.
SECONDS = "playground/seconds"
ZONE = "topology.kubernetes.io/zone"
_NO_CLASS = "no persistent volumes available for this claim and no storage class is set"


class Claims:
    """Binds claims; `failures` are what provisioners of some classes answer.

    `makers` are what drivers make volumes by.
    """

    def __init__(self, world: World, contents: Contents) -> None:
        self._world = world
        self._contents = contents
        self.failures: dict[str, str] = {}
        self.makers: dict[str, Maker] = {}
        self._growing = Growing(world)
        self._asked: dict[str, datetime] = {}

    def wants(self, change: Change) -> Iterable[Key]:
        """Claims that changed, unbound ones when room appears, those of pods that go."""
        if change.kind == CLAIM.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind in {STORAGE_CLASS.qualified, VOLUME.qualified}:
            yield from (key_of(c) for c in self._world.store.all(CLAIM) if not _bound(c))
        elif change.kind == POD.qualified:
            before = change.before["spec"].get("nodeName") if change.before else None
            if change.type != "MODIFIED" or before != change.obj["spec"].get("nodeName"):
                yield from ((change.key[0], name) for _, name in claims_of(change.obj))

    @property
    def growers(self) -> Growers:
        """What drivers do to make a volume larger, by the name of the driver."""
        return self._growing.growers

    def retry(self) -> None:
        """Looks at unbound claims again, after a provisioner was mended."""
        for claim in list(self._world.store.all(CLAIM)):
            if not _bound(claim):
                self._world.loop.mark(self, key_of(claim))

    def reconcile(self, key: Key) -> None:
        """Takes a claim one look further."""
        claim = self._world.store.get(CLAIM, *key)
        if claim is None:
            self._world.loop.wake(self, key, None)
        elif claim["metadata"].get("deletionTimestamp"):
            if not self._used(key):
                self._world.deletion.drop_finalizer(CLAIM, key, CLAIM_PROTECTION)
        elif _bound(claim):
            self._growing.reconcile(self, key, claim, used=self._used(key))
        else:
            self._bind(key, claim)

    def _used(self, key: Key) -> bool:
        return any(
            pod["spec"].get("nodeName") and key[1] in {name for _, name in claims_of(pod)}
            for pod in self._world.store.all(POD, key[0])
        )

    def _bind(self, key: Key, claim: Object) -> None:
        spec = claim["spec"]
        volume = self._fitting(claim)
        if volume is not None:
            self._join(key, volume)
            return
        name = spec.get("storageClassName") or ""
        if spec.get("volumeName"):
            return
        if not name:
            self._world.record(CLAIM, claim, ("FailedBinding", _NO_CLASS), SOURCE)
            return
        found = self._world.store.get(STORAGE_CLASS, "", name)
        if found is None:
            why = ("ProvisioningFailed", f'storageclass.storage.k8s.io "{name}" not found')
            self._world.record(CLAIM, claim, why, SOURCE, warning=True)
        elif self._waits_for_pod(claim, found):
            self._say_what_it_waits_for(key, claim)
        else:
            self._provision(key, claim, found)

    def _fitting(self, claim: Object) -> Object | None:
        """A volume nobody has claimed that fits, or the one the claim names."""
        spec = claim["spec"]
        wanted = spec.get("volumeName")
        found = [
            volume
            for volume in self._world.store.all(VOLUME)
            if wanted in {None, "", volume["metadata"]["name"]} and _fits(volume, claim)
        ]
        return min(
            found, key=lambda v: parse_quantity(v["spec"]["capacity"]["storage"]), default=None
        )

    def _waits_for_pod(self, claim: Object, storage_class: Object) -> bool:
        late = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        return late and SELECTED_NODE not in (claim["metadata"].get("annotations") or {})

    def _say_what_it_waits_for(self, key: Key, claim: Object) -> None:
        pods = sorted(
            pod["metadata"]["name"]
            for pod in self._world.store.all(POD, key[0])
            if not pod["spec"].get("nodeName") and key[1] in {name for _, name in claims_of(pod)}
        )
        why = ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
        if pods:
            word = "pods" if len(pods) > 1 else "pod"
            why = ("WaitForPodScheduled", f"waiting for {word} {','.join(pods)} to be scheduled")
        self._world.record(CLAIM, claim, why, SOURCE)

    def _provision(self, key: Key, claim: Object, storage_class: Object) -> None:
        uid, provisioner = claim["metadata"]["uid"], storage_class["provisioner"]
        problem = self.failures.get(storage_class["metadata"]["name"])
        problem = problem or source_problem(self._world.store, claim, provisioner)
        takes = (storage_class.get("parameters") or {}).get(SECONDS)
        ready = self._asked.setdefault(uid, self._world.now) + seconds(
            USUAL_SECONDS if takes is None else float(takes)
        )
        place = f"{key[0]}/{key[1]}"
        if PROVISIONER not in (claim["metadata"].get("annotations") or {}):
            claim = self._world.change(CLAIM, key, lambda obj: _note(obj, provisioner)) or claim
            self._world.record(
                CLAIM, claim, ("ExternalProvisioning", _waiting(provisioner)), SOURCE
            )
            words = f'External provisioner is provisioning volume for claim "{place}"'
            self._world.record(CLAIM, claim, ("Provisioning", words), provisioner)
        if self._world.now < ready:
            self._world.loop.wake(self, key, ready)
            return
        if problem:
            name = storage_class["metadata"]["name"]
            words = f'failed to provision volume with StorageClass "{name}": {problem}'
            self._world.record(
                CLAIM, claim, ("ProvisioningFailed", words), provisioner, warning=True
            )
            return
        volume = self._make_volume(claim, storage_class)
        words = f"Successfully provisioned volume {volume['metadata']['name']}"
        self._world.record(CLAIM, claim, ("ProvisioningSucceeded", words), provisioner)
        self._join(key, volume)

    def _make_volume(self, claim: Object, storage_class: Object) -> Object:
        name, spec = f"pvc-{claim['metadata']['uid']}", claim["spec"]
        provisioner = storage_class["provisioner"]
        body: Object = {
            "metadata": {
                "name": name,
                "annotations": {"pv.kubernetes.io/provisioned-by": provisioner},
            },
            "spec": {
                "capacity": dict(spec["resources"]["requests"]),
                "accessModes": spec["accessModes"],
                "storageClassName": spec["storageClassName"],
                "persistentVolumeReclaimPolicy": storage_class["reclaimPolicy"],
                "csi": {"driver": provisioner, "volumeHandle": name},
            },
        }
        if provisioner == DRIVER:
            maker = self.makers.get(provisioner)
            told = attributes(self._world.store, claim, name, maker)
            body["spec"]["csi"]["volumeAttributes"] = told
        zone = self._zone(claim)
        if zone:
            rows = [{"key": ZONE, "operator": "In", "values": [zone]}]
            terms = {"nodeSelectorTerms": [{"matchExpressions": rows}]}
            body["spec"]["nodeAffinity"] = {"required": terms}
        made = self._world.operations.create(VOLUME, "", body)
        fill(self._contents, self._world.store, claim, made)
        return made

    def _zone(self, claim: Object) -> str:
        """The zone of the node a claim was made for, where its class waits for one."""
        name = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, "")
        node = self._world.store.get(NODE, "", name)
        zone: str = (node["metadata"].get("labels") or {}).get(ZONE, "") if node else ""
        return zone

    def _join(self, key: Key, volume: Object) -> None:
        claim = self._world.store.get(CLAIM, *key)
        if claim is None:
            return
        self._asked.pop(claim["metadata"]["uid"], None)
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": key[0],
            "name": key[1],
            "uid": claim["metadata"]["uid"],
        }

        def take(obj: Object) -> None:
            obj["spec"]["claimRef"] = reference
            obj["status"] = {"phase": "Bound"}

        taken = self._world.change(VOLUME, key_of(volume), take) or volume
        self._world.change(CLAIM, key, lambda obj: _bind(obj, taken))


def _bound(claim: Object) -> bool:
    return bool(claim.get("status", {}).get("phase") == "Bound")


def _fits(volume: Object, claim: Object) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    owner = spec.get("claimRef") or {}
    place = (claim["metadata"]["namespace"], claim["metadata"]["name"])
    if owner and (owner.get("namespace"), owner.get("name")) != place:
        return False
    if owner.get("uid") not in {None, "", claim["metadata"]["uid"]}:
        return False
    size = parse_quantity(wanted["resources"]["requests"]["storage"])
    return (
        (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and set(wanted["accessModes"]) <= set(spec.get("accessModes") or ())
        and parse_quantity(spec["capacity"]["storage"]) >= size
    )


def _note(claim: Object, provisioner: str) -> None:
    notes = claim["metadata"].setdefault("annotations", {})
    notes |= {PROVISIONER: provisioner, f"volume.beta{PROVISIONER[6:]}": provisioner}


def _bind(claim: Object, volume: Object) -> None:
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    notes = claim["metadata"].setdefault("annotations", {})
    notes |= {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    claim["status"] = {
        "phase": "Bound",
        "accessModes": volume["spec"]["accessModes"],
        "capacity": dict(volume["spec"]["capacity"]),
    }


def _waiting(provisioner: str) -> str:
    return (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or "
        "manually by the system administrator. If volume creation is delayed, please verify that "
        "the provisioner is running and correctly registered."
    )
