"""What a pod refers to and has to be there before its containers can start."""

from collections.abc import Iterator, Mapping
from typing import Any

from playground.cluster.control.image_users import root_problem
from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.pod_status import containers_of
from playground.cluster.objects.kinds import CLAIM, CONFIG_MAP, POD, SECRET, Kind, Object
from playground.cluster.objects.storage_rules import claims_of
from playground.cluster.objects.store import Store

_ONE_NODE = {"ReadWriteOnce", "ReadWriteOncePod"}
_SOURCES = (("secretKeyRef", SECRET, "secret"), ("configMapKeyRef", CONFIG_MAP, "configmap"))
_ALL = (("secretRef", SECRET, "secret"), ("configMapRef", CONFIG_MAP, "configmap"))


def mount_problem(store: Store, pod: Object) -> str:
    """The first volume that cannot be mounted because its secret or config map is missing."""
    space = pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or ():
        for field, kind, name_field in (
            ("secret", SECRET, "secretName"),
            ("configMap", CONFIG_MAP, "name"),
        ):
            source = volume.get(field)
            if not source or source.get("optional"):
                continue
            name = source[name_field]
            if store.get(kind, space, name) is None:
                what = "secret" if kind is SECRET else "configmap"
                failed = f'MountVolume.SetUp failed for volume "{volume["name"]}"'
                return f'{failed} : {what} "{name}" not found'
    return ""


def attach_problem(store: Store, pod: Object) -> str:
    """Why a volume for one node only cannot be attached: pods on another node use it."""
    space, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
    for volume, name in claims_of(pod):
        claim = store.get(CLAIM, space, name)
        if claim is None or not set(claim["spec"]["accessModes"]) <= _ONE_NODE:
            continue
        others = sorted(
            other["metadata"]["name"]
            for other in store.all(POD, space)
            if other["spec"].get("nodeName") not in {None, "", node}
            and not is_ended(other)
            and name in {mounted for _, mounted in claims_of(other)}
            and is_started(other)
        )
        if others:
            bound = claim["spec"].get("volumeName") or volume
            listed = ", ".join(others)
            return (
                f'Multi-Attach error for volume "{bound}" Volume is already used by pod(s) {listed}'
            )
    return ""


def is_started(pod: Object) -> bool:
    """Whether a container of a pod has run, so that its volumes are attached."""
    rows = pod["status"].get("containerStatuses") or ()
    return any("waiting" not in row["state"] or row["lastState"] for row in rows)


def claim_problem(store: Store, pod: Object, failures: dict[str, str]) -> str:
    """What mounting a claim says, where the story lets it fail."""
    space = pod["metadata"]["namespace"]
    for _, name in claims_of(pod):
        if name in failures:
            claim = store.get(CLAIM, space, name) or {"spec": {}}
            volume = claim["spec"].get("volumeName") or name
            return f'MountVolume.SetUp failed for volume "{volume}" : {failures[name]}'
    return ""


def config_problems(store: Store, pod: Object, users: Mapping[str, str]) -> dict[str, str]:
    """Why each container cannot be set up: root, who may not be, or what its environment misses.

    `users` are those that images name.
    """
    space = pod["metadata"]["namespace"]
    found = {
        each["name"]: root_problem(pod, each, users) or next(_missing(store, space, each), "")
        for each in containers_of(pod)
    }
    return {name: problem for name, problem in found.items() if problem}


def _missing(store: Store, space: str, container: dict[str, Any]) -> Iterator[str]:
    for variable in container.get("env") or ():
        for field, kind, word in _SOURCES:
            source = (variable.get("valueFrom") or {}).get(field)
            if source and not source.get("optional"):
                yield from _missing_key(store, space, kind, word, source)
    for everything in container.get("envFrom") or ():
        for field, kind, word in _ALL:
            source = everything.get(field)
            if source and not source.get("optional") and not store.get(kind, space, source["name"]):
                yield f'{word} "{source["name"]}" not found'


def _missing_key(
    store: Store, space: str, kind: Kind, word: str, source: dict[str, Any]
) -> Iterator[str]:
    obj = store.get(kind, space, source["name"])
    if obj is None:
        yield f'{word} "{source["name"]}" not found'
    elif source["key"] not in (obj.get("data") or {}):
        what = "Secret" if kind is SECRET else "ConfigMap"
        yield f"couldn't find key {source['key']} in {what} {space}/{source['name']}"
