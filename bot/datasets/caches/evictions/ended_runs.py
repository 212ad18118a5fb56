"""Deletes objects of ended runs that block the deletion of a cache's PVCs.

Kubernetes does not delete a PVC that a pod mounts, even a finished one, and pods of runs are kept
for days so that their logs can be read. A cache being evicted is not held by a live run, so all our
pods that mount it have ended.
"""

from collections.abc import Collection, Iterator
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.objects import has_condition
from bot.cluster.resources import PODS, ROOTS
from bot.datasets.caches.users import OVER, Place, mounts

_ENDS = ("Complete", "Succeeded", "Failed")


def clear_ended_runs(cluster: Cluster, seen: Collection[Place]) -> None:
    """Deletes our ended workloads whose finished pods mount these PVCs, with those pods."""
    for namespace in sorted({each for each, _ in seen}):
        runs = {
            pod.labels[labels.RUN]
            for pod in cluster.list(PODS, namespace)
            if pod.status.phase in OVER
            and mounts(pod, seen)
            and labels.RUN in pod.labels
            and pod.labels.get(labels.INSTALLATION) == cluster.installation
        }
        for run_id in sorted(runs):
            for resource, root in _ended_roots(cluster, run_id):
                cluster.delete(resource, root.name, root.namespace, uid=root.uid)


def _ended_roots(cluster: Cluster, run_id: str) -> Iterator[tuple[Any, Any]]:
    for resource in ROOTS:
        for root in cluster.view.labelled(resource, labels.RUN, run_id):
            is_ours = root.labels.get(labels.INSTALLATION) == cluster.installation
            if is_ours and any(has_condition(root.status.conditions, each) for each in _ENDS):
                yield resource, root
