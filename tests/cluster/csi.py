"""A CSI driver and its sidecars as a test plays them: volumes that hold nothing, and snapshots."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Thread

import httpx

from playground.cluster.objects.quantities import parse_quantity
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.site import Site

CLASS, DRIVER = "snappy", "csi.tests.quartermaster.dev"
GROUP = "snapshot.storage.k8s.io"
TAKEN, CONTENTS = f"volumesnapshots.{GROUP}", f"volumesnapshotcontents.{GROUP}"
TAKEN_AT = "2026-11-22T08:00:00Z"
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_LOOK_SECONDS = 0.3


def _tells_nothing(_name: str, _size: int) -> Mapping[str, str]:
    return {}


def _grows(_name: str, _size: int) -> str:
    return ""


@dataclass(frozen=True)
class Driver:
    """A driver, and its storage class.

    `makes` a volume by its name and size, and says what the PV tells of it; `grows` one, or says
    why it cannot.
    """

    name: str = DRIVER
    storage_class: str = CLASS
    makes: Callable[[str, int], Mapping[str, str]] = _tells_nothing
    grows: Callable[[str, int], str] = _grows


@contextmanager
def driving(api: Api, site: Site, namespace: str, driver: Driver | None = None) -> Iterator[None]:
    """Plays a driver in a namespace, and removes what it made."""
    driver = driver or Driver()
    install(site, driver)
    stopped = Event()
    parts = (api, namespace, driver, stopped)
    thread = Thread(target=_drive, args=parts, name="csi", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        clear(api, namespace, driver)


def install(site: Site, driver: Driver | None = None) -> None:
    """Adds the storage class of the driver, and the class that its snapshots are taken by."""
    driver = driver or Driver()
    name = {"name": driver.storage_class}
    grows = {"provisioner": driver.name, "allowVolumeExpansion": True}
    site.add("storageclasses.storage", {"metadata": name, **grows})
    kind = {"metadata": name, "driver": driver.name, "deletionPolicy": "Delete"}
    site.add(f"volumesnapshotclasses.{GROUP}", kind)


def play(api: Api, namespace: str, driver: Driver | None = None) -> None:
    """Binds the claims of the class that wait, makes them larger, and makes snapshots ready."""
    driver = driver or Driver()
    for claim in api.list(_CLAIMS, namespace):
        if claim["spec"].get("storageClassName") == driver.storage_class:
            _provide(api, claim, driver)
    for taken in api.list(TAKEN, namespace):
        if not taken.get("status", {}).get("readyToUse"):
            _take(api, taken, namespace, driver)


def clear(api: Api, namespace: str, driver: Driver | None = None) -> None:
    """Removes the snapshots of a namespace, and all volumes of the driver."""
    kind = (driver or Driver()).storage_class
    api.delete(TAKEN, "", namespace)
    for content in api.list(CONTENTS):
        if content["spec"].get("volumeSnapshotClassName") == kind:
            api.delete(CONTENTS, content["metadata"]["name"])
    for volume in api.list(_VOLUMES):
        if volume["spec"].get("storageClassName") == kind:
            api.delete(_VOLUMES, volume["metadata"]["name"])


def _drive(api: Api, namespace: str, driver: Driver, stopped: Event) -> None:
    while not stopped.wait(_LOOK_SECONDS):
        try:
            play(api, namespace, driver)
        except (ApiError, httpx.HTTPError):
            continue  # somebody was faster: looked at again


def _provide(api: Api, claim: Object, driver: Driver) -> None:
    name, phase = f"pvc-{claim['metadata']['uid']}", claim["status"].get("phase")
    if phase == "Pending" and api.get(_VOLUMES, name) is None:
        told = driver.makes(name, size_of(_asked(claim)))
        api.create(_VOLUMES, _volume(name, claim, driver, told))
    elif phase == "Bound" and size_of(_asked(claim)) > size_of(_capacity(claim)):
        _grow(api, claim, driver)


def _grow(api: Api, claim: Object, driver: Driver) -> None:
    """What the resizer does and says, on a driver whose volumes grow without their nodes."""
    place, name = claim["metadata"], claim["spec"]["volumeName"]

    def say(status: Object) -> None:
        api.patch(_CLAIMS, place["name"], {"status": status}, place["namespace"], "status")

    asked = {"storage": _asked(claim)}
    resizing = _condition("Resizing", "")
    if not claim["status"].get("conditions"):
        begun = {"storage": "ControllerResizeInProgress"}
        whole = {"allocatedResources": asked, "allocatedResourceStatuses": begun}
        say({**whole, "conditions": [resizing]})
        return
    problem = driver.grows(name, size_of(_asked(claim)))
    if problem:
        failed = {"storage": "ControllerResizeInfeasible"}
        rows = [resizing, _condition("ControllerResizeError", problem)]
        say({"allocatedResourceStatuses": failed, "conditions": rows})
        return
    api.patch(_VOLUMES, name, {"spec": {"capacity": asked}})
    say({"capacity": asked, "conditions": None, "allocatedResourceStatuses": None})


def _condition(kind: str, message: str) -> Object:
    row = {"type": kind, "status": "True", "message": message}
    return {**row, "lastTransitionTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}


def _asked(claim: Object) -> str:
    size: str = claim["spec"]["resources"]["requests"]["storage"]
    return size


def _capacity(claim: Object) -> str:
    size: str = claim["status"]["capacity"]["storage"]
    return size


def size_of(quantity: str) -> int:
    """A quantity of storage in bytes."""
    return int(parse_quantity(quantity))


def _take(api: Api, taken: Object, namespace: str, driver: Driver) -> None:
    name = f"of-{taken['metadata']['uid']}"
    claim = api.get(_CLAIMS, taken["spec"]["source"]["persistentVolumeClaimName"], namespace)
    if claim is None:
        return
    if api.get(CONTENTS, name) is None:
        api.create(CONTENTS, _content(name, taken, claim, driver))
    status = {
        "boundVolumeSnapshotContentName": name,
        "creationTime": TAKEN_AT,
        "readyToUse": True,
        "restoreSize": _capacity(claim),
    }
    place = taken["metadata"]["name"]
    api.patch(TAKEN, place, {"status": status}, namespace, subresource="status")


def _volume(name: str, claim: Object, driver: Driver, told: Mapping[str, str]) -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {
        "metadata": {"name": name},
        "spec": {
            "storageClassName": driver.storage_class,
            "capacity": {"storage": _asked(claim)},
            "accessModes": spec["accessModes"],
            "claimRef": {**reference, **{k: metadata[k] for k in ("namespace", "name", "uid")}},
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": driver.name, "volumeHandle": name, "volumeAttributes": {**told}},
        },
    }


def _content(name: str, taken: Object, claim: Object, driver: Driver) -> Object:
    place = {key: taken["metadata"][key] for key in ("namespace", "name", "uid")}
    return {
        "metadata": {"name": name},
        "spec": {
            "deletionPolicy": "Delete",
            "driver": driver.name,
            "source": {"volumeHandle": claim["spec"]["volumeName"]},
            "volumeSnapshotClassName": driver.storage_class,
            "volumeSnapshotRef": place,
        },
    }
