"""What stands behind Services and Ingresses: the addresses of pods, and of the way in."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.control.job_counts import is_active, is_ended, is_ready
from playground.cluster.control.job_pods import owner_reference
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import (
    ENDPOINT_SLICE,
    INGRESS,
    INGRESS_CLASS,
    POD,
    SERVICE,
    Object,
)
from playground.cluster.objects.selectors import matches_labels
from playground.cluster.objects.store import Change, Key, key_of

NAME = "kubernetes.io/service-name"
MANAGER = "endpointslice.kubernetes.io/managed-by"
DEFAULT = "ingressclass.kubernetes.io/is-default-class"
# Where the ingress controller of the playground would listen.
ENTRANCE = "203.0.113.10"


class EndpointSlices:
    """Writes which pods answer for each Service."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Services that changed, and those that a changed pod stands behind."""
        if change.kind == SERVICE.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == POD.qualified:
            labels = change.obj["metadata"].get("labels") or {}
            for service in self._world.store.all(SERVICE, change.key[0]):
                if _selects(service, labels):
                    yield key_of(service)

    def reconcile(self, key: Key) -> None:
        """Writes the slice of one Service."""
        service = self._world.store.get(SERVICE, *key)
        if service is None or not service["spec"].get("selector"):
            return
        pods = [
            pod
            for pod in self._world.store.all(POD, key[0])
            if _selects(service, pod["metadata"].get("labels") or {})
            and pod["status"].get("podIP")
            and not is_ended(pod)
        ]
        pods.sort(key=lambda pod: str(pod["metadata"]["name"]))
        body = {
            "addressType": "IPv4",
            "ports": [_port(port, pods) for port in service["spec"].get("ports") or ()],
            "endpoints": [_endpoint(service, pod) for pod in pods],
        }
        name = self._name(service)
        if name is None:
            self._create(service, body)
        else:
            self._world.change(ENDPOINT_SLICE, (key[0], name), lambda obj: obj.update(body))

    def _name(self, service: Object) -> str | None:
        owned = self._world.store.owned_by(service["metadata"]["uid"], ENDPOINT_SLICE)
        return next((slice_["metadata"]["name"] for _, slice_ in owned), None)

    def _create(self, service: Object, body: Object) -> None:
        space, name = key_of(service)
        labels = {NAME: name, MANAGER: "endpointslice-controller.k8s.io"}
        if service["spec"].get("clusterIP") == "None":
            labels["service.kubernetes.io/headless"] = ""
        metadata = {
            "generateName": f"{name}-",
            "labels": labels,
            "ownerReferences": [owner_reference(service)],
        }
        self._world.operations.create(ENDPOINT_SLICE, space, {"metadata": metadata, **body})


class Ingresses:
    """Gives Ingresses of a class that is there the address of the way in."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Ingresses that changed, and all when a class comes or goes."""
        if change.kind == INGRESS.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == INGRESS_CLASS.qualified:
            yield from (key_of(ingress) for ingress in self._world.store.all(INGRESS))

    def reconcile(self, key: Key) -> None:
        """Writes where an Ingress is reached, if anywhere."""
        ingress = self._world.store.get(INGRESS, *key)
        if ingress is None:
            return
        name = ingress["spec"].get("ingressClassName")
        served = any(
            name == found["metadata"]["name"]
            or (not name and (found["metadata"].get("annotations") or {}).get(DEFAULT) == "true")
            for found in self._world.store.all(INGRESS_CLASS)
        )
        balancer: dict[str, Any] = {"ingress": [{"ip": ENTRANCE}]} if served else {}
        kept = self._world.change(
            INGRESS, key, lambda obj: obj.update(status={"loadBalancer": balancer})
        )
        if served and kept is not None and kept is not ingress:
            why = ("Sync", "Scheduled for sync")
            self._world.record(INGRESS, kept, why, "nginx-ingress-controller")


def _selects(service: Object, labels: dict[str, str]) -> bool:
    selector = service["spec"].get("selector")
    return bool(selector) and matches_labels({"matchLabels": selector}, labels)


def _endpoint(service: Object, pod: Object) -> dict[str, Any]:
    ready = is_ready(pod) and is_active(pod)
    row = {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {
            "ready": ready or bool(service["spec"].get("publishNotReadyAddresses")),
            "serving": is_ready(pod),
            "terminating": not is_active(pod),
        },
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": {
            "kind": "Pod",
            "namespace": pod["metadata"]["namespace"],
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
        },
    }
    if pod["spec"].get("subdomain") == service["metadata"]["name"] and pod["spec"].get("hostname"):
        row["hostname"] = pod["spec"]["hostname"]
    return row


def _port(port: dict[str, Any], pods: list[Object]) -> dict[str, Any]:
    target = port["targetPort"]
    if isinstance(target, str):
        numbers = (
            mine["containerPort"]
            for pod in pods
            for container in pod["spec"]["containers"]
            for mine in container.get("ports") or ()
            if mine.get("name") == target
        )
        target = next(numbers, None)
    row = {"name": port.get("name", ""), "protocol": port["protocol"]}
    return row if target is None else {**row, "port": target}
