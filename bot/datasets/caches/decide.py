"""What to do next for a cache. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster import labels
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import Job, has_condition
from bot.datasets.caches.job import LAYOUT
from bot.datasets.caches.plan import late_after, longest_time
from bot.datasets.caches.tables import ENDS, Cache, CachePhase
from bot.datasets.job import silent_end, took_too_long
from bot.datasets.saying import Said
from bot.durations import format_duration
from bot.reconcile.decisions import Done, Fail, UpdateStatus

# A volume and a pod exist within minutes, or not without help.
LATE_AFTER = timedelta(minutes=15)
STARTS_WITHIN = timedelta(hours=1)
SILENT_AFTER = timedelta(minutes=15)
ARRANGED_WITHIN = timedelta(hours=2)
# After this the leftovers of a failed cache are for admins, who get a report every morning.
GONE_WITHIN = timedelta(days=1)
_RETAIN = "Retain"
# Usually PVC and Job are created together; the PVC of an adopted cache is older.
_TOGETHER = timedelta(minutes=1)


@dataclass(frozen=True)
class CacheObserved:
    """What was observed: PVC and Job, None if absent, and the output of all pods combined.

    `taken` names an object that has the name of ours but is not ours. `is_running` means that a
    pod runs, `started_at` is when the first one started. `obstacle` is why the volume or a pod
    does not exist yet; `volume` is what is left when the PVC is deleted.
    """

    claim: PersistentVolumeClaim | None = None
    job: Job | None = None
    taken: str = ""
    is_running: bool = False
    started_at: datetime | None = None
    said: Said | None = None
    obstacle: str = ""
    volume: PersistentVolume | None = None


@dataclass(frozen=True)
class RecordObserved:
    """Do nothing; record what was observed."""


@dataclass(frozen=True)
class CreateClaim:
    """Create the PVC."""


@dataclass(frozen=True)
class CreateJob:
    """Create the Job that fills the cache."""


@dataclass(frozen=True)
class Recreate:
    """Recreate the Job: it completed, but its result is unknown; the next finds all files copied.

    This is recorded before the Job is deleted, so that the deletion is not blamed on others.
    """


@dataclass(frozen=True)
class Arrange:
    """Every file is copied and verified; run the layout next."""

    said: Said


@dataclass(frozen=True)
class Filled:
    """Every file is copied and verified: the cache is ready."""

    said: Said


@dataclass(frozen=True)
class DeleteJob:
    """Delete the Job, which is not needed any more."""

    uid: str


@dataclass(frozen=True)
class DeleteClaim:
    """Delete the PVC of a cache that failed."""

    uid: str


Decision = (
    RecordObserved | CreateClaim | CreateJob | UpdateStatus[CachePhase] | Recreate | Arrange
    | Filled | Fail | DeleteJob | DeleteClaim | Done
)  # fmt: skip


def decide(cache: Cache, seen: CacheObserved, best: timedelta | None, now: datetime) -> Decision:
    """The next step for a cache, from its row and what was observed in the cluster.

    `best` is how long its fill takes at the volume's throughput, None if unknown.
    """
    if cache.phase in ENDS:
        return _after_the_end(cache, seen, now)
    if seen.taken:
        return Fail(
            f"Namespace {cache.namespace} already has {seen.taken}, which belongs to something"
            " else, so nothing was changed.",
            "Cache it again: it gets a different name.",
        )
    if seen.claim is None:
        return Fail(_NO_CLAIM, _CACHE_AGAIN) if cache.claim_uid else CreateClaim()
    if seen.claim.metadata.deletion_timestamp is not None:
        return Fail("Its PVC is being deleted outside Quartermaster.", _CACHE_AGAIN)
    if cache.phase == CachePhase.READY:
        return DeleteJob(seen.job.uid) if seen.job is not None else RecordObserved()
    if seen.job is None:
        return Fail(_NO_JOB, _CACHE_AGAIN) if cache.job_uid else CreateJob()
    return _filling(cache, seen.claim, seen.job, seen, best, now)


def _filling(
    cache: Cache,
    claim: PersistentVolumeClaim,
    job: Job,
    seen: CacheObserved,
    best: timedelta | None,
    now: datetime,
) -> Decision:
    if cache.phase == CachePhase.ARRANGING:
        return _arranging(cache, job, seen, now)
    if has_condition(job.status.conditions, "Complete"):
        return _completed(cache, job, seen)
    if has_condition(job.status.conditions, "Failed"):
        return _failed(cache, job, seen, best)
    made_at = claim.metadata.creation_timestamp or cache.asked_at
    job_made_at = job.metadata.creation_timestamp or made_at
    waited = now - (job_made_at if job_made_at - made_at > _TOGETHER else made_at)
    if seen.is_running or cache.started_at is not None:
        return UpdateStatus(CachePhase.FILLING, _lateness(cache, seen.said, best, now))
    if waited > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        return Fail(f"Its pod did not start within {within}. {seen.obstacle}".strip(), _ASK_ADMIN)
    is_unbound = claim.status.phase == "Pending"
    what = "its volume has not been created" if is_unbound else "its pod is not running"
    late = f"Late: {what} after {format_duration(waited)}." if waited > LATE_AFTER else ""
    return UpdateStatus(CachePhase.STARTING, late)


def _arranging(cache: Cache, job: Job, seen: CacheObserved, now: datetime) -> Decision:
    """The layout's Job has the name of the copying Job, which is deleted first."""
    if job.labels.get(labels.ROLE) != LAYOUT:
        return DeleteJob(job.uid)
    if has_condition(job.status.conditions, "Complete"):
        return Filled(_as_copied(cache))
    if has_condition(job.status.conditions, "Failed"):
        said = seen.said
        if said is not None and said.event == "failed":
            return Fail(said.message, said.hint, said.keys, said.reason)
        mend = f"Fix datasets.layouts.{cache.layout} of quartermaster.yaml, then cache it again."
        return Fail(f"Its layout {cache.layout} failed. {seen.obstacle}".rstrip(), mend)
    lasted = now - cache.since
    late = f"Late: arranging its files has taken {format_duration(lasted)} so far."
    return UpdateStatus(CachePhase.ARRANGING, late if lasted > ARRANGED_WITHIN else "")


def _as_copied(cache: Cache) -> Said:
    """The result of the copy, from the row: the layout's Job counts nothing again."""
    return Said(
        "done",
        digest=cache.digest,
        objects=cache.objects,
        bytes=cache.size_bytes,
        verified_by=cache.verified_by,
        verified_bytes=cache.verified_bytes,
        ready=True,
    )


def _lateness(cache: Cache, said: Said | None, best: timedelta | None, now: datetime) -> str:
    """Why a running fill is late; empty if it is not."""
    heard = max(filter(None, (cache.read_at, cache.started_at)), default=now)
    known = (cache.files_done, cache.bytes_done)
    has_moved = said is not None and (said.files_done, said.bytes_done) != known
    if now - heard > SILENT_AFTER and not has_moved:
        return f"Late: nothing has been copied for {format_duration(now - heard)}."
    begun = cache.started_at or now
    if now - begun > late_after(cache.size_bytes, best):
        given_up = format_duration(begun + longest_time(cache.size_bytes, best) - now)
        at_best = f", which takes {format_duration(best)} at best" if best is not None else ""
        return f"Late for {cache.reference}{at_best}. The fill is given up in {given_up}."
    return ""


def _after_the_end(cache: Cache, seen: CacheObserved, now: datetime) -> Decision:
    """Cleans up after a failed cache; the Job is deleted first, so that no pod holds the PVC."""
    if cache.is_cleared:
        return RecordObserved()
    is_given_up = now - (cache.ended_at or now) > GONE_WITHIN
    if seen.job is not None:
        return DeleteJob(seen.job.uid)
    if seen.claim is not None and seen.claim.metadata.deletion_timestamp is None:
        return DeleteClaim(seen.claim.uid)
    if seen.claim is None and seen.volume is None:
        return Done()
    volume = seen.volume
    if volume is not None and volume.spec.persistent_volume_reclaim_policy == _RETAIN:
        return Done(
            f"Its volume {volume.name} is kept because its reclaimPolicy is Retain: an admin"
            " must delete it."
        )
    return Done(_still_there(cache, seen)) if is_given_up else UpdateStatus(CachePhase.FAILED)


def _still_there(cache: Cache, seen: CacheObserved) -> str:
    """What still exists after a day, as a sentence."""
    if seen.volume is None:
        what = f"PVC {cache.claim_name} still exists and is being deleted"
    else:
        why = f" ({seen.volume.status.message})" if seen.volume.status.message else ""
        what = f"volume {seen.volume.name} is still {seen.volume.status.phase}{why}"
    within = format_duration(GONE_WITHIN)
    return f"After {within} its {what}. An admin must check why; `/dataset usage` lists it."


def _completed(cache: Cache, job: Job, seen: CacheObserved) -> Decision:
    said = seen.said
    is_open = said is not None and bool(cache.layout and said.files)
    if said is None or said.event != "done" or not (said.ready or is_open):
        return Recreate() if cache.job_uid is not None else DeleteJob(job.uid)
    if said.digest != cache.digest:
        return Fail(f"The copied data is {said.digest}, not {cache.digest}.", _ASK_ADMIN)
    return Filled(said) if said.ready else Arrange(said)


def _failed(cache: Cache, job: Job, seen: CacheObserved, best: timedelta | None) -> Decision:
    """Why a fill failed, in the worker's own words if it reported any."""
    said = seen.said
    if said is not None and said.event == "failed":
        return Fail(said.message, said.hint, said.keys, said.reason)
    if took_too_long(job):
        lasted = format_duration(longest_time(cache.size_bytes, best))
        return Fail(
            f"It was not filled within {lasted}. {seen.obstacle}".strip(),
            "Ask a platform admin why the store or the volume is slow, or use a larger volume:"
            " on many classes it is faster.",
            word="deadline",
        )
    return Fail(silent_end(job), _ASK_ADMIN)


_CACHE_AGAIN = "Cache it again."
_ASK_ADMIN = "Ask a platform admin to check it (`quartermaster doctor`), then cache it again."
_NO_CLAIM = "Its PVC was deleted outside Quartermaster."
_NO_JOB = "Its Job was deleted outside Quartermaster."
