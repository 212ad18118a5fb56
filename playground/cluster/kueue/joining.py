"""How jobs come under Kueue: the webhook that suspends them, and the priority they get."""

from playground.cluster.control.world import World
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.frameworks import (
    BATCH_JOB,
    KUBEFLOW_MPI,
    KUBEFLOW_PYTORCH,
    Framework,
)
from playground.cluster.kueue.rayjobs import RAY
from playground.cluster.kueue.slices import gate, is_elastic
from playground.cluster.kueue.trainjobs import train_jobs
from playground.cluster.kueue.workloads import PRIORITY_LABEL, QUEUE_LABEL
from playground.cluster.objects.kinds import (
    PRIORITY_CLASS,
    WORKLOAD,
    WORKLOAD_PRIORITY,
    Kind,
    Object,
)
from playground.cluster.objects.store import Store

FRAMEWORKS = (BATCH_JOB, KUBEFLOW_MPI, KUBEFLOW_PYTORCH, RAY)


def frameworks(store: Store) -> tuple[Framework, ...]:
    """All kinds of jobs that Kueue knows."""
    return (*FRAMEWORKS, train_jobs(store))


def suspend_at_creation(
    known: tuple[Framework, ...],
    write: tuple[Kind, Object, Object | None],
    configuration: Configuration,
) -> None:
    """The webhook: a job of a kind Kueue manages that names a queue starts suspended."""
    kind, obj, old = write
    labels = obj["metadata"].get("labels") or {}
    for framework in known if old is None and labels.get(QUEUE_LABEL) else ():
        managed = configuration.manages(kind.qualified)
        if managed and kind.qualified == framework.kind.qualified:
            framework.suspend(obj, True)  # noqa: FBT003 -- the field's own value
            if framework is BATCH_JOB and configuration.elastic and is_elastic(obj):
                gate(obj)


def priority_for(
    world: World, framework: Framework, job: Object
) -> tuple[int, dict[str, str] | None]:
    """The priority of a job's Workload, and the class that gives it."""
    name = (job["metadata"].get("labels") or {}).get(PRIORITY_LABEL)
    found = world.store.get(WORKLOAD_PRIORITY, "", name) if name else None
    if found is not None and name:
        reference = {"group": WORKLOAD.group, "kind": WORKLOAD_PRIORITY.kind, "name": name}
        return found["value"], reference
    name = framework.priority_class(job)
    found = world.store.get(PRIORITY_CLASS, "", name) if name else None
    if found is not None and name:
        reference = {"group": PRIORITY_CLASS.group, "kind": "PriorityClass", "name": name}
        return found["value"], reference
    return 0, None
