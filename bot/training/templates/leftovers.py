"""Deletes what appears of a run in a cluster that it has left, such as by a late request."""

from collections.abc import Mapping

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError
from bot.training.kinds import kind_of_run
from bot.training.tables import Run
from bot.training.templates.moving import has_left


def clear_leftovers(run: Run, clusters: Mapping[str, Cluster]) -> None:
    """Deletes roots of the run, as the views show them, in clusters that it has left.

    The run had none there when it moved. A process that was stopped for long may create one
    later; the watch of that cluster then wakes the run. A cluster that does not respond is left
    for another step.
    """
    root = kind_of_run(run).root.resource
    for name in {each["cluster"] for each in run.moves} - {run.cluster}:
        cluster = clusters.get(name)
        found = cluster.view.get(root, run.job_name, run.namespace) if cluster else None
        if cluster is None or found is None or not _is_late(found, run, cluster.installation):
            continue
        try:
            cluster.delete(root, found.name, run.namespace, uid=found.uid)
        except ClusterError:
            continue


def _is_late(found: ClusterObject, run: Run, installation: str) -> bool:
    is_ours = (
        found.labels.get(labels.RUN) == run.id
        and found.labels.get(labels.INSTALLATION) == installation
    )
    is_gone = found.metadata.deletion_timestamp is not None or has_left(run, found.uid)
    return is_ours and not is_gone
