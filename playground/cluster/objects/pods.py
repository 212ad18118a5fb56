"""What the API server fills in and refuses in pods and pod templates."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, invalid, required
from playground.cluster.objects.kinds import POD, Kind, Object
from playground.cluster.objects.validation import check_quantities

_IMMUTABLE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)
_NOT_READY = (
    {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    },
    {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    },
)


def default_pod_spec(spec: dict[str, Any]) -> None:
    """Fills in what every pod spec has."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    for container in [*spec.get("containers", ()), *spec.get("initContainers", ())]:
        _default_container(container)


def _default_container(container: dict[str, Any]) -> None:
    latest = ":" not in container.get("image", "").rpartition("/")[2]
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    limits = resources.get("limits") or {}
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def default_pod(pod: Object) -> None:
    """Fills in what every new pod has."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    tolerations = spec.setdefault("tolerations", [])
    keys = {toleration.get("key") for toleration in tolerations}
    tolerations.extend(dict(t) for t in _NOT_READY if t["key"] not in keys)
    pod["status"] = {"phase": "Pending", "qosClass": _quality(spec)}


def _quality(spec: dict[str, Any]) -> str:
    resources = [container.get("resources") or {} for container in spec.get("containers", ())]
    if all(
        r.get("limits", {}).keys() >= {"cpu", "memory"} and r.get("limits") == r.get("requests")
        for r in resources
    ):
        return "Guaranteed"
    return "Burstable" if any(r.get("requests") for r in resources) else "BestEffort"


def check_pod_spec(kind: Kind, obj: Object, spec: dict[str, Any], path: str) -> None:
    """Raises 422 (or 400 for quantities) for what no pod may look like."""
    name = obj["metadata"].get("name", "")
    for index, container in enumerate(spec.get("containers") or ()):
        for part in ("requests", "limits"):
            values = (container.get("resources") or {}).get(part) or {}
            check_quantities(kind, name, values, f"{path}.containers[{index}].resources.{part}")
    causes = list(_causes(spec, path))
    if causes:
        raise invalid(kind, name, causes)


def _causes(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{path}.containers")
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    seen: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}.containers[{index}]"
        if container.get("name") in seen:
            yield Cause(
                f"{where}.name", f'Duplicate value: "{container["name"]}"', "FieldValueDuplicate"
            )
        seen.add(container.get("name", ""))
        if not container.get("image"):
            yield required(f"{where}.image")
        yield from _mounts(container, where, volumes)
        yield from _resources(container.get("resources") or {}, f"{where}.resources")


def _mounts(container: dict[str, Any], where: str, volumes: set[str]) -> Iterator[Cause]:
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            yield Cause(
                f"{where}.volumeMounts[{index}].name",
                f'Not found: "{mount.get("name")}"',
                "FieldValueNotFound",
            )


def _resources(resources: dict[str, Any], where: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, value in requests.items():
        if "/" not in name:
            continue
        if name not in limits:
            yield Cause(
                f"{where}.limits",
                "Required value: Limit must be set for non overcommitable resources",
            )
        elif str(limits[name]) != str(value):
            yield Cause(
                f"{where}.requests",
                f'Invalid value: "{value}": must be equal to {name} limit of {limits[name]}',
            )


def check_pod_change(old: Object, new: Object) -> None:
    """Raises 422 where a change touches what is fixed once a pod exists."""
    before, after = _frozen(old["spec"]), _frozen(new["spec"])
    kept = [
        t for t in old["spec"].get("tolerations", ()) if t in new["spec"].get("tolerations", ())
    ]
    additions_only = len(kept) == len(old["spec"].get("tolerations", ()))
    if before != after or not additions_only:
        raise invalid(
            POD, new["metadata"]["name"], [Cause("spec", _IMMUTABLE, "FieldValueForbidden")]
        )


def _frozen(spec: dict[str, Any]) -> dict[str, Any]:
    """A pod's spec without what may change."""
    free = {"tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "nodeName"}
    frozen = {key: value for key, value in spec.items() if key not in free}
    for part in ("containers", "initContainers"):
        if part in frozen:
            frozen[part] = [{**container, "image": ""} for container in frozen[part]]
    return frozen
