"""Chooses the snapshot class of a driver, and the access mode of a storage class."""

from collections.abc import Iterable
from typing import NamedTuple

from bot.cluster.types.claims import StorageClass
from bot.cluster.types.snapshots import VolumeSnapshotClass
from bot.config import Snapshots

READ_WRITE_MANY, READ_WRITE_ONCE, READ_ONLY_MANY = (
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadOnlyMany",
)


class Problem(NamedTuple):
    """Why something is impossible, and what to do about it."""

    reason: str
    unblock: str


def class_for(
    driver: str, there: Iterable[VolumeSnapshotClass], settings: Snapshots
) -> VolumeSnapshotClass | Problem:
    """The snapshot class for a driver's volumes, or why there is none."""
    found = {each.name: each for each in there}
    told = settings.classes.get(driver)
    if told is not None:
        return _told(driver, told, found)
    own = [each for each in found.values() if each.driver == driver]
    defaults = [each for each in own if each.is_default]
    if len(defaults) == 1:
        return defaults[0]
    if len(defaults) > 1:
        return Problem(
            f"The cluster has {len(defaults)} default VolumeSnapshotClasses for {driver}:"
            f" {_names(defaults)}.",
            _SAY_WHICH,
        )
    if len(own) == 1:
        return own[0]
    if own:
        return Problem(
            f"The cluster has no default VolumeSnapshotClass for {driver}, only: {_names(own)}.",
            _SAY_WHICH,
        )
    others = f" It has some for {', '.join(sorted({each.driver for each in found.values()}))}."
    return Problem(
        f"The cluster has no VolumeSnapshotClass for {driver}, the driver of this PVC's volume."
        f"{others if found else ''}",
        "A platform admin has to create one.",
    )


def access_mode(kind: StorageClass, told: dict[str, str]) -> str:
    """The widest access mode that a storage class supports; `told` are those in the settings."""
    mode = told.get(kind.name)
    return mode or (READ_WRITE_ONCE if kind.makes_disks else READ_WRITE_MANY)


def _told(
    driver: str, name: str, found: dict[str, VolumeSnapshotClass]
) -> VolumeSnapshotClass | Problem:
    kind = found.get(name)
    if kind is None:
        return Problem(
            f"The cluster has no VolumeSnapshotClass {name}, which snapshots.classes in"
            f" quartermaster.yaml names for {driver}.",
            "A platform admin has to create it, or correct the setting.",
        )
    if kind.driver != driver:
        return Problem(
            f"VolumeSnapshotClass {name} is for {kind.driver}, but the volume of this PVC uses"
            f" {driver}.",
            "A platform admin has to correct snapshots.classes in quartermaster.yaml.",
        )
    return kind


def _names(kinds: Iterable[VolumeSnapshotClass]) -> str:
    return ", ".join(sorted(each.name for each in kinds))


_SAY_WHICH = (
    "A platform admin has to choose one: set snapshots.classes in quartermaster.yaml, or leave"
    " only one default."
)
