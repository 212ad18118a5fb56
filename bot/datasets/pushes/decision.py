"""What to do next for a push. Pure: no I/O."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.cluster.objects import Job, has_condition
from bot.datasets.caches.tables import Share, SharePhase
from bot.datasets.decision import Seen
from bot.datasets.job import ATTEMPTS
from bot.datasets.push_tables import ENDS, Phase, Push
from bot.datasets.pushes.job import longest_time
from bot.datasets.saying import Said
from bot.durations import format_duration

# A share and a pod are there within minutes, or never without somebody's help.
LATE_AFTER = timedelta(minutes=15)
STARTS_WITHIN = timedelta(hours=1)


@dataclass(frozen=True)
class Look:
    """What the cluster shows of the Job, and whether the team's PVC is still there."""

    seen: Seen
    has_claim: bool = True


@dataclass(frozen=True)
class Rest:
    """Nothing is left to do."""


@dataclass(frozen=True)
class Create:
    """Make the Job."""


@dataclass(frozen=True)
class Follow:
    """It goes on."""

    phase: Phase
    obstacle: str = ""


@dataclass(frozen=True)
class Again:
    """All is pushed, but nobody heard how: the Job is made once more, and finds all there.

    This is written before the Job goes, so that nobody else is taken for having deleted it.
    """


@dataclass(frozen=True)
class Pushed:
    """Every file is in the store, compared."""

    said: Said


@dataclass(frozen=True)
class Fail:
    """It ended before all was pushed; sentences say why, and what to do then."""

    reason: str
    unblock: str = ""
    keys: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Delete:
    """Delete the Job: the push has ended, or needs another one."""

    uid: str


@dataclass(frozen=True)
class Close:
    """Have the share removed: nothing reads the PVC any more."""


@dataclass(frozen=True)
class Linger:
    """The share is being removed; `why` it takes long."""

    why: str = ""


@dataclass(frozen=True)
class Cleared:
    """Nothing is left of it."""


Decision = Rest | Create | Follow | Again | Pushed | Fail | Delete | Close | Linger | Cleared


def decide(push: Push, share: Share, look: Look, now: datetime) -> Decision:
    """The next step for a push, as its rows and the cluster stand."""
    if push.phase in ENDS:
        return _after_the_end(push, share, look.seen)
    if push.stopped_by is not None:
        return Fail(f"<@{push.stopped_by}> stopped it.", _GOES_ON)
    if look.seen.is_taken:
        return Fail(
            f"There is a Job {push.job_name} in namespace {push.namespace} already that is not"
            " ours, so nothing was touched.",
            "Push again: it gets another name.",
        )
    job = look.seen.job
    if job is not None and has_condition(job.status.conditions, "Complete"):
        return _completed(push, job, look.seen.said)
    if not look.has_claim:
        where = f"namespace {push.claim_namespace}"
        return Fail(f"PVC {push.claim_name} is not in {where} any more.", "Name another PVC.")
    if job is None:
        return _before_the_job(push, share, now)
    return _at_work(push, job, look.seen, now)


def _at_work(push: Push, job: Job, seen: Seen, now: datetime) -> Decision:
    if has_condition(job.status.conditions, "Failed"):
        return _failed(push, job, seen)
    if seen.is_running or push.started_at is not None:
        return Follow(Phase.COPYING, seen.obstacle)
    if now - (job.metadata.creation_timestamp or push.asked_at) > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        return Fail(f"Its pod did not start within {within}. {seen.obstacle}".strip(), _ADMIN)
    return Follow(Phase.STARTING, seen.obstacle)


def is_late(push: Push, now: datetime) -> bool:
    """Whether its pod should have started by now."""
    return push.is_live and push.started_at is None and now - push.asked_at > LATE_AFTER


def _before_the_job(push: Push, share: Share, now: datetime) -> Decision:
    if push.job_uid is not None:
        return Fail("Somebody deleted its Job.", _GOES_ON)
    if share.reason:
        return Fail(
            f"Namespace {push.namespace} cannot mount PVC {push.claim_name}. {share.reason}",
            "Ask a platform admin, or copy the folder to a PVC of another storage class.",
        )
    if not share.is_live or not share.is_wanted:
        return Fail(f"Namespace {push.namespace} sees PVC {push.claim_name} no more.", _GOES_ON)
    if share.phase == SharePhase.READY:
        return Create()
    if now - push.asked_at > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        said = f"PVC {push.claim_name} was not to be seen in {push.namespace} within {within}."
        return Fail(f"{said} {share.trouble}".strip(), _ADMIN)
    return Follow(Phase.ASKED, share.trouble)


def _completed(push: Push, job: Job, said: Said | None) -> Decision:
    if said is not None and said.event == "done":
        return Pushed(said)
    return Again() if push.job_uid is not None else Delete(job.uid)


def _failed(push: Push, job: Job, seen: Seen) -> Decision:
    """Why, in the worker's own words where it had any."""
    said = seen.said
    if said is not None and said.event == "failed":
        return Fail(said.message, said.hint, said.keys)
    found = next((each for each in job.status.conditions if each.type == "Failed"), None)
    if found is not None and found.reason == "DeadlineExceeded":
        lasted = format_duration(longest_time(push.capacity_bytes))
        return Fail(f"It was not done after {lasted}. {seen.obstacle}".strip(), _GOES_ON)
    tries = f" in {job.status.failed} attempts" if job.status.failed > ATTEMPTS else ""
    why = f" Kubernetes says: {found.message}" if found is not None and found.message else ""
    return Fail(f"Its pod ended{tries} without saying why.{why}", _ADMIN)


def _after_the_end(push: Push, share: Share, seen: Seen) -> Decision:
    """The Job goes first, so that no pod holds what the share is made of."""
    if push.is_cleared:
        return Rest()
    if seen.job is not None and not seen.is_taken:
        return Delete(seen.job.uid)
    if not share.is_live:
        return Cleared()
    return Close() if share.is_wanted else Linger(share.trouble)


_GOES_ON = "What is in the store by now stays: push again, and only the rest is copied."
_ADMIN = "Ask a platform admin to look at it (`quartermaster doctor`), then push again."
