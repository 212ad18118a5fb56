"""Observes the Job of a survey and its pods by live requests, as there are few of them."""

from typing import Protocol

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PODS
from bot.cluster.types.objects import Job, has_condition
from bot.datasets import pods
from bot.datasets.saying import last_said
from bot.datasets.tables import Version
from bot.datasets.versions.decide import SurveyObserved


class Worked(Protocol):
    """A row that has a Job of its own."""

    id: str
    namespace: str
    job_name: str
    job_uid: str | None

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""


def observe(cluster: Cluster, version: Version) -> SurveyObserved:
    """The observed state of a survey; ClusterError if the cluster cannot be read."""
    return observe_job(cluster, version, labels.DATASET_VERSION)


def observe_job(cluster: Cluster, row: Worked, label: str) -> SurveyObserved:
    """The observed state of a row's Job, which has the row's id in that label."""
    job = cluster.get(JOBS, row.job_name, row.namespace)
    if job is None:
        return SurveyObserved()
    if not _is_ours(job, row, label, cluster.installation):
        return SurveyObserved(job, is_taken=True)
    if not row.is_live:
        return SurveyObserved(job)
    found = cluster.list(PODS, row.namespace, labels=f"{label}={row.id}")
    is_complete = has_condition(job.status.conditions, "Complete")
    speaker = pods.speaker(found, is_complete=is_complete)
    is_running = speaker is not None and pods.is_running(speaker)
    obstacle = "" if is_running or is_complete else pods.obstacle(cluster, found)
    return SurveyObserved(
        job,
        is_running=is_running,
        started_at=pods.started_at(speaker) if speaker is not None else None,
        said=last_said(pods.last_lines(cluster, speaker)) if speaker is not None else None,
        obstacle=obstacle,
    )


def _is_ours(job: Job, row: Worked, label: str, installation: str) -> bool:
    """Whether this installation created the Job for this row."""
    marks = {label: row.id, labels.INSTALLATION: installation}
    return marks.items() <= job.labels.items() and row.job_uid in {None, job.uid}
