"""Labels and annotations on Kubernetes objects: ours, and those of others that we read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

PREFIX = "quartermaster.dev/"

INSTALLATION = PREFIX + "installation"
RUN = PREFIX + "run"
RUN_NAME = PREFIX + "name"
DATASET_VERSION = PREFIX + "dataset-version"
DATASET_CACHE = PREFIX + "dataset-cache"
DATASET_SHARE = PREFIX + "dataset-share"
DATASET_PUSH = PREFIX + "dataset-push"
SNAPSHOT = PREFIX + "snapshot"
RESTORE = PREFIX + "restore"
REVERT = PREFIX + "revert"
PVC_COPY = PREFIX + "pvc-copy"
TEAM = PREFIX + "team"
MANIFEST = PREFIX + "manifest"
PERSON = PREFIX + "person"
RECORD = PREFIX + "record"
ROLE = PREFIX + "role"
ATTEMPTS = PREFIX + "attempts"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "quartermaster"

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MANAGED = "kueue.x-k8s.io/managed"
JOB_UID = "kueue.x-k8s.io/job-uid"
POD_GROUP = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_COUNT = "kueue.x-k8s.io/pod-group-total-count"
RETRIABLE_IN_GROUP = "kueue.x-k8s.io/retriable-in-group"
ELASTIC = "kueue.x-k8s.io/elastic-job"
JOB_NAME = "batch.kubernetes.io/job-name"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
# How KAI is asked for a part of a GPU.
GPU_FRACTION = "gpu-fraction"
# What pods that share a GPU have in common with the pod that holds it for them.
GPU_GROUP = "runai-gpu-group"
GPU_RESERVATIONS = frozenset({"kai-resource-reservation", "runai-reservation"})
# How Trident is asked for a clone of a volume, or for the same volume in another namespace.
CLONED_FROM = "trident.netapp.io/cloneFromPVC"
CLONED_FROM_SNAPSHOT = "trident.netapp.io/cloneFromSnapshot"
CLONED_TO = "trident.netapp.io/cloneToNamespace"
CLONED_FROM_NAMESPACE = "trident.netapp.io/cloneFromNamespace"
SHARED_FROM = "trident.netapp.io/shareFromPVC"
SHARED_TO = "trident.netapp.io/shareToNamespace"
READ_ONLY_CLONE = "trident.netapp.io/readOnlyClone"
SPLIT_CLONE = "trident.netapp.io/splitOnClone"
DEFAULT_SNAPSHOT_CLASS = "snapshot.storage.kubernetes.io/is-default-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
# Which pods keep an autoscaler from removing their node.
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"

if TYPE_CHECKING:
    Known = Mapping[str, str]
else:
    _ALL = {
        text: str for name, text in globals().items() if name.isupper() and isinstance(text, str)
    }
    # Decoded as this, the labels or annotations of an object are only those that stand here.
    Known = TypedDict("Known", _ALL, total=False)
