"""Records what was observed of a cache in its row, and notifies people."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot.datasets.caches import fills, notices
from bot.datasets.caches.decide import Arrange, CacheObserved, Decision, DeleteJob, Filled, Recreate
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.caches.users import wake_holders
from bot.datasets.saying import Said
from bot.masking import hide_secrets
from bot.reconcile.decisions import Done, Fail, UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards

_SMOOTHING = 0.5
# The scheduler reports this for every pod whose volume is being created.
_UNBOUND, _BINDS_WITHIN = "unbound immediate PersistentVolumeClaims", timedelta(minutes=1)


CacheFindings = Findings[Decision, CacheObserved]


def record(
    session: Session, row_id: str, found: CacheFindings, format_command: FormatCommand
) -> None:
    """Updates the row, and the card if what it shows has changed."""
    cache = session.get(Cache, row_id)
    if cache is None:
        return
    before = _shown(cache)
    _note_objects(cache, found)
    _apply(cache, found)
    match found.decision:
        case Filled(said):
            _fill(session, cache, said, found)
            notices.filled(session, cache, format_command, found.now)
        case Fail() as fail:
            _fail(session, cache, fail, found)
            notices.failed(session, cache, format_command, found.now)
        case _:
            pass
    cache.trouble = ""
    fills.boost(session, cache, found.observed.claim, found.now)
    session.add(cache)
    if _shown(cache) != before:
        refresh_cards(session, cache.subject, live=cache.is_live and not cache.is_ready)


def _apply(cache: Cache, found: CacheFindings) -> None:
    """Applies the decisions that notify no one."""
    match found.decision:
        case UpdateStatus() as follow:
            _follow(cache, follow, found)
        case Recreate():
            cache.job_uid = None
        case Arrange(said):
            _arrange(cache, said, found.now)
        case Done(remains):
            _clear(cache, remains)
        case _:
            pass


def _note_objects(cache: Cache, found: CacheFindings) -> None:
    """Records the uids of our objects, so that later ones of the same name are not ours."""
    seen, is_going = found.observed, isinstance(found.decision, DeleteJob)
    if seen.claim is not None and not seen.taken:
        cache.claim_uid = seen.claim.uid
        cache.volume_name = seen.claim.spec.volume_name or cache.volume_name
    if seen.job is not None and not seen.taken and not is_going:
        cache.job_uid = seen.job.uid


def _follow(cache: Cache, follow: UpdateStatus[CachePhase], found: CacheFindings) -> None:
    if not cache.is_live:
        return
    if follow.phase is not CachePhase(cache.phase):
        cache.phase, cache.since = follow.phase, found.now
        if follow.phase is CachePhase.FILLING:
            cache.since = cache.started_at = found.observed.started_at or found.now
    said, cache.obstacle = found.observed.said, _lasting(cache, found)
    cache.is_late = bool(follow.obstacle)
    if said is not None and said.event == "progress" and follow.phase is CachePhase.FILLING:
        _progress(cache, said, found.now)
    if said is not None and said.event == "failed":
        cache.obstacle = f"{hide_secrets(said.message)} Retrying."
    if follow.obstacle:
        cache.obstacle = f"{follow.obstacle} {cache.obstacle}".rstrip()


def _lasting(cache: Cache, found: CacheFindings) -> str:
    """What obstructs the fill, except for a volume that is still being bound."""
    is_being_bound = _UNBOUND in found.observed.obstacle and found.now - cache.since < _BINDS_WITHIN
    return "" if is_being_bound else found.observed.obstacle


def _progress(cache: Cache, said: Said, now: datetime) -> None:
    """Updates the progress; `read_at` is when it last advanced."""
    if (said.files_done, said.bytes_done) != (cache.files_done, cache.bytes_done):
        cache.read_at = now
    cache.stage, cache.files_done, cache.bytes_done = said.phase, said.files_done, said.bytes_done
    rate, before = said.bytes_per_second, cache.bytes_per_second
    if rate is not None and before:
        rate = _SMOOTHING * rate + (1 - _SMOOTHING) * before
    cache.bytes_per_second = rate


def _arrange(cache: Cache, said: Said, now: datetime) -> None:
    cache.phase, cache.since, cache.stage, cache.job_uid = CachePhase.ARRANGING, now, "", None
    cache.files_done, cache.bytes_done = said.objects, said.bytes
    cache.verified_by = dict(said.verified_by)
    cache.verified_bytes = dict(said.verified_bytes)
    cache.bytes_per_second, cache.obstacle, cache.is_late = None, "", False


def _fill(session: Session, cache: Cache, said: Said, found: CacheFindings) -> None:
    job = found.observed.job
    cache.phase, cache.stage = CachePhase.READY, ""
    cache.started_at = cache.started_at or found.observed.started_at
    cache.ready_at = (job.status.completion_time if job is not None else None) or found.now
    cache.since = cache.ready_at
    # The requester has not used it yet, and must not lose it for that.
    cache.used_at = max(cache.used_at, cache.ready_at)
    cache.files_done, cache.bytes_done = said.objects, said.bytes
    cache.verified_by = dict(said.verified_by)
    cache.verified_bytes = dict(said.verified_bytes)
    cache.bytes_per_second, cache.obstacle, cache.is_late = None, "", False
    wake_holders(session, cache, found.now)
    fills.ends(session, cache, found.now)


def _fail(session: Session, cache: Cache, fail: Fail, found: CacheFindings) -> None:
    cache.phase, cache.stage = CachePhase.FAILED, fail.word
    cache.reason, cache.unblock = hide_secrets(fail.reason), fail.unblock
    cache.keys = list(fail.keys)
    cache.since = cache.ended_at = found.now
    cache.bytes_per_second, cache.obstacle, cache.is_late = None, "", False
    service.leave(session, cache.id, found.now)
    wake_holders(session, cache, found.now)
    fills.ends(session, cache, found.now)


def _clear(cache: Cache, remains: str) -> None:
    cache.is_cleared = True
    cache.unblock = f"{cache.unblock} {hide_secrets(remains)}".strip()


def _shown(cache: Cache) -> tuple[object, ...]:
    """The columns that the card shows."""
    return (
        cache.phase, cache.since, cache.stage, cache.obstacle, cache.trouble, cache.is_late,
        cache.files_done, cache.bytes_done, cache.bytes_per_second, cache.ready_at,
        cache.ended_at, cache.reason, cache.unblock, cache.boost_id,
    )  # fmt: skip
