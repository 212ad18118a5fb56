"""What the API server fills in and refuses in Services and Ingresses."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, invalid, required, unsupported, wrong
from playground.cluster.objects.kinds import INGRESS, SERVICE, Kind, Object
from playground.cluster.objects.names import label_faults
from playground.cluster.objects.store import Store

_HIGHEST_PORT = 65_535
_PORT_WORDS = "must be between 1 and 65535, inclusive"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def default_service(service: Object) -> None:
    """Fills in what every new Service has, its address aside."""
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("ipFamilies", ["IPv4"])
    service["status"] = {"loadBalancer": {}}


class ServiceAddresses:
    """Gives every Service that wants one an address of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Looks at one write."""
        if kind != SERVICE or obj["spec"]["type"] == "ExternalName":
            return
        if old is not None:
            for name in ("clusterIP", "clusterIPs"):
                if name in old["spec"]:
                    obj["spec"].setdefault(name, old["spec"][name])
            return
        address = obj["spec"].get("clusterIP") or self._free()
        obj["spec"] |= {"clusterIP": address, "clusterIPs": [address]}

    def _free(self) -> str:
        taken = {service["spec"].get("clusterIP") for service in self._store.all(SERVICE)}
        numbers = range(10, 250 * 250)
        found = (f"10.96.{number // 250}.{number % 250 + 1}" for number in numbers)
        return next(address for address in found if address not in taken)


def check_service(service: Object) -> None:
    """Raises 422 for what no Service may look like."""
    name, spec = service["metadata"].get("name", ""), service["spec"]
    # Before 1.36 a Service's name starts with a letter, and teams have such clusters.
    causes = [wrong("metadata.name", name, fault) for fault in label_faults(name)]
    causes += _service_causes(spec)
    if causes:
        raise invalid(SERVICE, name, causes)


def _service_causes(spec: dict[str, Any]) -> Iterator[Cause]:
    ports = spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        yield required("spec.ports")
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name = port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        if name and name in seen:
            yield Cause(f"{path}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate")
        seen.add(name)
        number = port.get("port")
        if not isinstance(number, int) or not 0 < number <= _HIGHEST_PORT:
            yield wrong(f"{path}.port", number, _PORT_WORDS)


def check_service_change(old: Object, new: Object) -> None:
    """Raises 422 for an address that changes."""
    before, after = old["spec"].get("clusterIP"), new["spec"].get("clusterIP")
    if before and after != before and new["spec"]["type"] != "ExternalName":
        cause = wrong("spec.clusterIPs[0]", [after], "may not change once set")
        raise invalid(SERVICE, new["metadata"]["name"], [cause])


def default_ingress(ingress: Object) -> None:
    """Fills in what every new Ingress has."""
    ingress["status"] = {"loadBalancer": {}}


def check_ingress(ingress: Object) -> None:
    """Raises 422 for what no Ingress may look like."""
    spec = ingress.get("spec") or {}
    causes = []
    if not spec.get("rules") and not spec.get("defaultBackend"):
        why = "either `defaultBackend` or `rules` must be specified"
        causes.append(wrong("spec", [], why))
    for index, rule in enumerate(spec.get("rules") or ()):
        path = f"spec.rules[{index}].http.paths"
        paths = (rule.get("http") or {}).get("paths")
        if rule.get("http") is not None and not paths:
            causes.append(required(path))
        for number, row in enumerate(paths or ()):
            causes += _path_causes(row, f"{path}[{number}]")
    if causes:
        raise invalid(INGRESS, ingress["metadata"].get("name", ""), causes)


def _path_causes(row: dict[str, Any], where: str) -> Iterator[Cause]:
    kind, path = row.get("pathType"), row.get("path", "")
    if kind is None:
        yield required(f"{where}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield unsupported(f"{where}.pathType", kind, _PATH_TYPES)
    elif not path.startswith("/") and (path or kind != "ImplementationSpecific"):
        yield wrong(f"{where}.path", path, "must be an absolute path")
    for part in ("//", "/./", "/../", "%2f", "%2F") if kind in {"Exact", "Prefix"} else ():
        if part in path:
            yield wrong(f"{where}.path", path, f"must not contain '{part}'")
    yield from _backend_causes(row.get("backend") or {}, f"{where}.backend")


def _backend_causes(backend: dict[str, Any], where: str) -> Iterator[Cause]:
    service = backend.get("service")
    if not service:
        if not backend.get("resource"):
            yield wrong(where, "", "resource or service backend is required")
        return
    port = service.get("port") or {}
    if not service.get("name"):
        yield required(f"{where}.service.name")
    if port.get("name") and port.get("number"):
        yield wrong(where, "", "cannot set both port name & port number")
    elif not port.get("name") and not port.get("number"):
        yield required(where, "port name or number is required")
