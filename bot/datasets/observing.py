"""Looks at the Job of a survey and at its pods, live: there are few of them."""

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.objects import Job, has_condition
from bot.cluster.resources import JOBS, PODS
from bot.datasets import pods
from bot.datasets.decision import Seen
from bot.datasets.saying import last_said
from bot.datasets.tables import Version


def observe(cluster: Cluster, version: Version) -> Seen:
    """What the cluster shows of a survey; ClusterError when it cannot be told."""
    job = cluster.get(JOBS, version.job_name, version.namespace)
    if job is None:
        return Seen()
    if not is_ours(job, version, cluster.installation):
        return Seen(job, is_taken=True)
    if not version.is_live:
        return Seen(job)
    chosen = f"{labels.DATASET_VERSION}={version.id}"
    found = cluster.list(PODS, version.namespace, labels=chosen)
    is_complete = has_condition(job.status.conditions, "Complete")
    speaker = pods.speaker(found, is_complete=is_complete)
    is_running = speaker is not None and pods.is_running(speaker)
    obstacle = "" if is_running or is_complete else pods.obstacle(cluster, found)
    return Seen(
        job,
        is_running=is_running,
        started_at=pods.started_at(speaker) if speaker is not None else None,
        said=last_said(pods.last_lines(cluster, speaker)) if speaker is not None else None,
        obstacle=obstacle,
    )


def is_ours(job: Job, version: Version, installation: str) -> bool:
    """Whether a Job was made for this version by this installation."""
    marks = {labels.DATASET_VERSION: version.id, labels.INSTALLATION: installation}
    return marks.items() <= job.labels.items() and version.job_uid in {None, job.uid}
