"""Describes how a worker's Job failed when the worker did not report a reason."""

from bot.cluster.objects import Condition, Job, find_condition
from bot.datasets.job import ATTEMPTS


def took_too_long(job: Job) -> bool:
    """Whether the Job exceeded its deadline."""
    found = _failure(job)
    return found is not None and found.reason == "DeadlineExceeded"


def silent_end(job: Job) -> str:
    """Sentences: after how many attempts it failed, and what Kubernetes reports."""
    found = _failure(job)
    tries = f" after {job.status.failed} attempts" if job.status.failed > ATTEMPTS else ""
    why = f" Kubernetes reports: {found.message}" if found is not None and found.message else ""
    return f"Its pod failed{tries} without reporting a reason.{why}"


def _failure(job: Job) -> Condition | None:
    return find_condition(job.status.conditions, "Failed")
