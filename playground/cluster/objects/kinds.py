"""Which kinds of objects the cluster serves, and in which versions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

Object = dict[str, Any]
KUEUE = "kueue.x-k8s.io"
KAI = "scheduling.run.ai"


@dataclass(frozen=True)
class Kind:
    """One kind of object; `versions` are those served, the preferred one first."""

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    short: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    stored: str = ""
    custom: bool = False
    generations: bool = False
    preserves: bool = False
    crd: Any = None

    @cached_property
    def qualified(self) -> str:
        """The name in messages and rules: jobs.batch, pods."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def version(self) -> str:
        """The version in which objects are kept."""
        return self.stored or self.versions[0]

    @property
    def api_version(self) -> str:
        """The apiVersion of kept objects."""
        return self.in_version(self.version)

    def in_version(self, version: str) -> str:
        """The apiVersion for one served version."""
        return f"{self.group}/{version}" if self.group else version


def _core(plural: str, kind: str, *short: str, **more: Any) -> Kind:
    return Kind("", plural, kind, short=short, **more)


def _kueue(plural: str, kind: str, *short: str, **more: Any) -> Kind:
    return Kind(
        KUEUE,
        plural,
        kind,
        ("v1beta2", "v1beta1"),
        short=short,
        stored="v1beta2",
        custom=True,
        generations=True,
        **more,
    )


_RBAC = "rbac.authorization.k8s.io"
_STATUS = ("status",)
NAMESPACE = _core(
    "namespaces", "Namespace", "ns", namespaced=False, subresources=("finalize", "status")
)
POD = _core(
    "pods", "Pod", "po", subresources=("eviction", "log", "status", "binding"), generations=True
)
NODE = _core("nodes", "Node", "no", namespaced=False, subresources=_STATUS)
SERVICE = _core("services", "Service", "svc", subresources=_STATUS)
SECRET = _core("secrets", "Secret")
CONFIG_MAP = _core("configmaps", "ConfigMap", "cm")
CLAIM = _core("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=_STATUS)
VOLUME = _core(
    "persistentvolumes", "PersistentVolume", "pv", namespaced=False, subresources=_STATUS
)
EVENT = _core("events", "Event", "ev")
RESOURCE_QUOTA = _core("resourcequotas", "ResourceQuota", "quota", subresources=_STATUS)
SERVICE_ACCOUNT = _core("serviceaccounts", "ServiceAccount", "sa")
NEW_EVENT = Kind("events.k8s.io", "events", "Event", short=("ev",))
JOB = Kind("batch", "jobs", "Job", subresources=_STATUS, generations=True)
LEASE = Kind("coordination.k8s.io", "leases", "Lease")
STORAGE_CLASS = Kind(
    "storage.k8s.io", "storageclasses", "StorageClass", namespaced=False, short=("sc",)
)
ROLE = Kind(_RBAC, "roles", "Role")
ROLE_BINDING = Kind(_RBAC, "rolebindings", "RoleBinding")
CLUSTER_ROLE = Kind(_RBAC, "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(_RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
PRIORITY_CLASS = Kind(
    "scheduling.k8s.io", "priorityclasses", "PriorityClass", namespaced=False, short=("pc",)
)
DEPLOYMENT = Kind(
    "apps",
    "deployments",
    "Deployment",
    short=("deploy",),
    subresources=("scale", "status"),
    generations=True,
)
REPLICA_SET = Kind(
    "apps",
    "replicasets",
    "ReplicaSet",
    short=("rs",),
    subresources=("scale", "status"),
    generations=True,
)
_NETWORK = "networking.k8s.io"
INGRESS = Kind(
    _NETWORK, "ingresses", "Ingress", short=("ing",), subresources=_STATUS, generations=True
)
INGRESS_CLASS = Kind(_NETWORK, "ingressclasses", "IngressClass", namespaced=False)
ENDPOINT_SLICE = Kind("discovery.k8s.io", "endpointslices", "EndpointSlice", generations=True)
CRD = Kind(
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    short=("crd", "crds"),
    subresources=_STATUS,
    generations=True,
)
CLUSTER_QUEUE = _kueue(
    "clusterqueues", "ClusterQueue", "cq", namespaced=False, subresources=_STATUS
)
LOCAL_QUEUE = _kueue("localqueues", "LocalQueue", "queue", "queues", "lq", subresources=_STATUS)
COHORT = _kueue("cohorts", "Cohort", "co", namespaced=False, subresources=_STATUS)
FLAVOR = _kueue("resourceflavors", "ResourceFlavor", "flavor", "flavors", "rf", namespaced=False)
ADMISSION_CHECK = _kueue("admissionchecks", "AdmissionCheck", namespaced=False)
WORKLOAD = _kueue("workloads", "Workload", "kwl", "kueueworkload", subresources=_STATUS)
WORKLOAD_PRIORITY = _kueue("workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False)
KAI_QUEUE = Kind(
    KAI,
    "queues",
    "Queue",
    ("v2",),
    namespaced=False,
    subresources=_STATUS,
    custom=True,
    generations=True,
)
POD_GROUP = Kind(
    KAI,
    "podgroups",
    "PodGroup",
    ("v2alpha2",),
    short=("pg",),
    subresources=_STATUS,
    custom=True,
    generations=True,
)
KAI_KINDS = (KAI_QUEUE, POD_GROUP)
# By this Run:ai's own installation is known in a cluster.
RUNAI_CONFIG = Kind("run.ai", "runaiconfigs", "RunaiConfig", ("v1",), custom=True)
KUEUE_KINDS = (
    *(CLUSTER_QUEUE, LOCAL_QUEUE, COHORT, FLAVOR, ADMISSION_CHECK, WORKLOAD, WORKLOAD_PRIORITY),
)


def _operated(group: str, plural: str, kind: str, version: str, **more: Any) -> Kind:
    return Kind(
        group, plural, kind, (version,), custom=True, generations=True, subresources=_STATUS, **more
    )


KUBEFLOW = "kubeflow.org"
MPI_JOB = _operated(KUBEFLOW, "mpijobs", "MPIJob", "v2beta1")
OLD_MPI_JOB = _operated(KUBEFLOW, "mpijobs", "MPIJob", "v1")
PYTORCH_JOB = _operated(KUBEFLOW, "pytorchjobs", "PyTorchJob", "v1")
JOB_SET = _operated("jobset.x-k8s.io", "jobsets", "JobSet", "v1alpha2")
_TRAINER, _ALPHA = "trainer.kubeflow.org", "v1alpha1"
TRAIN_JOB = _operated(_TRAINER, "trainjobs", "TrainJob", _ALPHA)
RUNTIME = _operated(_TRAINER, "trainingruntimes", "TrainingRuntime", _ALPHA)
CLUSTER_RUNTIME = _operated(
    _TRAINER, "clustertrainingruntimes", "ClusterTrainingRuntime", _ALPHA, namespaced=False
)
RAY_JOB = _operated("ray.io", "rayjobs", "RayJob", "v1")
RAY_CLUSTER = _operated("ray.io", "rayclusters", "RayCluster", "v1")
VOLUME_REFERENCE = Kind(
    "trident.netapp.io",
    "tridentvolumereferences",
    "TridentVolumeReference",
    short=("tvr", "tvref"),
    custom=True,
    generations=True,
)
TRIDENT_VOLUME = Kind(
    "trident.netapp.io", "tridentvolumes", "TridentVolume", short=("tvol",), custom=True,
    generations=True,
)  # fmt: skip
SNAPSHOT_ACTION = Kind(
    "trident.netapp.io",
    "tridentactionsnapshotrestores",
    "TridentActionSnapshotRestore",
    short=("tasr",),
    custom=True,
    generations=True,
)
_SNAPSHOT = "snapshot.storage.k8s.io"
VOLUME_SNAPSHOT = _operated(_SNAPSHOT, "volumesnapshots", "VolumeSnapshot", "v1", short=("vs",))
VOLUME_SNAPSHOT_CLASS = _operated(
    _SNAPSHOT, "volumesnapshotclasses", "VolumeSnapshotClass", "v1", namespaced=False
)
VOLUME_SNAPSHOT_CONTENT = _operated(
    _SNAPSHOT, "volumesnapshotcontents", "VolumeSnapshotContent", "v1", namespaced=False
)
BUILT_IN = (
    NAMESPACE,
    POD,
    NODE,
    SERVICE,
    SECRET,
    CONFIG_MAP,
    CLAIM,
    VOLUME,
    EVENT,
    RESOURCE_QUOTA,
    SERVICE_ACCOUNT,
    NEW_EVENT,
    JOB,
    LEASE,
    STORAGE_CLASS,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    PRIORITY_CLASS,
    DEPLOYMENT,
    REPLICA_SET,
    INGRESS,
    INGRESS_CLASS,
    ENDPOINT_SLICE,
    CRD,
)


class Kinds:
    """The kinds served now; definitions of custom resources come and go."""

    def __init__(self) -> None:
        self._by_name = {(kind.group, kind.plural): kind for kind in (*BUILT_IN, *KUEUE_KINDS)}

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_name.values())

    def find(self, group: str, plural: str) -> Kind | None:
        """The kind of this name in whatever versions it is served."""
        return self._by_name.get((group, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """The kind that objects with this apiVersion and kind belong to."""
        group, _, version = api_version.rpartition("/")
        return next(
            (k for k in self if (k.group, k.kind) == (group, kind) and version in k.versions), None
        )

    def serve(self, group: str, versions: tuple[str, ...]) -> None:
        """Serves the kinds of a group in these versions only."""
        for key, kind in list(self._by_name.items()):
            if kind.group == group:
                self._by_name[key] = replace(kind, versions=versions)

    def install(self, *kinds: Kind) -> None:
        """Serves kinds that an operator brings; an old version takes no place of a newer one."""
        for kind in kinds:
            known = self._by_name.get((kind.group, kind.plural))
            if known is None or kind is not OLD_MPI_JOB:
                self._by_name[kind.group, kind.plural] = kind

    def define(self, definition: Object) -> None:
        """Serves what a CustomResourceDefinition declares."""
        spec = definition["spec"]
        versions = [v for v in spec["versions"] if v.get("served")]
        stored = next(v for v in spec["versions"] if v.get("storage"))
        names = spec["names"]
        self._by_name[spec["group"], names["plural"]] = Kind(
            spec["group"],
            names["plural"],
            names["kind"],
            tuple(version["name"] for version in versions),
            namespaced=spec.get("scope") == "Namespaced",
            short=tuple(names.get("shortNames", ())),
            subresources=tuple(stored.get("subresources", {})),
            stored=stored["name"],
            custom=True,
            generations=True,
            crd=stored,
        )

    def add(self, kind: Kind) -> None:
        """Serves a kind."""
        self._by_name[kind.group, kind.plural] = kind

    def forget(self, group: str, plural: str) -> None:
        """Serves a custom kind no longer."""
        self._by_name.pop((group, plural), None)
