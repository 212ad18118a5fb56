"""The operators a cluster may have: the kinds they serve, and the controllers they bring."""

from collections.abc import Callable, Mapping

from playground.cluster.control.loop import Controller
from playground.cluster.control.world import World
from playground.cluster.objects.kinds import (
    CLUSTER_RUNTIME,
    JOB_SET,
    MPI_JOB,
    OLD_MPI_JOB,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RUNTIME,
    SNAPSHOT_ACTION,
    TRAIN_JOB,
    TRIDENT_VOLUME,
    VOLUME_REFERENCE,
    VOLUME_SNAPSHOT,
    VOLUME_SNAPSHOT_CLASS,
    VOLUME_SNAPSHOT_CONTENT,
    Kind,
    Object,
)
from playground.cluster.operators.jobset import JobSets
from playground.cluster.operators.mpi import MpiJobs
from playground.cluster.operators.pytorch import PyTorchJobs
from playground.cluster.operators.ray_clusters import RayClusters
from playground.cluster.operators.ray_jobs import RayJobs
from playground.cluster.operators.trainer import STEP, TrainJobs

# What an operator itself needs to be there.
NEEDS: Mapping[str, tuple[str, ...]] = {"trainer": ("jobset",)}
Operator = tuple[tuple[Kind, ...], tuple[Callable[[World], Controller], ...]]
OPERATORS: Mapping[str, Operator] = {
    "mpi-operator": ((MPI_JOB,), (MpiJobs,)),
    "jobset": ((JOB_SET,), (JobSets,)),
    "trainer": ((JOB_SET, TRAIN_JOB, RUNTIME, CLUSTER_RUNTIME), (TrainJobs,)),
    "training-operator": ((OLD_MPI_JOB, PYTORCH_JOB), (PyTorchJobs,)),
    "kuberay": ((RAY_JOB, RAY_CLUSTER), (RayJobs, RayClusters)),
    # What takes them is in playground/cluster/control/snapshots.py.
    "snapshots": ((VOLUME_SNAPSHOT, VOLUME_SNAPSHOT_CLASS, VOLUME_SNAPSHOT_CONTENT), ()),
    # What it does for claims is in playground/cluster/control/trident.py.
    "trident": ((VOLUME_REFERENCE, TRIDENT_VOLUME, SNAPSHOT_ACTION), ()),
}


def torch_runtime() -> Object:
    """The runtime for PyTorch that comes with the trainer."""
    container = {"name": "node", "image": "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"}
    node = {
        "name": "node",
        "template": {
            "metadata": {"labels": {STEP: "trainer"}},
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
    }
    return {
        "metadata": {
            "name": "torch-distributed",
            "labels": {"trainer.kubeflow.org/framework": "torch"},
        },
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {}},
            "template": {"spec": {"replicatedJobs": [node]}},
        },
    }
