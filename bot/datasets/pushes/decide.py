"""Decides the next step for a push. Pure: no I/O."""

from datetime import datetime

from bot.cluster.objects import Job, has_condition
from bot.datasets.caches.tables import CacheShare, SharePhase
from bot.datasets.ending import silent_end, took_too_long
from bot.datasets.pushes.decisions import (
    ADMIN,
    GOES_ON,
    LATE_AFTER,
    STARTS_WITHIN,
    AwaitDeletion,
    Close,
    Decision,
    Pushed,
    PushObserved,
    Recreate,
)
from bot.datasets.pushes.job import longest_time
from bot.datasets.pushes.restoring import clear, prepare
from bot.datasets.saying import Said
from bot.datasets.tables import PUSH_ENDS, Push, PushPhase
from bot.datasets.versions.decide import SurveyObserved
from bot.durations import format_duration
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus, Wait


def decide(push: Push, share: CacheShare | None, look: PushObserved, now: datetime) -> Decision:
    """The next step for a push, given its rows and the observed cluster."""
    if push.phase in PUSH_ENDS:
        return _after_the_end(push, share, look)
    if push.stopped_by is not None:
        return Fail(f"<@{push.stopped_by}> stopped it.", GOES_ON)
    if look.seen.is_taken:
        return Fail(
            f"Job {push.job_name} in namespace {push.namespace} already exists and does not belong"
            " to Quartermaster, so it was not changed.",
            "Push again; the Job gets another name.",
        )
    job = look.seen.job
    if job is not None and has_condition(job.status.conditions, "Complete"):
        return _completed(push, job, look.seen.said)
    if not look.has_claim:
        where = f"namespace {push.claim_namespace}"
        return Fail(f"PVC {push.claim_name} is no longer in {where}.", "Push from another PVC.")
    if job is None:
        return _before_the_job(push, share, look, now)
    return _at_work(push, job, look, now)


def _at_work(push: Push, job: Job, look: PushObserved, now: datetime) -> Decision:
    if has_condition(job.status.conditions, "Failed"):
        return _failed(push, job, look.seen)
    if look.seen.is_running or push.started_at is not None:
        return UpdateStatus(PushPhase.COPYING, look.seen.obstacle)
    if now - (job.metadata.creation_timestamp or push.asked_at) > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        return Fail(f"Its pod did not start within {within}. {look.obstacle}".strip(), ADMIN)
    return UpdateStatus(PushPhase.STARTING, look.obstacle)


def is_late(push: Push, now: datetime) -> bool:
    """Whether its pod should have started by now."""
    return push.is_live and push.started_at is None and now - push.asked_at > LATE_AFTER


def _before_the_job(
    push: Push, share: CacheShare | None, look: PushObserved, now: datetime
) -> Decision:
    if push.job_uid is not None:
        return Fail("Its Job was deleted outside Quartermaster.", GOES_ON)
    if look.restored is not None:
        return prepare(push, look.restored, now) or Create()
    return _by_share(push, share, now) if share is not None else Fail(_FORGOTTEN, ADMIN)


def _by_share(push: Push, share: CacheShare, now: datetime) -> Decision:
    if share.reason:
        return Fail(
            f"Namespace {push.namespace} cannot mount PVC {push.claim_name}. {share.reason}",
            "Ask a platform admin, or copy the folder to a PVC of another storage class.",
        )
    if not share.is_live or not share.is_wanted:
        return Fail(f"Namespace {push.namespace} no longer has PVC {push.claim_name}.", GOES_ON)
    if share.phase == SharePhase.READY:
        return Create()
    if now - push.asked_at > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        said = f"PVC {push.claim_name} was not available in {push.namespace} within {within}."
        return Fail(f"{said} {share.trouble}".strip(), ADMIN)
    return UpdateStatus(PushPhase.ASKED, share.trouble)


def _completed(push: Push, job: Job, said: Said | None) -> Decision:
    if said is not None and said.event == "done":
        return Pushed(said)
    return Recreate() if push.job_uid is not None else Delete(job.uid)


def _failed(push: Push, job: Job, seen: SurveyObserved) -> Decision:
    """The failure, in the worker's own words if it reported any."""
    said = seen.said
    if said is not None and said.event == "failed":
        return Fail(said.message, said.hint, said.keys)
    if took_too_long(job):
        lasted = format_duration(longest_time(push.capacity_bytes))
        return Fail(f"It did not finish within {lasted}. {seen.obstacle}".strip(), GOES_ON)
    return Fail(silent_end(job), ADMIN)


def _after_the_end(push: Push, share: CacheShare | None, look: PushObserved) -> Decision:
    """Deletes the Job first, so that no pod still uses what it read."""
    if push.is_cleared:
        return Wait()
    if look.seen.job is not None and not look.seen.is_taken:
        return Delete(look.seen.job.uid)
    if look.restored is not None:
        return clear(look.restored)
    if share is None or not share.is_live:
        return Done()
    return Close() if share.is_wanted else AwaitDeletion(share.trouble)


_FORGOTTEN = "How its PVC was to be read is no longer known."
