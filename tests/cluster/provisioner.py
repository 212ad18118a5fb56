"""A provisioner of volumes that hold nothing: claims of its class are bound at once."""

from threading import Event, Thread

import httpx

from tests.cluster.api import Api, ApiError, Object

CLASS = "standard"
_NAME = "tests.quartermaster.dev/nothing"
_LOOK_SECONDS = 0.3
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"


class Provisioner:
    """Makes a volume for each claim of class `standard`, in any access mode, and removes it."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="provisioner", daemon=True)

    def start(self) -> None:
        """Creates the storage class, the default one, and begins to look for claims."""
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        body = {"metadata": {"name": CLASS, "annotations": default}, "provisioner": _NAME}
        self._api.create("storageclasses.storage.k8s.io", {**body, "allowVolumeExpansion": True})
        self._thread.start()

    def stop(self) -> None:
        """Leaves claims alone from now on."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            try:
                self._look()
            except (ApiError, httpx.HTTPError):
                continue  # the API server is away, or somebody was faster: looked at again

    def _look(self) -> None:
        for claim in self._api.list(_CLAIMS):
            waits = claim["status"].get("phase") == "Pending" and "volumeName" not in claim["spec"]
            if waits and claim["spec"].get("storageClassName") == CLASS:
                self._api.create(_VOLUMES, _volume(claim))
        for volume in self._api.list(_VOLUMES):
            is_ours = volume["spec"].get("storageClassName") == CLASS
            if is_ours and volume["status"].get("phase") == "Released":
                self._api.delete(_VOLUMES, volume["metadata"]["name"])


def _volume(claim: Object) -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {
        "metadata": {"name": f"pvc-{metadata['uid']}"},
        "spec": {
            "storageClassName": CLASS,
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "claimRef": {**reference, **{k: metadata[k] for k in ("namespace", "name", "uid")}},
            "persistentVolumeReclaimPolicy": "Retain",
            "nfs": {"server": "127.0.0.1", "path": f"/{metadata['name']}"},
        },
    }
