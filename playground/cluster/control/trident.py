"""How Trident shares a volume with the claims of another namespace, or says why it does not."""

from typing import Any

from playground.cluster.objects.kinds import (
    CLAIM,
    VOLUME_REFERENCE,
    VOLUME_SNAPSHOT,
    Object,
)
from playground.cluster.objects.storage_rules import volume_of
from playground.cluster.objects.store import Store

DRIVER = "csi.trident.netapp.io"
_NOTES = "trident.netapp.io/"


def source_of(claim: Object) -> tuple[str, str] | None:
    """Namespace and name of the claim whose volume this one is to share."""
    notes = claim["metadata"].get("annotations") or {}
    space, _, name = notes.get(f"{_NOTES}shareFromPVC", "").partition("/")
    return (space, name) if name else None


def share_problem(store: Store, claim: Object) -> str:
    """Why a claim is not given the volume of another, in Trident's words; empty if it is."""
    wanted = source_of(claim)
    if wanted is None:
        return ""
    space, (from_space, name) = claim["metadata"]["namespace"], wanted
    reference = {"pvcName": name, "pvcNamespace": from_space}
    if not any(each["spec"] == reference for each in store.all(VOLUME_REFERENCE, space)):
        return f"volume reference {space}/{name} was not found"
    source = store.get(CLAIM, from_space, name)
    if source is None:
        return f'persistentvolumeclaim "{name}" not found'
    told = (source["metadata"].get("annotations") or {}).get(f"{_NOTES}shareToNamespace", "")
    if not {space, "*"} & set(told.split(",")):
        return f"subordinate volume source PVC is not shared with namespace {space}"
    if source["spec"].get("storageClassName") != claim["spec"].get("storageClassName"):
        place = claim["metadata"]["name"]
        return f"subordinate PVC {place} must have the same storage class as its source PVC {name}"
    return "" if volume_of(store, source) else "subordinate volume source PVC is not bound"


def cloned_snapshot(claim: Object) -> tuple[str, str] | tuple[()]:
    """Namespace and name of the snapshot that a claim is a clone of; empty where of none."""
    metadata = claim["metadata"]
    notes = metadata.get("annotations") or {}
    name = notes.get(f"{_NOTES}cloneFromSnapshot", "")
    space = notes.get(f"{_NOTES}cloneFromNamespace") or metadata["namespace"]
    return (space, name) if name else ()


def clone_problem(store: Store, claim: Object) -> str:
    """Why a claim is not made a clone of a snapshot elsewhere, in Trident's words; or empty."""
    from_space, name = cloned_snapshot(claim) or ("", "")
    snapshot = store.get(VOLUME_SNAPSHOT, from_space, name)
    if snapshot is None:
        return f"snapshot {name} not found"
    pvc = snapshot["spec"]["source"]["persistentVolumeClaimName"]
    source, space = store.get(CLAIM, from_space, pvc), claim["metadata"]["namespace"]
    if source is None:
        return f'persistentvolumeclaim "{pvc}" not found'
    told = (source["metadata"].get("annotations") or {}).get(f"{_NOTES}cloneToNamespace", "")
    if not {space, "*"} & set(told.split(",")):
        listed = "it is not listed in cloneToNamespace annotation"
        return f"cloning to namespace {space} is not allowed, {listed}"
    reference = {"pvcName": pvc, "pvcNamespace": from_space}
    if not any(each["spec"] == reference for each in store.all(VOLUME_REFERENCE, space)):
        return "volume reference not found"
    is_ready = (snapshot.get("status") or {}).get("readyToUse")
    return "" if is_ready else f"snapshot '{name}' is not ready to use"


def shared_attributes(store: Store, claim: Object, name: str) -> dict[str, Any]:
    """What a new volume says of itself; claims that share one have the same internal name."""
    wanted = source_of(claim)
    source = store.get(CLAIM, *wanted) if wanted else None
    volume = volume_of(store, source) if source else None
    if volume is None:
        return {"internalName": name}
    return dict(volume["spec"]["csi"]["volumeAttributes"])
