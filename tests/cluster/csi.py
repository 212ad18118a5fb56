"""A CSI driver and its sidecars as a test plays them: volumes that hold nothing, and snapshots."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import httpx

from tests.cluster.api import Api, ApiError, Object
from tests.cluster.site import Site

CLASS, DRIVER = "snappy", "csi.tests.quartermaster.dev"
GROUP = "snapshot.storage.k8s.io"
TAKEN, CONTENTS = f"volumesnapshots.{GROUP}", f"volumesnapshotcontents.{GROUP}"
TAKEN_AT = "2026-11-22T08:00:00Z"
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_LOOK_SECONDS = 0.3


@contextmanager
def driving(api: Api, site: Site, namespace: str, driver: str = DRIVER) -> Iterator[None]:
    """Plays the driver of storage class `snappy` in a namespace, and removes what it made."""
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
        clear(api, namespace)


def install(site: Site, driver: str = DRIVER) -> None:
    """Adds the storage class of the driver, and the class that its snapshots are taken by."""
    site.add("storageclasses.storage", {"metadata": {"name": CLASS}, "provisioner": driver})
    kind = {"metadata": {"name": CLASS}, "driver": driver, "deletionPolicy": "Delete"}
    site.add(f"volumesnapshotclasses.{GROUP}", kind)


def play(api: Api, namespace: str, driver: str = DRIVER) -> None:
    """Binds the claims of the class that wait, and makes snapshots ready."""
    for claim in api.list(_CLAIMS, namespace):
        name = f"pvc-{claim['metadata']['uid']}"
        is_ours = claim["spec"].get("storageClassName") == CLASS
        waits = is_ours and claim["status"].get("phase") == "Pending"
        if waits and api.get(_VOLUMES, name) is None:
            api.create(_VOLUMES, _volume(name, claim, driver))
    for taken in api.list(TAKEN, namespace):
        if not taken.get("status", {}).get("readyToUse"):
            _take(api, taken, namespace, driver)


def clear(api: Api, namespace: str) -> None:
    """Removes the snapshots of a namespace, and all volumes of the driver."""
    api.delete(TAKEN, "", namespace)
    for content in api.list(CONTENTS):
        if content["spec"].get("volumeSnapshotClassName") == CLASS:
            api.delete(CONTENTS, content["metadata"]["name"])
    for volume in api.list(_VOLUMES):
        if volume["spec"].get("storageClassName") == CLASS:
            api.delete(_VOLUMES, volume["metadata"]["name"])


def _drive(api: Api, namespace: str, driver: str, stopped: Event) -> None:
    while not stopped.wait(_LOOK_SECONDS):
        try:
            play(api, namespace, driver)
        except (ApiError, httpx.HTTPError):
            continue  # somebody was faster: looked at again


def _take(api: Api, taken: Object, namespace: str, driver: str) -> None:
    name = f"of-{taken['metadata']['uid']}"
    claim = api.get(_CLAIMS, taken["spec"]["source"]["persistentVolumeClaimName"], namespace)
    if claim is not None and api.get(CONTENTS, name) is None:
        api.create(CONTENTS, _content(name, taken, claim, driver))
    status = {
        "boundVolumeSnapshotContentName": name,
        "creationTime": TAKEN_AT,
        "readyToUse": True,
        "restoreSize": "1Gi",
    }
    place = taken["metadata"]["name"]
    api.patch(TAKEN, place, {"status": status}, namespace, subresource="status")


def _volume(name: str, claim: Object, driver: str) -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {
        "metadata": {"name": name},
        "spec": {
            "storageClassName": CLASS,
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "claimRef": {**reference, **{k: metadata[k] for k in ("namespace", "name", "uid")}},
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": driver, "volumeHandle": name},
        },
    }


def _content(name: str, taken: Object, claim: Object, driver: str) -> Object:
    place = {key: taken["metadata"][key] for key in ("namespace", "name", "uid")}
    return {
        "metadata": {"name": name},
        "spec": {
            "deletionPolicy": "Delete",
            "driver": driver,
            "source": {"volumeHandle": claim["spec"]["volumeName"]},
            "volumeSnapshotClassName": CLASS,
            "volumeSnapshotRef": place,
        },
    }
