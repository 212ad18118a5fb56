"""The Kubernetes resources that the bot uses, and their API paths."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote

from bot.cluster import holders
from bot.cluster.types import (
    allowances,
    claims,
    events,
    kai,
    namespaces,
    objects,
    queues,
    secrets,
    services,
    snapshots,
    trident,
)

T = TypeVar("T", bound=objects.ClusterObject)

KUEUE = "kueue.x-k8s.io"
VISIBILITY = "visibility.kueue.x-k8s.io"
KAI = "scheduling.run.ai"
SNAPSHOT = "snapshot.storage.k8s.io"


@dataclass(frozen=True, eq=False)  # one of each is made; to compare their fields takes longer
class Resource(Generic[T]):
    """A kind of object; `versions` are those we can read, newest first."""

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    type: type[T]
    namespaced: bool = True
    metadata_only: bool = False
    purpose: str = ""
    """Why the same objects are read a second time; two that are watched have two names so."""

    @property
    def name(self) -> str:
        """The display name: the plural, with its group if it has one."""
        name = ".".join(part for part in (self.plural, self.group) if part)
        return f"{name} ({self.purpose})" if self.purpose else name

    def path(self, version: str, namespace: str | None = None, name: str | None = None) -> str:
        """Its path on the API server: all of them, those of a namespace, or one."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        scope = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        return f"{root}{scope}/{self.plural}" + (f"/{quote(name, safe='')}" if name else "")


def _core(plural: str, type_: type[T], *, namespaced: bool = True) -> Resource[T]:
    return Resource("", ("v1",), plural, type_.__name__, type_, namespaced=namespaced)


def _kueue(plural: str, type_: type[T], *, namespaced: bool = False) -> Resource[T]:
    versions = ("v1beta2", "v1beta1")
    return Resource(KUEUE, versions, plural, type_.__name__, type_, namespaced=namespaced)


PODS = _core("pods", objects.Pod)
# The same objects, for who asks what others hold.
HOLDERS = Resource("", ("v1",), "pods", "Pod", holders.Holder, purpose="holders")
NODES = _core("nodes", objects.Node, namespaced=False)
EVENTS = _core("events", events.Event)
SECRETS = Resource("", ("v1",), "secrets", "Secret", namespaces.Secret, metadata_only=True)
# Only for Secrets that the bot made itself.
OPEN_SECRETS = Resource("", ("v1",), "secrets", "Secret", secrets.OpenSecret)
PVCS = _core("persistentvolumeclaims", claims.PersistentVolumeClaim)
VOLUMES = _core("persistentvolumes", claims.PersistentVolume, namespaced=False)
ALLOWANCES = Resource("", ("v1",), "resourcequotas", "ResourceQuota", allowances.Allowance)
NAMESPACES = _core("namespaces", namespaces.Namespace, namespaced=False)
ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", ("v1",), "rolebindings", "RoleBinding", namespaces.RoleBinding
)
SERVICE_ACCOUNTS = _core("serviceaccounts", namespaces.ServiceAccount)
SERVICES = _core("services", services.Service)
DEPLOYMENTS = Resource("apps", ("v1",), "deployments", "Deployment", services.Deployment)
INGRESSES = Resource("networking.k8s.io", ("v1",), "ingresses", "Ingress", services.Ingress)
STORAGE_CLASSES = Resource(
    "storage.k8s.io", ("v1",), "storageclasses", "StorageClass", claims.StorageClass,
    namespaced=False,
)  # fmt: skip
SNAPSHOTS = Resource(
    SNAPSHOT, ("v1",), "volumesnapshots", "VolumeSnapshot", snapshots.VolumeSnapshot
)
SNAPSHOT_CLASSES = Resource(
    SNAPSHOT, ("v1",), "volumesnapshotclasses", "VolumeSnapshotClass",
    snapshots.VolumeSnapshotClass, namespaced=False,
)  # fmt: skip
SNAPSHOT_CONTENTS = Resource(
    SNAPSHOT, ("v1",), "volumesnapshotcontents", "VolumeSnapshotContent",
    snapshots.VolumeSnapshotContent, namespaced=False,
)  # fmt: skip
FOREIGN_SCHEDULES = Resource(
    "snapscheduler.backube", ("v1",), "snapshotschedules", "SnapshotSchedule",
    snapshots.ForeignSchedule,
)  # fmt: skip
SNAPSHOT_ACTIONS = Resource(
    "trident.netapp.io", ("v1",), "tridentactionsnapshotrestores", "TridentActionSnapshotRestore",
    snapshots.SnapshotAction,
)  # fmt: skip
VOLUME_REFERENCES = Resource(
    "trident.netapp.io", ("v1",), "tridentvolumereferences", "TridentVolumeReference",
    claims.VolumeReference,
)  # fmt: skip
TRIDENT_VOLUMES = Resource(
    "trident.netapp.io", ("v1",), "tridentvolumes", "TridentVolume", trident.TridentVolume
)
JOBS = Resource("batch", ("v1",), "jobs", "Job", objects.Job)

WORKLOADS = _kueue("workloads", queues.Workload, namespaced=True)
CLUSTER_QUEUES = _kueue("clusterqueues", queues.ClusterQueue)
LOCAL_QUEUES = _kueue("localqueues", queues.LocalQueue, namespaced=True)
COHORTS = _kueue("cohorts", queues.Cohort)
RESOURCE_FLAVORS = _kueue("resourceflavors", queues.ResourceFlavor)
ADMISSION_CHECKS = _kueue("admissionchecks", queues.AdmissionCheck)
PRIORITY_CLASSES = _kueue("workloadpriorityclasses", queues.WorkloadPriorityClass)

KAI_QUEUES = Resource(KAI, ("v2",), "queues", "Queue", kai.Queue, namespaced=False)
POD_GROUPS = Resource(KAI, ("v2alpha2",), "podgroups", "PodGroup", kai.PodGroup)
SYSTEM_PRIORITIES = Resource(
    "scheduling.k8s.io", ("v1",), "priorityclasses", "PriorityClass", kai.PriorityClass,
    namespaced=False,
)  # fmt: skip


def is_owned(object_: objects.ClusterObject, uids: Collection[str]) -> bool:
    """Whether one of these uids owns the object."""
    return any(owner.uid in uids for owner in object_.metadata.owner_references)
