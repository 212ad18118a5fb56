"""Whether other namespaces can mount a cache, as far as that is known in advance."""

from collections.abc import Collection
from typing import NamedTuple

from bot.cluster.claims import PersistentVolume
from bot.cluster.resources import STORAGE_CLASSES, VOLUMES
from bot.cluster.view import View
from bot.datasets.caches.shares.forms import (
    ANOTHER_CLASS,
    TRIDENT,
    UNKNOWN_DRIVER,
    Unshareable,
    form_of,
)

# CSI drivers have this in their names; provisioners of NFS exports and the like do not.
_CSI = ".csi."


class Storage(NamedTuple):
    """The storage class of a cache and its volume, empty until that is created."""

    storage_class: str
    volume: str = ""


def unshareable(view: View, storage: Storage, drivers: Collection[str]) -> Unshareable | None:
    """Why only one namespace can mount it; None if others can, or if that is unknown yet.

    `drivers` are those that allow two volumes of one handle.
    """
    volume = view.get(VOLUMES, storage.volume) if storage.volume else None
    if volume is not None:
        return _of_volume(volume, drivers)
    found = view.get(STORAGE_CLASSES, storage.storage_class)
    driver = found.provisioner if found is not None else ""
    if driver in {TRIDENT, *drivers}:
        return None
    if _CSI in f".{driver}":
        what = f"Volumes of storage class {storage.storage_class} are from driver {driver}"
        return Unshareable(f"{what}, {UNKNOWN_DRIVER}", ANOTHER_CLASS)
    volume = _any_of(view, storage.storage_class)
    return _of_volume(volume, drivers) if volume is not None else None


def _of_volume(volume: PersistentVolume, drivers: Collection[str]) -> Unshareable | None:
    form = form_of(volume, drivers)
    return form if isinstance(form, Unshareable) else None


def _any_of(view: View, storage_class: str) -> PersistentVolume | None:
    """Any volume of a class, to inspect what a provisioner without CSI creates."""
    found = view.all(VOLUMES)
    return next((each for each in found if each.spec.storage_class_name == storage_class), None)
