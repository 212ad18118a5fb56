"""Decides the next step for a version whose source is being surveyed. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster.types.objects import Job, has_condition
from bot.datasets.job import LONGEST_SECONDS, silent_end, took_too_long
from bot.datasets.saying import Said
from bot.datasets.tables import ENDS, Version, VersionPhase
from bot.durations import format_duration
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus, Wait

# A pod has its image and its Secrets within minutes, or never without somebody's help.
_LATE_AFTER = timedelta(minutes=10)
STARTS_WITHIN = timedelta(hours=1)


@dataclass(frozen=True)
class SurveyObserved:
    """The observed state: the Job, if it exists, and what its newest pod reported.

    `is_taken`: the Job of that name is not ours. `is_running`: a pod runs. `started_at`: when it
    started. `obstacle`: what keeps it from starting.
    """

    job: Job | None = None
    is_taken: bool = False
    is_running: bool = False
    started_at: datetime | None = None
    said: Said | None = None
    obstacle: str = ""


@dataclass(frozen=True)
class Surveyed:
    """The survey succeeded."""

    said: Said


Decision = Wait | Create | Delete | Done | UpdateStatus[VersionPhase] | Surveyed | Fail


def decide(version: Version, seen: SurveyObserved, now: datetime) -> Decision:
    """The next step for a version, given its row and the observed cluster."""
    if version.phase in ENDS:
        return _after_the_end(version, seen)
    if seen.is_taken:
        return Fail(
            f"Job {version.job_name} in namespace {version.namespace} already exists and does not"
            " belong to Quartermaster, so it was not changed.",
            "Record the version again; it gets another Job.",
        )
    if seen.job is None:
        if version.job_uid is None:
            return Create()
        return Fail("Its Job was deleted outside Quartermaster.", "Record the version again.")
    if has_condition(seen.job.status.conditions, "Complete"):
        return _completed(seen)
    if has_condition(seen.job.status.conditions, "Failed"):
        return _failed(seen.job, seen)
    if not seen.is_running and now - version.asked_at > STARTS_WITHIN and not version.started_at:
        waited = format_duration(STARTS_WITHIN)
        return Fail(f"Its pod did not start within {waited}. {seen.obstacle}".strip(), _ASK_ADMIN)
    return UpdateStatus(_phase(version, seen))


def _phase(version: Version, seen: SurveyObserved) -> VersionPhase:
    if not seen.is_running and version.started_at is None:
        return VersionPhase.STARTING
    is_copying = seen.said is not None and seen.said.phase == "copying"
    was_copying = seen.said is None and version.phase == VersionPhase.COPYING
    return VersionPhase.COPYING if is_copying or was_copying else VersionPhase.LISTING


def is_late(version: Version, now: datetime) -> bool:
    """Whether its pod should have started by now."""
    is_waiting = (
        version.phase in {VersionPhase.ASKED, VersionPhase.STARTING} and version.started_at is None
    )
    return is_waiting and now - version.asked_at > _LATE_AFTER


def _after_the_end(version: Version, seen: SurveyObserved) -> Decision:
    if version.is_cleared:
        return Wait()
    if seen.job is None or seen.is_taken:
        return Done()
    return Delete(seen.job.uid)


def _completed(seen: SurveyObserved) -> Decision:
    if seen.said is not None and seen.said.event == "done":
        return Surveyed(seen.said)
    return Fail(
        "The survey succeeded, but its pod was gone before the result was read.",
        "Record the version again.",
    )


def _failed(job: Job, seen: SurveyObserved) -> Decision:
    """The failure, in the worker's own words if it reported any."""
    said = seen.said
    if said is not None and said.event == "failed":
        return Fail(said.message, said.hint, said.keys)
    if took_too_long(job):
        lasted = format_duration(timedelta(seconds=LONGEST_SECONDS))
        return Fail(
            f"It did not finish within {lasted}. {seen.obstacle}".strip(),
            "Split the dataset by folder into several, or ask an admin why the store is slow.",
        )
    return Fail(silent_end(job), _ASK_ADMIN)


_ASK_ADMIN = "Ask a platform admin to run `quartermaster doctor`, then record it again."
