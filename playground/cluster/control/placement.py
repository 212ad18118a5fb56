"""Why a pod may not run on a node: taints, labels, room, volumes, and the pods already there."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from playground.cluster.control.claims import SELECTED_NODE
from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import CLAIM, NODE, POD, STORAGE_CLASS, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.selectors import matches_labels
from playground.cluster.objects.storage_rules import claims_of, volume_allows, volume_of

Amounts = dict[str, Decimal]
HOST = "kubernetes.io/hostname"
_ANTI = "node(s) didn't match pod anti-affinity rules"
_ALONE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)


def tolerates(spec: dict[str, Any], taint: dict[str, Any]) -> bool:
    """Whether a pod puts up with a taint."""
    return any(
        toleration.get("key") in {None, "", taint["key"]}
        and toleration.get("effect") in {None, "", taint["effect"]}
        and (
            toleration.get("operator", "Equal") == "Exists"
            or toleration.get("value", "") == taint.get("value", "")
        )
        for toleration in spec.get("tolerations") or ()
    )


class Placement:
    """Says in the scheduler's words what keeps a pod off a node."""

    def __init__(self, world: World) -> None:
        self._world = world

    def problem(self, pod: Object) -> str:
        """What keeps a pod off every node: a claim that is missing, going or not bound."""
        space = pod["metadata"]["namespace"]
        for _, name in claims_of(pod):
            claim = self._world.store.get(CLAIM, space, name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if claim["metadata"].get("deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
            if claim["status"]["phase"] != "Bound" and not self._waits(claim):
                return "pod has unbound immediate PersistentVolumeClaims"
        return ""

    def obstacles(self, pod: Object, node: Object, wanted: Amounts, used: Amounts) -> list[str]:
        """All that keeps a pod off one node, as one look of the scheduler finds it."""
        spec = pod["spec"]
        reason = _node_obstacle(spec, node) or self._claim_obstacle(pod, node)
        if reason:
            return [reason]
        allocatable = node["status"]["allocatable"]
        full = [
            "Too many pods" if name == "pods" else f"Insufficient {name}"
            for name, amount in {**wanted, "pods": Decimal(1)}.items()
            if amount + used.get(name, Decimal(0)) > parse_quantity(allocatable.get(name, "0"))
        ]
        if full:
            return full
        return [_ANTI] if self._repelled(pod, node) else []

    def settle_volumes(self, pod: Object, node: Object) -> bool:
        """Asks for the volumes that wait for this pod; whether all it needs are bound."""
        space, name = pod["metadata"]["namespace"], node["metadata"]["name"]
        ready = True
        for _, wanted in claims_of(pod):
            claim = self._world.store.get(CLAIM, space, wanted)
            if claim is not None and claim["status"]["phase"] != "Bound":
                ready = False
                self._world.change(CLAIM, (space, wanted), lambda obj: _choose(obj, name))
        return ready

    def _waits(self, claim: Object) -> bool:
        name = claim["spec"].get("storageClassName") or ""
        found = self._world.store.get(STORAGE_CLASS, "", name)
        return bool(found and found.get("volumeBindingMode") == "WaitForFirstConsumer")

    def _claim_obstacle(self, pod: Object, node: Object) -> str:
        space = pod["metadata"]["namespace"]
        labels = node["metadata"].get("labels") or {}
        for _, name in claims_of(pod):
            claim = self._world.store.get(CLAIM, space, name)
            if claim is None:
                continue
            chosen = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            bound = claim["status"]["phase"] == "Bound"
            if chosen and not bound and chosen != node["metadata"]["name"]:
                return "node(s) didn't find available persistent volumes to bind"
            volume = volume_of(self._world.store, claim)
            if volume is not None and not volume_allows(volume, labels):
                return "node(s) didn't match PersistentVolume's node affinity"
            if claim["spec"]["accessModes"] == ["ReadWriteOncePod"] and self._taken(pod, name):
                return _ALONE
        return ""

    def _taken(self, pod: Object, claim: str) -> bool:
        return any(
            claim in {name for _, name in claims_of(other)}
            for other in self._placed(pod["metadata"]["namespace"])
            if other["metadata"]["uid"] != pod["metadata"]["uid"]
        )

    def _placed(self, space: str = "") -> Iterator[Object]:
        pods = self._world.store.all(POD, space)
        return (pod for pod in pods if pod["spec"].get("nodeName") and not is_ended(pod))

    def _repelled(self, pod: Object, node: Object) -> bool:
        """Whether a pod wants none of its like near it, and one is there."""
        space = pod["metadata"]["namespace"]
        rules = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for rule in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            near = self._near(node, rule["topologyKey"])
            selector = rule.get("labelSelector") or {}
            if any(
                other["spec"]["nodeName"] in near
                and matches_labels(selector, other["metadata"].get("labels") or {})
                for other in self._placed(space)
            ):
                return True
        return self._port_taken(pod, node)

    def _near(self, node: Object, key: str) -> set[str]:
        value = (node["metadata"].get("labels") or {}).get(key)
        return {
            other["metadata"]["name"]
            for other in self._world.store.all(NODE)
            if value is not None and (other["metadata"].get("labels") or {}).get(key) == value
        }

    def _port_taken(self, pod: Object, node: Object) -> bool:
        wanted = set(_host_ports(pod))
        return bool(wanted) and any(
            other["spec"]["nodeName"] == node["metadata"]["name"]
            and wanted & set(_host_ports(other))
            for other in self._placed()
        )


def _host_ports(pod: Object) -> Iterable[int]:
    network = pod["spec"].get("hostNetwork")
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port["containerPort"] if network else None)
            if number:
                yield number


def _node_obstacle(spec: dict[str, Any], node: Object) -> str:
    node_spec = node.get("spec") or {}
    if node_spec.get("unschedulable"):
        return "node(s) were unschedulable"
    labels = node["metadata"].get("labels") or {}
    if not _selected(spec, labels, node["metadata"]["name"]):
        return "node(s) didn't match Pod's node affinity/selector"
    for taint in node_spec.get("taints") or ():
        if taint["effect"] != "PreferNoSchedule" and not tolerates(spec, taint):
            return "node(s) had untolerated taint(s)"
    return ""


def _selected(spec: dict[str, Any], labels: dict[str, str], name: str) -> bool:
    if not matches_labels({"matchLabels": spec.get("nodeSelector") or {}}, labels):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or ()
    fields = {"metadata.name": name}
    return not terms or any(
        matches_labels(term, labels)
        and matches_labels({"matchExpressions": term.get("matchFields") or ()}, fields)
        for term in terms
    )


def _choose(claim: Object, node: str) -> None:
    claim["metadata"].setdefault("annotations", {}).setdefault(SELECTED_NODE, node)
