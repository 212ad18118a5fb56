"""What mpi-operator and training-operator refuse in jobs of kubeflow.org."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, not_allowed, required, unsupported, wrong
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.names import label_faults

_NEGATIVE = "must be greater than or equal to 0"
_MANAGERS = {
    "mpi": ("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"),
    "training": ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"),
}
_MPI, _TORCH = "spec.mpiReplicaSpecs", "spec.pytorchReplicaSpecs"
_CONTAINER = "pytorch"


def mpi_causes(job: Object) -> list[Cause]:
    """Why mpi-operator leaves an MPIJob alone; what it says nothing of has its defaults."""
    spec = job["spec"]
    causes = [*_of_hosts(job), *_of_mpi_roles(spec.get("mpiReplicaSpecs"))]
    if spec.get("slotsPerWorker", 1) < 0:
        causes.append(wrong("spec.slotsPerWorker", spec["slotsPerWorker"], _NEGATIVE))
    causes += _of_policy(spec.get("runPolicy") or {})
    known, implementation = ("Intel", "MPICH", "OpenMPI"), spec.get("mpiImplementation")
    if implementation and implementation not in known:
        causes.append(unsupported("spec.mpiImplementation", implementation, known))
    return causes


def torch_causes(job: Object) -> list[Cause]:
    """What training-operator's webhook refuses in a PyTorchJob."""
    name, spec, causes = job["metadata"]["name"], job["spec"], []
    if faults := label_faults(name):
        causes.append(wrong("metadata.name", name, f"should match: {','.join(faults)}"))
    causes += _of_manager(spec.get("runPolicy") or {}, "training")
    roles = spec.get("pytorchReplicaSpecs")
    if spec.get("elasticPolicy") is not None:
        causes += _of_elastic(spec, roles or {})
    if roles is None:
        causes.append(required(_TORCH, "must be required"))
    for role, replicas in (roles or {}).items():
        causes += _of_torch_role(role, replicas)
    return causes


def _of_hosts(job: Object) -> Iterator[Cause]:
    """The last worker's host has the longest name."""
    name, roles = job["metadata"]["name"], job["spec"].get("mpiReplicaSpecs") or {}
    count = (roles.get("Worker") or {}).get("replicas") or 0
    host = f"{name}-worker-{max(count, 1) - 1}"
    if faults := label_faults(host):
        told = f'will not able to create pod and service with invalid DNS label "{host}": '
        yield wrong("metadata.name", name, told + ", ".join(faults))


def _of_mpi_roles(roles: dict[str, Any] | None) -> Iterator[Cause]:
    if roles is None:
        yield required(_MPI, "must have replica specs")
        return
    path, launcher = f"{_MPI}[Launcher]", roles.get("Launcher")
    if launcher is None:
        yield required(path, "must have Launcher replica spec")
    else:
        yield from _of_mpi_role(launcher, path)
        if launcher.get("replicas", 1) != 1:
            yield wrong(f"{path}.replicas", launcher["replicas"], "must be 1")
    path, worker = f"{_MPI}[Worker]", roles.get("Worker")
    if worker is not None:
        yield from _of_mpi_role(worker, path)
        if worker.get("replicas", 0) <= 0:
            count = worker.get("replicas", 0)
            yield wrong(f"{path}.replicas", count, "must be greater than or equal to 1")


def _of_mpi_role(role: dict[str, Any], path: str) -> Iterator[Cause]:
    known = ("Never", "OnFailure")
    if role.get("restartPolicy", known[0]) not in known:
        yield unsupported(f"{path}.restartPolicy", role["restartPolicy"], known)
    if not _containers(role):
        yield required(f"{path}.template.spec.containers", "must define at least one container")


def _of_policy(policy: dict[str, Any]) -> Iterator[Cause]:
    known, path = ("All", "None", "Running"), "spec.runPolicy"
    if policy.get("cleanPodPolicy", known[1]) not in known:
        yield unsupported(f"{path}.cleanPodPolicy", policy["cleanPodPolicy"], known)
    for name in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"):
        if policy.get(name, 0) < 0:
            yield wrong(f"{path}.{name}", policy[name], _NEGATIVE)
    yield from _of_manager(policy, "mpi")


def _of_manager(policy: dict[str, Any], operator: str) -> Iterator[Cause]:
    known, manager = _MANAGERS[operator], policy.get("managedBy")
    if manager is not None and manager not in known:
        yield unsupported("spec.runPolicy.managedBy", manager, known)


def _of_elastic(spec: dict[str, Any], roles: dict[str, Any]) -> Iterator[Cause]:
    if "Worker" not in roles:
        yield required(f"{_TORCH}[Worker]", "must be configured if elastic policy is used")
    twice = spec["elasticPolicy"].get("nProcPerNode") is not None
    if twice and spec.get("nprocPerNode") is not None:
        words = "must not be used with spec.nprocPerNode"
        yield not_allowed("spec.elasticPolicy.nProcPerNode", words)


def _of_torch_role(role: str, replicas: dict[str, Any]) -> Iterator[Cause]:
    path, count, known = f"{_TORCH}[{role}]", replicas.get("replicas"), ("Master", "Worker")
    where, containers = f"{path}.template.spec.containers", _containers(replicas)
    if role not in known:
        yield unsupported(path, role, known)
    if not containers:
        yield required(where, "must be specified")
    for number, container in enumerate(containers):
        if not container.get("image"):
            yield required(f"{where}[{number}].image", "must be required")
    if not any(container["name"] == _CONTAINER for container in containers):
        yield required(where, f"must have at least one container with name {_CONTAINER}")
    if role == known[0] and count != 1:
        yield not_allowed(f"{path}.replicas", "must be 1")
    elif role != known[0] and count is not None and count < 1:
        yield not_allowed(f"{path}.replicas", "must be at least 1")


def _containers(role: dict[str, Any]) -> list[dict[str, Any]]:
    template = role.get("template") or {}
    return (template.get("spec") or {}).get("containers") or []
