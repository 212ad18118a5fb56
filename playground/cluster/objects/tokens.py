"""The token of its service account, which the API server mounts into each new pod."""

from hashlib import sha256
from typing import Any

from playground.cluster.objects.kinds import POD, SERVICE_ACCOUNT, Kind, Object
from playground.cluster.objects.store import Store

_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_PREFIX = "kube-api-access-"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SECONDS = 3607
_READABLE = 420


class ServiceAccountTokens:
    """Adds the volume, unless the pod or its service account does not want it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Mounts the token into a pod that is created."""
        if kind != POD or old is not None or not self._is_wanted(obj):
            return
        spec = obj["spec"]
        name = _PREFIX + _suffix(obj["metadata"]["uid"])
        containers = [*spec.get("initContainers", ()), *spec.get("containers", ())]
        needing = [each for each in containers if not _has_mount(each)]
        for container in needing:
            mount = {"name": name, "readOnly": True, "mountPath": _PATH}
            container["volumeMounts"] = [*container.get("volumeMounts", ()), mount]
        if needing:
            spec["volumes"] = [*(spec.get("volumes") or ()), _volume(name)]

    def _is_wanted(self, pod: Object) -> bool:
        key = "automountServiceAccountToken"
        name = pod["spec"].get("serviceAccountName", "default")
        account = self._store.get(SERVICE_ACCOUNT, pod["metadata"]["namespace"], name) or {}
        own = pod["spec"].get(key)
        return bool(account.get(key, True) if own is None else own)


def _suffix(uid: str) -> str:
    """Five letters, the same in every run of the same story."""
    digest = sha256(uid.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:5])


def _has_mount(container: dict[str, Any]) -> bool:
    return any(each.get("mountPath") == _PATH for each in container.get("volumeMounts") or ())


def _volume(name: str) -> dict[str, Any]:
    token = {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}}
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    space = {"items": [{"path": "namespace", "fieldRef": field}]}
    sources = [token, {"configMap": root}, {"downwardAPI": space}]
    return {"name": name, "projected": {"sources": sources, "defaultMode": _READABLE}}
