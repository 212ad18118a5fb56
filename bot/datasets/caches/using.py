"""Caches as runs use them: resolves references, holds caches, and reports readiness."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import update
from sqlmodel import Session, col

from bot import holds
from bot.cluster.view import View
from bot.config import Settings
from bot.datasets import bounds, finding, subfolders
from bot.datasets.caches import finding as caching
from bot.datasets.caches.finding import refuse_lost
from bot.datasets.caches.shares import service
from bot.datasets.caches.shares.forms import Storage, unshareable
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase, SharePhase, VersionUse
from bot.datasets.finding import Reference
from bot.datasets.fsx.tables import Import
from bot.datasets.tables import Version
from bot.durations import format_duration
from bot.errors import ConflictError
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards

# The folder of the files on a volume that is filled; on FSx the whole volume is the files.
FILES, WHOLE = "ready/files", "."


@dataclass(frozen=True)
class User:
    """What needs data: a subject of a team, whose pods run in a namespace of a cluster.

    `caching` are the clusters on which datasets are cached, `reach` are those of the team. `view`
    is the view of `cluster`, `drivers` are those that allow two volumes of one handle.
    """

    subject: tuple[str, str]
    why: str
    team: str
    cluster: str
    namespace: str
    caching: tuple[str, ...]
    reach: tuple[str, ...]
    settings: Settings
    view: View | None = None
    drivers: Sequence[str] = ()


class NotCachedError(ConflictError):
    """Some of the `wanted` versions are not cached: `versions`.

    `cluster` is where they would be, as messages name it.
    """

    def __init__(
        self,
        wanted: Sequence[Version],
        versions: Sequence[Version],
        format_command: FormatCommand,
        cluster: str = "",
    ) -> None:
        super().__init__(*_uncached([each.reference for each in versions], format_command, cluster))
        self.wanted, self.versions = tuple(wanted), tuple(versions)


def _uncached(names: Sequence[str], format_command: FormatCommand, cluster: str) -> tuple[str, str]:
    """What is not cached, and the commands that cache it."""
    on, option = (f" on cluster {cluster}", f" --cluster {cluster}") if cluster else ("", "")
    each = (format_command(f"dataset cache {shlex.quote(name)}{option}") for name in names)
    again = " and ".join(f"`{command}`" for command in each)
    is_one = len(names) == 1
    hint = (
        f"{again} {'copies it' if is_one else 'copy them'} to fast storage, once for everyone."
        " Submit again as soon as copying has started: it waits for the copy."
    )
    return f"{' and '.join(names)} {'is' if is_one else 'are'} not cached{on}.", hint


class Taken(NamedTuple):
    """A version, or a folder of one, that is held for a user, and the PVC that their pods mount.

    Its files are in `folder` of the volume. The digest is that of the version.
    """

    reference: str
    digest: str
    cache_id: str
    claim: str
    folder: str = FILES


@dataclass(frozen=True)
class DataReadiness:
    """What a user of data waits for, or why it failed; both are empty when the data is ready.

    All are sentences; `advice` says what to do.
    """

    waits: str = ""
    failed: str = ""
    advice: str = ""


THERE = DataReadiness()


def take(
    session: Session,
    wanted: Sequence[Reference],
    user: User,
    format_command: FormatCommand,
    now: datetime,
) -> list[Taken]:
    """Holds the caches that references mean; a reference without a version means the newest.

    Raises:
        NotFoundError: the team may use no such dataset, or it has no such version.
        NotAllowedError: the dataset's own team may not read its source any more.
        NotCachedError: these are not cached, and can be; nothing was written.
        ConflictError: one is not cached where it is needed, cannot be mounted there, or is about
            to be evicted.
    """
    found = [_found(session, each, user, format_command) for each in wanted]
    _refuse_uncached(found, wanted, user, format_command)
    for _, cache in found:
        if cache is not None:
            refuse_lost(session, cache, "mounted by a new run")
        if cache is not None and cache.namespace != user.namespace:
            _refuse_unshareable(cache, user)
    return [
        _taken(session, version, cache, asked.folders, user, now)
        for asked, (version, cache) in zip(wanted, found, strict=True)
        if cache is not None
    ]


def _refuse_uncached(
    found: Sequence[tuple[Version, Cache | None]],
    wanted: Sequence[Reference],
    user: User,
    format_command: FormatCommand,
) -> None:
    """NotCachedError, or ConflictError if folders are missing: they are counted before an offer."""
    missing = {
        subfolders.spelled(version.reference, asked.folders): (version, asked.folders)
        for asked, (version, cache) in zip(wanted, found, strict=True)
        if cache is None
    }
    named = user.cluster if len(user.caching) > 1 else ""
    if any(folders for _, folders in missing.values()):
        raise ConflictError(*_uncached(list(missing), format_command, named))
    if missing:
        every, lacking = [each for each, _ in found], [each for each, _ in missing.values()]
        raise NotCachedError(every, lacking, format_command, named)


def readiness(session: Session, cache_id: str, claim: str) -> DataReadiness:
    """How far a cache is for those who mount this PVC of it."""
    cache = caching.by_id(session, cache_id)
    if cache is None:
        return DataReadiness(failed="The cache that it reads no longer exists.")
    if not cache.is_live:
        return _ended(cache)
    if cache.phase != CachePhase.READY:
        return DataReadiness(waits=f"Waiting for {cache.reference}: {_far(cache)}")
    if claim == cache.claim_name:
        return THERE
    return _shared(session, cache, claim)


def left(session: Session, cache_ids: Iterable[str], now: datetime) -> None:
    """Records that these caches were used until now."""
    for cache_id in cache_ids:
        session.connection().execute(
            update(Cache).where(col(Cache.id) == cache_id).values(used_at=now)
        )


def _found(
    session: Session, asked: Reference, user: User, format_command: FormatCommand
) -> tuple[Version, Cache | None]:
    """The version that a reference means, and its cache; None if it is not cached."""
    dataset = finding.dataset(session, user.team, asked.name, format_command)
    version = finding.version(session, dataset, asked.version, format_command)
    bounds.insist(bounds.of_version(session, user.settings, version))
    caches = caching.of_version(session, version.id, user.cluster, asked.folders)
    usable = _usable(session, caches)
    if usable is None and caches:
        again = format_command(f"dataset cache {caches[0].argument}")
        raise ConflictError(
            f"{caches[0].reference} is being evicted from {caches[0].place}.",
            f"When its card shows Evicted, `{again}` caches it again.",
        )
    if usable is None and user.cluster not in user.caching:
        raise _elsewhere(session, version, asked.folders, user)
    return version, usable


def _usable(session: Session, caches: Sequence[Cache]) -> Cache | None:
    """The first cache that stays; a lost one only without another."""
    staying = [each for each in caches if each.wanted == CacheIntent.READY]
    there = (each for each in staying if not caching.lost(session, each))
    return next(there, None) or next(iter(staying), None)


def _elsewhere(
    session: Session, version: Version, folders: Sequence[str], user: User
) -> ConflictError:
    """The error for a cluster without caches; it names one of the team's where they are."""
    mine = [each for each in user.caching if each in user.reach]
    having = [each for each in mine if caching.of_version(session, version.id, each, folders)]
    chosen = next(iter((*having, *mine)), None)
    on = "cluster" if len(user.caching) == 1 else "clusters"
    return ConflictError(
        f"Datasets are cached on {on} {' and '.join(user.caching)}, but this is for"
        f" cluster {user.cluster}.",
        f"Add `--cluster {chosen}`." if chosen else _NO_WAY,
    )


def storage_of(session: Session, cache_id: str) -> Storage:
    """The storage class and volume of a cache."""
    cache = session.get_one(Cache, cache_id)
    return Storage(cache.storage_class, cache.volume_name)


def _refuse_unshareable(cache: Cache, user: User) -> None:
    """ConflictError if the view shows that the namespace cannot mount the cache."""
    storage = Storage(cache.storage_class, cache.volume_name)
    why = unshareable(user.view, storage, user.drivers) if user.view is not None else None
    if why is not None:
        raise ConflictError(
            f"Namespace {user.namespace} cannot mount {cache.reference}. {why.reason}", why.unblock
        )


def _taken(
    session: Session,
    version: Version,
    cache: Cache,
    folders: Sequence[str],
    user: User,
    now: datetime,
) -> Taken:
    take_hold(session, cache, user.subject, user.why, now)
    _join(session, cache, user.team)
    claim = service.claim_for(session, cache, user.namespace, now)
    root = WHOLE if session.get(Import, cache.id) is not None else FILES
    inner = "".join(folders).rstrip("/")
    folder = (inner if root == WHOLE else f"{root}/{inner}") if inner else root
    reference = subfolders.spelled(version.reference, folders)
    return Taken(reference, version.digest or "", cache.id, claim, folder)


def _join(session: Session, cache: Cache, team: str) -> None:
    """Adds a team to the cache, so that it is notified of an eviction."""
    if team not in {cache.team, *cache.teams}:
        cache.teams = [*cache.teams, team]
        session.add(cache)
        refresh_cards(session, cache.subject, live=not cache.is_ready)


def _ended(cache: Cache) -> DataReadiness:
    if cache.phase == CachePhase.FAILED:
        return DataReadiness(
            failed=f"{cache.reference} could not be cached. {cache.reason}", advice=cache.unblock
        )
    return DataReadiness(failed=f"{cache.reference} was evicted before it could be read.")


def _far(cache: Cache) -> str:
    """The progress of a fill, as the end of a sentence."""
    match CachePhase(cache.phase):
        case CachePhase.FILLING if cache.stage == "importing":
            return "its file names are being imported."
        case CachePhase.FILLING:
            return f"{_percent(cache)} % copied{_left(cache)}."
        case CachePhase.ARRANGING:
            return "its files are copied and are being arranged."
        case _:
            return f"copying has not started yet. {cache.obstacle}".strip()


def _percent(cache: Cache) -> int:
    return 100 * cache.bytes_done // cache.size_bytes if cache.size_bytes else 0


def _left(cache: Cache) -> str:
    left = cache.size_bytes - cache.bytes_done
    if not cache.bytes_per_second or left <= 0:
        return ""
    time = timedelta(seconds=left / cache.bytes_per_second)
    return f", about {format_duration(time)} left"


def _shared(session: Session, cache: Cache, claim: str) -> DataReadiness:
    share = service.by_claim(session, cache.id, claim)
    if share is None:
        return DataReadiness(failed=f"PVC {claim} of {cache.reference} is no longer known.")
    if share.reason or not share.is_live:
        why = share.reason or "Its PVC was deleted."
        said = f"Namespace {share.namespace} cannot mount {cache.reference}. {why}"
        return DataReadiness(failed=said, advice=share.unblock)
    if share.phase == SharePhase.READY:
        return THERE
    said = f"Waiting until namespace {share.namespace} can mount {cache.reference}."
    return DataReadiness(waits=f"{said} {share.trouble}".strip())


_NO_WAY = "The team does not have that cluster; a platform admin can change that."


def take_hold(
    session: Session, cache: Cache, subject: tuple[str, str], why: str, now: datetime
) -> None:
    """Holds a cache for a subject (kind, id); ConflictError if it is marked for eviction.

    The use is recorded permanently. Marking a cache for eviction checks for holds and changes the
    same row in its transaction, so that never both happen.
    """
    taken = session.connection().execute(
        update(Cache)
        .where(
            col(Cache.id) == cache.id,
            col(Cache.wanted) == CacheIntent.READY,
            col(Cache.ended_at).is_(None),
        )
        .values(used_at=now)
    )
    if taken.rowcount != 1:
        raise ConflictError(
            f"{cache.reference} is being evicted from {cache.place}.",
            "Cache it again when its card shows Evicted.",
        )
    kind, subject_id = subject
    hold = holds.Hold(
        thing_kind=CACHE, thing_id=cache.id, subject_kind=kind, subject_id=subject_id, why=why
    )
    holds.take(session, hold)
    version_id = cache.version_id
    session.merge(
        VersionUse(version_id=version_id, subject_kind=kind, subject_id=subject_id, who=why, at=now)
    )
