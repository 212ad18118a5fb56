"""Observes the objects of one run: from the view, and live where that is not conclusive."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, Resource
from bot.cluster.types.objects import ClusterObject, Pod
from bot.quotas.engines.engine import Runs
from bot.training.kinds import dependents_of, kind_of_run
from bot.training.kinds.kind import Dependent
from bot.training.kinds.status import Root
from bot.training.runs.decide import UNMANAGED_AFTER, DependentObserved, RunObserved, waited
from bot.training.runs.troubles import loss_of
from bot.training.state import has_ended
from bot.training.tables import Run
from bot.training.templates.moving import has_left

STALE_SECONDS = 150.0


def observe(cluster: Cluster, runs: Runs, run: Run, now: datetime) -> RunObserved:
    """The observed state of a run; ClusterError when the cluster cannot be read."""
    root = _root(cluster, run)
    is_ours = root is None or _is_ours(root.object, run, cluster.installation, run.job_uid)
    if root is None or not is_ours:
        pods, dependents = _pods(cluster, run, None), _dependents(cluster, run, None)
        return RunObserved(None, pods=pods, is_taken=not is_ours, dependents=dependents)
    pods = _pods(cluster, run, root)
    dependents = _dependents(cluster, run, root)
    if left_out := runs.left_out(root.object, pods):
        return RunObserved(root, pods=pods, left_out=left_out, dependents=dependents)
    if run.moving_to is not None:
        # It must not leave a queue that has just admitted it.
        return RunObserved(root, runs.live_admission(root.object), pods, dependents=dependents)
    admission = runs.admission(root.object)
    if admission is not None or run.workload or waited(run, now) < UNMANAGED_AFTER:
        loss = loss_of(cluster, pods)
        return RunObserved(root, admission, pods, dependents=dependents, loss=loss)
    admission = runs.live_admission(root.object)
    resource = kind_of_run(run).root.resource
    unmanaged = runs.unmanaged(resource, root.object) if admission is None else ""
    return RunObserved(root, admission, pods, unmanaged=unmanaged, dependents=dependents)


def _root(cluster: Cluster, run: Run) -> Root | None:
    """The object of that name; absence, and objects to delete, are confirmed by a live read."""
    root = kind_of_run(run).root
    resource = root.resource
    seen = cluster.view.get(resource, run.job_name, run.namespace)
    is_leaving = run.removing is not None or run.moving_to is not None
    is_old = seen is not None and has_left(run, seen.uid)
    if seen is None or is_leaving or is_old or not _is_fresh(cluster, resource):
        seen = cluster.get(resource, run.job_name, run.namespace)
    return root.read(seen) if seen is not None else None


def _is_ours(object_: ClusterObject, run: Run, installation: str, uid: str | None = None) -> bool:
    is_labelled = (
        object_.labels.get(labels.RUN) == run.id
        and object_.labels.get(labels.INSTALLATION) == installation
    )
    return is_labelled and uid in {None, object_.uid}


def _dependents(
    cluster: Cluster, run: Run, root: Root | None
) -> tuple[DependentObserved, ...] | None:
    """The dependents that should exist, or be gone, by now; read live if that is unknown."""
    dependents: Sequence[Dependent] = dependents_of(run)
    if run.moving_to is not None:
        pass
    elif not run.is_live:
        # A volume whose run never came to be is as empty as it was made.
        dependents = [each for each in dependents if not each.stays or run.job_uid is None]
    elif root is None and run.job_uid is None:
        dependents = [each for each in dependents if each.is_first]
    elif root is None or run.removing is not None or (run.is_furnished and not run.obstacle):
        # What keeps a pod from starting may be that somebody deleted what it needs.
        return None
    return tuple(_dependent(cluster, run, each) for each in dependents)


def _dependent(cluster: Cluster, run: Run, dependent: Dependent) -> DependentObserved:
    found = cluster.get(dependent.resource, dependent.name, run.namespace)
    if found is None:
        return DependentObserved(dependent)
    return DependentObserved(dependent, found, _is_ours(found, run, cluster.installation))


def _pods(cluster: Cluster, run: Run, root: Root | None) -> tuple[Pod, ...]:
    """The pods of the run; read live if the root ended before their end was seen."""
    pods = tuple(cluster.view.labelled(PODS, labels.RUN, run.id))
    is_moving = run.moving_to is not None  # Then none may be overlooked.
    is_over = root is not None and root.status.is_over
    lags = is_over and run.is_live and not any(has_ended(pod) for pod in pods)
    if lags or is_moving or not _is_fresh(cluster, PODS):
        return tuple(cluster.list(PODS, run.namespace, labels=f"{labels.RUN}={run.id}"))
    return pods


def _is_fresh(cluster: Cluster, resource: Resource[Any]) -> bool:
    return cluster.view.age_seconds(resource) < STALE_SECONDS
