"""What a new claim is to hold from the start: a snapshot, or what another claim holds now."""

from collections.abc import Callable
from typing import Any

from playground.cluster.control.contents import Contents, handle_of
from playground.cluster.control.trident import (
    DRIVER,
    clone_problem,
    cloned_snapshot,
    share_problem,
    shared_attributes,
)
from playground.cluster.control.trident import source_of as trident_source
from playground.cluster.objects.kinds import (
    CLAIM,
    STORAGE_CLASS,
    VOLUME_SNAPSHOT,
    VOLUME_SNAPSHOT_CONTENT,
    Object,
)
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.storage_rules import volume_of
from playground.cluster.objects.store import Store

# What makes a volume by its name and size: it says what the PV is to tell of it.
Maker = Callable[[str, int], dict[str, Any]]
READ_ONLY_CLONE = "trident.netapp.io/readOnlyClone"


def source_of(claim: Object) -> dict[str, Any] | None:
    """What the claim is to be made from, None for an empty volume."""
    spec = claim["spec"]
    found: dict[str, Any] | None = spec.get("dataSourceRef") or spec.get("dataSource")
    return found


def source_problem(store: Store, claim: Object, provisioner: str) -> str:
    """Why a claim is not made from its source, in a provisioner's words; empty if it is."""
    source = source_of(claim)
    if source is None and provisioner == DRIVER and cloned_snapshot(claim):
        return clone_problem(store, claim)
    if source is None:
        return share_problem(store, claim) if provisioner == DRIVER else ""
    if source["kind"] == VOLUME_SNAPSHOT.kind:
        return _snapshot_problem(store, claim, source["name"])
    if source["kind"] == CLAIM.kind:
        return _claim_problem(store, claim, source["name"])
    return f"unsupported data source {source['kind']}"


def attributes(
    store: Store, claim: Object, name: str, maker: Maker | None = None
) -> dict[str, Any]:
    """What Trident says of a new volume; a read-only clone is the snapshot itself.

    `maker` makes the volume, where somebody has to.
    """
    if is_read_only_clone(claim):
        return {"internalName": source_handle(store, claim)}
    if maker is not None and trident_source(claim) is None:
        return maker(name, int(_size(claim)))
    return shared_attributes(store, claim, name)


def fill(contents: Contents, store: Store, claim: Object, volume: Object) -> None:
    """Has a new volume hold what its claim is made from."""
    source = source_handle(store, claim)
    if source and not is_read_only_clone(claim):
        contents.copy(source, handle_of(volume))


def source_handle(store: Store, claim: Object) -> str:
    """Whose bytes the claim starts with; empty for none."""
    source = source_of(claim)
    if source is None:
        cloned = cloned_snapshot(claim)
        return _snapshot_handle(store, *cloned) if cloned else ""
    space = claim["metadata"]["namespace"]
    if source["kind"] == VOLUME_SNAPSHOT.kind:
        return _snapshot_handle(store, space, source["name"])
    other = store.get(CLAIM, space, source["name"])
    volume = volume_of(store, other) if other is not None else None
    return handle_of(volume) if volume is not None else ""


def _snapshot_handle(store: Store, space: str, name: str) -> str:
    content = content_of(store, store.get(VOLUME_SNAPSHOT, space, name))
    handle: str = ((content or {}).get("status") or {}).get("snapshotHandle", "")
    return handle


def is_read_only_clone(claim: Object) -> bool:
    """Whether Trident shows the snapshot itself instead of copying it."""
    notes = claim["metadata"].get("annotations") or {}
    return notes.get(READ_ONLY_CLONE) == "true"


def content_of(store: Store, snapshot: Object | None) -> Object | None:
    """The content behind a snapshot, if it has one."""
    name = ((snapshot or {}).get("status") or {}).get("boundVolumeSnapshotContentName") or ""
    return store.get(VOLUME_SNAPSHOT_CONTENT, "", name)


def _snapshot_problem(store: Store, claim: Object, name: str) -> str:
    snapshot = store.get(VOLUME_SNAPSHOT, claim["metadata"]["namespace"], name)
    doing = f"error getting handle for DataSource Type VolumeSnapshot by Name {name}"
    if snapshot is None:
        return f'{doing}: error getting snapshot {name} from api server: "{name}" not found'
    if snapshot["metadata"].get("deletionTimestamp"):
        return f"{doing}: snapshot {name} is currently being deleted"
    status = snapshot.get("status") or {}
    content = content_of(store, snapshot)
    if content is None or not status.get("readyToUse"):
        return f"{doing}: snapshot {name} is not Ready"
    driver = _driver(store, claim)
    if content["spec"]["driver"] != driver:
        return (
            f"{doing}: requested volume driver {driver} does not match the snapshot's driver"
            f" {content['spec']['driver']}"
        )
    wanted, least = _size(claim), parse_quantity(status["restoreSize"])
    if wanted < least:
        return (
            f"{doing}: requested volume size {int(wanted)} is less than the size {int(least)} for"
            f" the source snapshot {name}"
        )
    return ""


def _claim_problem(store: Store, claim: Object, name: str) -> str:
    doing = f"error getting handle for DataSource Type PersistentVolumeClaim by Name {name}"
    source = store.get(CLAIM, claim["metadata"]["namespace"], name)
    if source is None:
        return f'{doing}: error getting PVC {name} from api server: "{name}" not found'
    volume = volume_of(store, source)
    if volume is None:
        return f"{doing}: the PVC {name} is not bound"
    driver = _driver(store, claim)
    if volume["spec"].get("csi", {}).get("driver") != driver:
        return f"{doing}: the source PVC's driver is not {driver}"
    wanted = _size(claim)
    least = parse_quantity(volume["spec"]["capacity"]["storage"])
    if wanted < least:
        return (
            f"{doing}: requested volume size {int(wanted)} is less than the size {int(least)} for"
            f" the source PVC {name}"
        )
    return ""


def _driver(store: Store, claim: Object) -> str:
    found = store.get(STORAGE_CLASS, "", claim["spec"].get("storageClassName") or "")
    driver: str = found["provisioner"] if found is not None else ""
    return driver


def _size(claim: Object) -> Any:
    return parse_quantity(claim["spec"]["resources"]["requests"]["storage"])
