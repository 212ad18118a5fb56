"""Policies of a cluster's own, by which its API server refuses what runs are made of."""

from collections.abc import Sequence

from bot.cluster import labels
from playground.cluster.story import training_job
from tests.cluster.api import Api, ApiError, Object, wait_for
from tests.cluster.site import JOBS, Site

_POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
_BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
_OURS = {labels.RUN: "probe"}
_PROBES: dict[str, Object] = {
    JOBS: training_job("probe", 1),
    "services": {"metadata": {"name": "probe"}, "spec": {"ports": [{"port": 80}]}},
}


def forbid(site: Site, namespace: str, resources: Sequence[str], unless: str, message: str) -> None:
    """Has new objects of runs refused in a namespace, `unless` (in CEL) is true of them.

    The first of the resources is that by which it is seen that the policy holds: a Job or a
    Service. Returns when it does.
    """
    name = f"{namespace}-{resources[0].partition('.')[0]}"
    rule = {
        "apiGroups": sorted({each.partition(".")[2] for each in resources}),
        "resources": [each.partition(".")[0] for each in resources],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
    }
    match = {
        "resourceRules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchExpressions": [{"key": labels.RUN, "operator": "Exists"}]},
    }
    validations = [{"expression": unless, "message": message}]
    spec: Object = {"matchConstraints": match, "validations": validations}
    site.add(_POLICIES, {"metadata": {"name": name}, "spec": spec})
    spec = {"policyName": name, "validationActions": ["Deny"]}
    site.add(_BINDINGS, {"metadata": {"name": name}, "spec": spec})
    wait_for(lambda: _refuses(site.api, namespace, resources[0], message), f"policy {name}")


def _refuses(api: Api, namespace: str, resource: str, message: str) -> bool:
    probe = _PROBES[resource]
    body = {**probe, "metadata": {**probe["metadata"], "labels": _OURS}}
    try:
        api.create(resource, body, namespace, dryRun="All")
    except ApiError as error:
        return message in error.body["message"]
    return False
