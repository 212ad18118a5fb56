"""What the snapshot controller wants to be there before a snapshot is taken."""

from playground.cluster.objects.kinds import (
    CLAIM,
    VOLUME_SNAPSHOT_CLASS,
    Object,
)
from playground.cluster.objects.storage_rules import volume_of
from playground.cluster.objects.store import Store, key_of

PREFIX = "snapshot.storage.kubernetes.io/"
DEFAULT = f"{PREFIX}is-default-class"
_DEFAULTING = "Failed to set default snapshot class with error"
_CREATING = "Failed to create snapshot content with error"


class ProblemError(Exception):
    """Why a snapshot is not taken now: an event's reason, and a message."""


def claim_name(snapshot: Object) -> str:
    """The claim that a snapshot is of."""
    name: str = snapshot["spec"]["source"].get("persistentVolumeClaimName", "")
    return name


def claim_of(store: Store, snapshot: Object) -> Object:
    """The claim that a snapshot is of; ProblemError where it has no volume."""
    claim, reason = _claim(store, snapshot), "SnapshotContentCreationFailed"
    if claim is None:
        raise ProblemError(reason, f"{_CREATING} {_missing(snapshot)}")
    volume = volume_of(store, claim)
    if volume is None:
        words = (
            f"the PVC {claim_name(snapshot)} is not yet bound to a PV, will not attempt to take a"
            " snapshot"
        )
        raise ProblemError(reason, f"{_CREATING} {words}")
    if "csi" not in volume["spec"]:
        words = f"cannot find CSI PersistentVolumeSource for volume {volume['metadata']['name']}"
        raise ProblemError(reason, f"{_CREATING} {words}")
    return claim


def class_of(store: Store, snapshot: Object) -> Object:
    """The class of a snapshot, else the default one of its driver; ProblemError for none."""
    name = snapshot["spec"].get("volumeSnapshotClassName")
    if name is not None:
        found = store.get(VOLUME_SNAPSHOT_CLASS, "", name)
        if found is None:
            missing = f'volumesnapshotclass.{VOLUME_SNAPSHOT_CLASS.group} "{name}" not found'
            words = f"Failed to get snapshot class with error {missing}"
            raise ProblemError("GetSnapshotClassFailed", words)
        return found
    reason = "SetDefaultSnapshotClassFailed"
    claim = _claim(store, snapshot)
    if claim is None:
        raise ProblemError(reason, f"{_DEFAULTING} {_missing(snapshot)}")
    driver = ((volume_of(store, claim) or {"spec": {}})["spec"].get("csi") or {}).get("driver")
    named = [each for each in store.all(VOLUME_SNAPSHOT_CLASS) if _is_default(each, driver)]
    if not named:
        raise ProblemError(reason, f"{_DEFAULTING} cannot find default snapshot class")
    if len(named) > 1:
        words = f"{len(named)} default snapshot classes were found"
        raise ProblemError(reason, f"{_DEFAULTING} {words}")
    return named[0]


def _is_default(kind: Object, driver: str | None) -> bool:
    notes = kind["metadata"].get("annotations") or {}
    return notes.get(DEFAULT) == "true" and kind["driver"] == driver


def _claim(store: Store, snapshot: Object) -> Object | None:
    return store.get(CLAIM, key_of(snapshot)[0], claim_name(snapshot))


def _missing(snapshot: Object) -> str:
    name = claim_name(snapshot)
    missing = f'persistentvolumeclaim \\"{name}\\" not found'
    return f'failed to retrieve PVC {name} from the lister: "{missing}"'
