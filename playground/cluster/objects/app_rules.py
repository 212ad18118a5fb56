"""What the API server fills in and refuses in Deployments and ReplicaSets."""

from playground.cluster.objects.errors import Cause, invalid, required, unsupported, wrong
from playground.cluster.objects.kinds import DEPLOYMENT, REPLICA_SET, Kind, Object
from playground.cluster.objects.pods import check_pod_spec, default_pod_spec
from playground.cluster.objects.selectors import matches_labels


def default_replicas(obj: Object) -> None:
    """Fills in what every new ReplicaSet has."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_pod_spec(spec.setdefault("template", {}).setdefault("spec", {}))
    obj["status"] = {"replicas": 0}


def default_deployment(obj: Object) -> None:
    """Fills in what every new Deployment has."""
    default_replicas(obj)
    spec = obj["spec"]
    obj["status"] = {}
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    usual = {"maxSurge": "25%", "maxUnavailable": "25%"}
    spec.setdefault("strategy", {"type": "RollingUpdate", "rollingUpdate": usual})


def check_deployment(obj: Object) -> None:
    """Raises 422 for what no Deployment may look like."""
    _check(DEPLOYMENT, obj)


def check_replica_set(obj: Object) -> None:
    """Raises 422 for what no ReplicaSet may look like."""
    _check(REPLICA_SET, obj)


def _check(kind: Kind, obj: Object) -> None:
    spec = obj["spec"]
    selector, template = spec.get("selector"), spec["template"]
    labels = (template.get("metadata") or {}).get("labels") or {}
    causes: list[Cause] = []
    if not selector:
        causes.append(required("spec.selector"))
    elif not matches_labels(selector, labels):
        why = "`selector` does not match template `labels`"
        causes.append(wrong("spec.template.metadata.labels", labels, why))
    policy = template["spec"].get("restartPolicy", "Always")
    if policy != "Always":
        causes.append(unsupported("spec.template.spec.restartPolicy", policy, ["Always"]))
    if causes:
        raise invalid(kind, obj["metadata"]["name"], causes)
    check_pod_spec(kind, obj, template["spec"], "spec.template.spec")


def check_selector_kept(old: Object, new: Object) -> None:
    """Raises 422 for a selector that changes."""
    before, after = old["spec"].get("selector"), new["spec"].get("selector")
    if before != after:
        kind = DEPLOYMENT if new["kind"] == DEPLOYMENT.kind else REPLICA_SET
        cause = wrong("spec.selector", after, "field is immutable")
        raise invalid(kind, new["metadata"]["name"], [cause])
