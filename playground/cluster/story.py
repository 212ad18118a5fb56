"""The cluster of the story: two nodes, two teams, one cohort."""

from datetime import datetime
from typing import Any

from playground.clock import VirtualClock
from playground.cluster.cluster import Cluster
from playground.cluster.control.claims import SECONDS
from playground.cluster.control.pod_status import host_address
from playground.cluster.control.snapshot_checks import DEFAULT as DEFAULT_SNAPSHOTS
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.storage_rules import DEFAULT_CLASS
from playground.ledger import Ledger

GPU = "nvidia.com/gpu"
PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
TEAMS = {"team-a": "4", "team-b": "8"}
NODE_RESOURCES = {
    "cpu": "192",
    "memory": "2Ti",
    "ephemeral-storage": "3Ti",
    GPU: "8",
    "pods": "250",
}
COVERED = ("cpu", "memory", GPU)


def story_cluster(clock: VirtualClock, ledger: Ledger | None = None) -> Cluster:
    """The cluster everybody in the story knows, ready to be started."""
    cluster = Cluster(clock, ledger)
    for number in (1, 2):
        add_node(cluster, f"gpu-{number}", NODE_RESOURCES, PRODUCT)
    cluster.create("storageclasses", storage_class("standard", seconds=0, default=True))
    cluster.create("resourceflavors", flavor("h100"))
    cluster.create("cohorts", {"metadata": {"name": "gpus"}, "spec": {}})
    for name, value in (("interactive", 1000), ("high", 100), ("low", -100)):
        body = {"metadata": {"name": name}, "value": value, "description": f"{name} priority"}
        cluster.create("workloadpriorityclasses", body)
    for name in ("default", "kube-system", "quartermaster"):
        cluster.create("namespaces", {"metadata": {"name": name}})
    for team, gpus in TEAMS.items():
        add_team(cluster, team, gpus)
    return cluster


def runai_cluster(clock: VirtualClock, ledger: Ledger | None = None) -> Cluster:
    """The same nodes and teams where Run:ai places runs; its quotas are outside the cluster."""
    return plain_cluster(clock, ledger, engine="runai")


def plain_cluster(
    clock: VirtualClock, ledger: Ledger | None = None, engine: str = "none"
) -> Cluster:
    """The same nodes and teams where no quota engine admits runs."""
    cluster = Cluster(clock, ledger, engine=engine)
    for number in (1, 2):
        add_node(cluster, f"gpu-{number}", NODE_RESOURCES, PRODUCT)
    cluster.create("storageclasses", storage_class("standard", seconds=0, default=True))
    cluster.create("priorityclasses", {"metadata": {"name": "high"}, "value": 100})
    for name in ("default", "kube-system", "quartermaster"):
        cluster.create("namespaces", {"metadata": {"name": name}})
    for team in TEAMS:
        add_namespace(cluster, team)
    return cluster


def add_team(
    cluster: Cluster, team: str, gpus: str, cohort: str = "gpus", borrowing: str | None = None
) -> None:
    """Adds a team: namespace, ClusterQueue, LocalQueue, secrets, service account and a PVC."""
    add_namespace(cluster, team)
    cluster.create("clusterqueues", cluster_queue(team, gpus, cohort, borrowing))
    queue = {"metadata": {"name": team}, "spec": {"clusterQueue": team}}
    cluster.create("localqueues", queue, team)


def add_namespace(cluster: Cluster, team: str) -> None:
    """Adds a team's namespace with its secrets, service account and PVC."""
    cluster.create("namespaces", {"metadata": {"name": team}})
    cluster.create("serviceaccounts", {"metadata": {"name": "trainer"}}, team)
    registry = {
        "metadata": {"name": "registry"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths":{}}'},
    }
    cluster.create("secrets", registry, team)
    wandb = {"metadata": {"name": "wandb"}, "stringData": {"token": "not-a-real-token"}}
    cluster.create("secrets", wandb, team)
    cluster.create("persistentvolumeclaims", claim(f"{team}-data"), team)
    cluster.create("persistentvolumeclaims", claim("imagenet"), team)


def storage_class(
    name: str, *, seconds: float = 5, waits: bool = False, grows: bool = True, default: bool = False
) -> Object:
    """A StorageClass whose provisioner takes that long, once a pod wants the volume or at once."""
    return {
        "metadata": {"name": name, "annotations": {DEFAULT_CLASS: str(default).lower()}},
        "provisioner": "csi.playground",
        "parameters": {SECONDS: str(seconds)},
        "allowVolumeExpansion": grows,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }


def snapshot_class(
    name: str = "csi-snapclass",
    driver: str = "csi.playground",
    *,
    seconds: float = 5,
    default: bool = True,
    policy: str = "Delete",
) -> Object:
    """A VolumeSnapshotClass whose driver takes that long until a snapshot is ready."""
    return {
        "metadata": {"name": name, "annotations": {DEFAULT_SNAPSHOTS: str(default).lower()}},
        "driver": driver,
        "deletionPolicy": policy,
        "parameters": {SECONDS: str(seconds)},
    }


def claim(name: str, size: str = "1Ti") -> Object:
    """A claim that many pods may mount."""
    return {
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "standard",
            "resources": {"requests": {"storage": size}},
        },
    }


def flavor(name: str, labels: dict[str, str] | None = None) -> Object:
    """A ResourceFlavor bound to nodes with these labels (the story's GPUs by default)."""
    return {"metadata": {"name": name}, "spec": {"nodeLabels": labels or PRODUCT}}


def cluster_queue(
    name: str, gpus: str, cohort: str = "gpus", borrowing: str | None = None
) -> Object:
    """A ClusterQueue for the namespace of the same name, with one flavor, h100."""
    gpu: dict[str, Any] = {"name": GPU, "nominalQuota": gpus}
    if borrowing is not None:
        gpu["borrowingLimit"] = borrowing
    return {
        "metadata": {"name": name},
        "spec": {
            "cohortName": cohort,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
            "queueingStrategy": "BestEffortFIFO",
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "flavorFungibility": {
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "TryNextFlavor",
            },
            "resourceGroups": [
                {
                    "coveredResources": list(COVERED),
                    "flavors": [
                        {
                            "name": "h100",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "400"},
                                {"name": "memory", "nominalQuota": "4Ti"},
                                gpu,
                            ],
                        }
                    ],
                }
            ],
        },
    }


def training_job(
    name: str,
    gpus: int,
    queue: str = "",
    image: str = "ghcr.io/acme/lane:3.1",
    epochs: int = 3,
    **spec: Any,
) -> Object:
    """A Job as a stranger would write it: one pod with GPUs, in a queue if one is named."""
    resources = {"cpu": "8", "memory": "64Gi", GPU: str(gpus)}
    container = {
        "name": "main",
        "image": image,
        "command": ["python", "train.py"],
        "args": ["--epochs", str(epochs)],
        "resources": {"requests": resources, "limits": {"memory": "64Gi", GPU: str(gpus)}},
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"backoffLimit": 2, "template": {"spec": pod}, **spec},
    }


def add_node(
    cluster: Cluster, name: str, resources: dict[str, str], labels: dict[str, str]
) -> None:
    """Adds a ready node with these allocatable resources and labels."""
    cluster.create("nodes", node_body(name, resources, labels, cluster.clock.now()))


def node_body(
    name: str, resources: dict[str, str], labels: dict[str, str], now: datetime
) -> Object:
    """A ready node."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": stamp(now),
    }
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {},
        "status": {
            "capacity": dict(resources),
            "allocatable": dict(resources),
            "conditions": [ready],
            "addresses": [
                {"type": "InternalIP", "address": host_address(name)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "machineID": name,
                "systemUUID": name,
                "bootID": name,
                "kernelVersion": "6.12.0",
                "osImage": "Debian GNU/Linux 13 (trixie)",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kubeletVersion": "v1.36.0",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }
