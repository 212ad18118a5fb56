"""Labels and annotations on Kubernetes objects: ours, and those of others that we read."""

PREFIX = "quartermaster.dev/"

INSTALLATION = PREFIX + "installation"
RUN = PREFIX + "run"
DATASET_VERSION = PREFIX + "dataset-version"
DATASET_CACHE = PREFIX + "dataset-cache"
DATASET_SHARE = PREFIX + "dataset-share"
TEAM = PREFIX + "team"
PERSON = PREFIX + "person"
ROLE = PREFIX + "role"
ATTEMPTS = PREFIX + "attempts"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "quartermaster"

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
JOB_UID = "kueue.x-k8s.io/job-uid"
ELASTIC = "kueue.x-k8s.io/elastic-job"
JOB_NAME = "batch.kubernetes.io/job-name"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
# How Trident is asked for a clone of a volume, or for the same volume in another namespace.
CLONED_FROM = "trident.netapp.io/cloneFromPVC"
CLONED_FROM_NAMESPACE = "trident.netapp.io/cloneFromNamespace"
SHARED_FROM = "trident.netapp.io/shareFromPVC"
INDEX = "batch.kubernetes.io/job-completion-index"
