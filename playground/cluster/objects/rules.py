"""What the API server fills in and refuses, kind by kind."""

from collections.abc import Callable

from playground.cluster.objects.app_rules import (
    check_deployment,
    check_replica_set,
    check_selector_kept,
    default_deployment,
    default_replicas,
)
from playground.cluster.objects.errors import Cause, invalid
from playground.cluster.objects.job_checks import check_job, check_job_change
from playground.cluster.objects.jobs import default_job
from playground.cluster.objects.kinds import (
    CLAIM,
    CLUSTER_QUEUE,
    CONFIG_MAP,
    CRD,
    DEPLOYMENT,
    INGRESS,
    JOB,
    LOCAL_QUEUE,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SECRET,
    SERVICE,
    STORAGE_CLASS,
    VOLUME,
    WORKLOAD,
    Kind,
    Object,
)
from playground.cluster.objects.network_rules import (
    check_ingress,
    check_service,
    check_service_change,
    default_ingress,
    default_service,
)
from playground.cluster.objects.pods import (
    check_pod_change,
    check_pod_spec,
    default_pod,
)
from playground.cluster.objects.secrets import check_secret, check_secret_change, default_secret
from playground.cluster.objects.storage_rules import (
    check_claim,
    check_claim_change,
    check_class_change,
    default_claim,
    default_class,
    default_volume,
)


def apply_defaults(kind: Kind, obj: Object) -> None:
    """Fills in what every new object of this kind has; name and uid must be set."""
    if kind.qualified in _DEFAULTS:
        _DEFAULTS[kind.qualified](obj)


def complete(kind: Kind, obj: Object) -> None:
    """Turns into its kept form what may be written in another, in every write."""
    if kind == SECRET:
        default_secret(obj)


def check_new(kind: Kind, obj: Object) -> None:
    """Raises what the API server answers to a new or changed object that may not be so."""
    if kind.qualified in _CHECKS:
        _CHECKS[kind.qualified](obj)


def check_change(kind: Kind, old: Object, new: Object) -> None:
    """Raises 422 for changes of what is fixed."""
    if kind.qualified in _CHANGES:
        _CHANGES[kind.qualified](old, new)


def _default_namespace(obj: Object) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"][
        "name"
    ]
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj["status"] = {"phase": "Active"}


def _default_queue(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("queueingStrategy", "BestEffortFIFO")
    spec.setdefault("stopPolicy", "None")
    fungibility = spec.setdefault("flavorFungibility", {})
    fungibility.setdefault("whenCanBorrow", "MayStopSearch")
    fungibility.setdefault("whenCanPreempt", "TryNextFlavor")
    preemption = spec.setdefault("preemption", {})
    preemption.setdefault("reclaimWithinCohort", "Never")
    preemption.setdefault("withinClusterQueue", "Never")
    preemption.setdefault("borrowWithinCohort", {"policy": "Never"})


def _default_local_queue(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("stopPolicy", "None")


def _default_workload(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("active", True)
    obj["status"] = {}


def _check_pod(obj: Object) -> None:
    check_pod_spec(POD, obj, obj.get("spec") or {}, "spec")


def _check_kept_data(kind: Kind) -> Callable[[Object, Object], None]:
    def check(old: Object, new: Object) -> None:
        if old.get("immutable") and (old.get("data") != new.get("data")):
            why = "Forbidden: field is immutable when `immutable` is set"
            raise invalid(
                kind, new["metadata"]["name"], [Cause("data", why, "FieldValueForbidden")]
            )

    return check


def _both(
    first: Callable[[Object, Object], None], second: Callable[[Object, Object], None]
) -> Callable[[Object, Object], None]:
    def check(old: Object, new: Object) -> None:
        first(old, new)
        second(old, new)

    return check


_DEFAULTS: dict[str, Callable[[Object], None]] = {
    POD.qualified: default_pod,
    JOB.qualified: default_job,
    NAMESPACE.qualified: _default_namespace,
    CLAIM.qualified: default_claim,
    VOLUME.qualified: default_volume,
    STORAGE_CLASS.qualified: default_class,
    SECRET.qualified: default_secret,
    SERVICE.qualified: default_service,
    INGRESS.qualified: default_ingress,
    DEPLOYMENT.qualified: default_deployment,
    REPLICA_SET.qualified: default_replicas,
    CLUSTER_QUEUE.qualified: _default_queue,
    LOCAL_QUEUE.qualified: _default_local_queue,
    WORKLOAD.qualified: _default_workload,
    CRD.qualified: lambda obj: obj.update(status={}),
}
_CHECKS: dict[str, Callable[[Object], None]] = {
    POD.qualified: _check_pod,
    JOB.qualified: check_job,
    SECRET.qualified: check_secret,
    CLAIM.qualified: check_claim,
    SERVICE.qualified: check_service,
    INGRESS.qualified: check_ingress,
    DEPLOYMENT.qualified: check_deployment,
    REPLICA_SET.qualified: check_replica_set,
}
_CHANGES: dict[str, Callable[[Object, Object], None]] = {
    POD.qualified: check_pod_change,
    JOB.qualified: check_job_change,
    CLAIM.qualified: check_claim_change,
    STORAGE_CLASS.qualified: check_class_change,
    SERVICE.qualified: check_service_change,
    DEPLOYMENT.qualified: check_selector_kept,
    REPLICA_SET.qualified: check_selector_kept,
    SECRET.qualified: _both(_check_kept_data(SECRET), check_secret_change),
    CONFIG_MAP.qualified: _check_kept_data(CONFIG_MAP),
}
