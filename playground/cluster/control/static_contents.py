"""Contents that somebody made by hand for a snapshot that the store has already."""

from playground.cluster.control.snapshot_checks import ProblemError
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import VOLUME_SNAPSHOT, VOLUME_SNAPSHOT_CONTENT, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Key


def named_content(snapshot: Object) -> str:
    """The content that a snapshot is to show, empty where one is to be taken."""
    name: str = snapshot["spec"]["source"].get("volumeSnapshotContentName", "")
    return name


def bind_content(world: World, key: Key, snapshot: Object) -> None:
    """Binds a snapshot to the content that it names; ProblemError where that is of another."""
    name, uid = named_content(snapshot), snapshot["metadata"]["uid"]
    content = world.store.get(VOLUME_SNAPSHOT_CONTENT, "", name)
    if content is None:
        missing = f"Failed to get snapshot content {name}: it does not exist"
        raise ProblemError("SnapshotContentMissing", missing)
    of = content["spec"]["volumeSnapshotRef"]
    if (of["namespace"], of["name"]) != key or of.get("uid") not in {None, uid}:
        words = f"VolumeSnapshotContent [{name}] is bound to a different snapshot"
        raise ProblemError("SnapshotContentMisbound", words)
    handle = content["spec"]["source"].get("snapshotHandle", "")
    twin = _taken(world, handle)
    if twin is None:
        words = f"Failed to check and update snapshot content: failed to list snapshot {handle}"
        raise ProblemError("SnapshotContentCheckandUpdateFailed", words)
    size = twin["status"]["restoreSize"]

    def bind(obj: Object) -> None:
        obj["spec"]["volumeSnapshotRef"]["uid"] = uid
        obj["status"] = {"snapshotHandle": handle, "readyToUse": True, "restoreSize": size}

    world.change(VOLUME_SNAPSHOT_CONTENT, ("", name), bind)
    status = {
        "boundVolumeSnapshotContentName": name,
        "creationTime": stamp(world.now),
        "readyToUse": True,
        "restoreSize": size,
    }
    world.change(VOLUME_SNAPSHOT, key, lambda obj: obj.update(status=status))


def _taken(world: World, handle: str) -> Object | None:
    """What a driver made of the snapshot when it was taken."""
    for each in world.store.all(VOLUME_SNAPSHOT_CONTENT):
        is_own = "volumeHandle" in each["spec"]["source"]
        if is_own and (each.get("status") or {}).get("snapshotHandle") == handle:
            return each
    return None
