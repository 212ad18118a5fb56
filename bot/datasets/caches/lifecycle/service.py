"""The verbs for existing caches: evict, pin, unpin, extend, touch, keep. Rows only."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from bot import holds
from bot.audit import Actor, record
from bot.config import Settings
from bot.datasets import finding
from bot.datasets.caches import finding as caching
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.evictions.sweep import withdraw
from bot.datasets.caches.expiry import expires_at
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent
from bot.datasets.caches.users import PIN
from bot.datasets.finding import Reference
from bot.datasets.tables import DATASET, Dataset
from bot.durations import format_duration
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.holds import Hold
from bot.people.access import Caller, Right, Role
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards


@dataclass(frozen=True)
class Pinning:
    """A requested pin: why, and until when."""

    reason: str
    until: datetime


class KeepingService:
    """What handlers call; every verb writes within the caller's transaction.

    People are `Caller`s of a team whose right to use the verb has been checked already. `words`
    formats a command as people type it.
    """

    def __init__(self, settings: Callable[[], Settings], format_command: FormatCommand) -> None:
        self._settings = settings
        self._format_command = format_command

    def choose(
        self,
        session: Session,
        team: str,
        reference: Reference,
        storage_class: str | None,
        cluster: str | None = None,
    ) -> Cache:
        """The cache that a reference means; UserError lists the caches if it is ambiguous."""
        dataset = finding.dataset(session, team, reference.name, self._format_command)
        there = list(caching.live(session, dataset.id))
        if reference.version is not None:
            version = finding.version(session, dataset, reference.version, self._format_command)
            there = [each for each in there if each.version_id == version.id]
        is_named = reference.version is not None or bool(reference.folders)
        found = [
            each
            for each in there
            if (not is_named or each.folders == reference.folders)
            and storage_class in {None, each.storage_class}
            and cluster in {None, each.cluster}
        ]
        if len(found) == 1:
            return found[0]
        if not found:
            where = f" on {storage_class}" if storage_class else ""
            where += f" of cluster {cluster}" if cluster else ""
            listed = ", ".join(_named(each) for each in there)
            at = f" --cluster {cluster}" if cluster else ""
            again = self._format_command(f"dataset cache {shlex.quote(reference.spelled)}{at}")
            hint = f"It is cached as {listed}." if listed else f"`{again}` caches it."
            raise NotFoundError(f"{reference.spelled} is not cached{where}.", hint)
        first, is_alone = found[0], len({each.cluster for each in found}) == 1
        example = f"{shlex.quote(first.reference)} --class {first.storage_class}"
        example += "" if is_alone else f" --cluster {first.cluster}"
        what = "the version and the class" if is_alone else "the version, the class and the cluster"
        raise UsageError(
            f"{reference.spelled} has several caches: {', '.join(_named(each) for each in found)}.",
            f"Name {what}, for example {example}.",
        )

    def get(self, session: Session, caller: Caller, cache_id: str) -> Cache:
        """The cache behind a button; NotFoundError if the caller's team may not use its dataset."""
        cache = caching.by_id(session, cache_id)
        dataset = session.get(Dataset, cache.dataset_id) if cache is not None else None
        if cache is None or dataset is None or not dataset.is_for(caller.team or ""):
            raise NotFoundError("This cache was not found.")
        self._refuse_leaving(cache)
        return cache

    def leaving(self, session: Session) -> list[Cache]:
        """The caches of all teams whose eviction is announced; those first that go first."""
        return list(
            session.scalars(
                select(Cache)
                .where(
                    col(Cache.ended_at).is_(None),
                    col(Cache.leaves_at).is_not(None),
                    col(Cache.wanted) == CacheIntent.READY,
                )
                .order_by(col(Cache.leaves_at), col(Cache.id))
            )
        )

    def team_of(self, session: Session, cache_id: str) -> str | None:
        """The team that requested a cache; None if there is no such cache."""
        cache = caching.by_id(session, cache_id)
        return cache.team if cache is not None else None

    def refuse_evicting(self, caller: Caller, cache: Cache) -> None:
        """UserError unless the caller's team may evict the cache, and it exists."""
        if caller.team != cache.team and Role.ADMIN not in caller.roles:
            raise NotAllowedError(
                f"{_named(cache)} was cached by {cache.team}; only that team can evict it.",
                "Ask a member of that team or an admin.",
            )
        self._refuse_leaving(cache)

    def evict(self, session: Session, caller: Caller, cache: Cache, now: datetime) -> Cache:
        """Marks a cache for eviction unless a row needs it; the cluster is checked afterwards."""
        self.refuse_evicting(caller, cache)
        why = f"Requested by <@{caller.person}>."
        mark(session, cache, Mark(_actor(caller), why), now)
        return cache

    def pin(
        self, session: Session, caller: Caller, cache: Cache, asked: Pinning, now: datetime
    ) -> Cache:
        """Pins a cache until a moment; replaces an earlier pin of the same person."""
        self._refuse_leaving(cache)
        holds.take(
            session,
            Hold(
                thing_kind=CACHE,
                thing_id=cache.id,
                subject_kind=PIN,
                subject_id=caller.person,
                why=asked.reason.rstrip("."),
                until=asked.until,
            ),
        )
        until = asked.until.isoformat(timespec="minutes")
        self._note(session, caller, cache, "pin", {"reason": asked.reason, "until": until}, now)
        why = f"<@{caller.person}> has pinned it for {format_duration(asked.until - now)}:"
        self._stays(session, cache, f"{why} {asked.reason.rstrip('.')}.", now)
        return cache

    def unpin(
        self, session: Session, caller: Caller, cache: Cache, *, everybody: bool, now: datetime
    ) -> list[str]:
        """Removes the caller's pin, or all pins; returns the people whose pins they were."""
        pins = [
            each for each in holds.on(session, CACHE, cache.id, now) if each.subject_kind == PIN
        ]
        if everybody:
            self._refuse_others(caller, cache, pins)
        mine = [each for each in pins if everybody or each.subject_id == caller.person]
        if not mine:
            others = ", ".join(f"<@{each.subject_id}>" for each in pins)
            hint = f"It is pinned by {others}; a lead can add --all." if others else ""
            raise ConflictError(f"You have not pinned {_named(cache)}.", hint)
        for each in mine:
            holds.let_go(session, (CACHE, cache.id), (PIN, each.subject_id))
        people = sorted(each.subject_id for each in mine)
        self._note(session, caller, cache, "unpin", {"of": ", ".join(people)}, now)
        refresh_cards(session, cache.subject, live=False)
        return people

    def extend(
        self, session: Session, caller: Caller, cache: Cache, by: timedelta, now: datetime
    ) -> Cache:
        """Postpones the expiry of a cache by that much."""
        expires = self._expires(cache)
        return self.extend_until(session, caller, cache, max(expires, now) + by, now)

    def extend_until(
        self, session: Session, caller: Caller, cache: Cache, until: datetime, now: datetime
    ) -> Cache:
        """Postpones the expiry of a cache until then, if it is not kept longer already."""
        self._refuse_leaving(cache)
        expires = self._expires(cache)
        if until > expires:
            cache.expires_after = max(until, cache.expires_after or until)
            facts = {"until": until.isoformat(timespec="minutes")}
            self._note(session, caller, cache, "extend", facts, now)
        self._stays(session, cache, f"<@{caller.person}> has extended it.", now)
        return cache

    def touch(self, session: Session, caller: Caller, cache: Cache, now: datetime) -> Cache:
        """Marks a cache as used now."""
        self._refuse_leaving(cache)
        cache.used_at = now
        self._note(session, caller, cache, "touch", {}, now)
        self._stays(session, cache, f"<@{caller.person}> has touched it.", now)
        return cache

    def keep(
        self,
        session: Session,
        caller: Caller,
        dataset: Dataset,
        seconds: int | None,
        now: datetime,
    ) -> list[Cache]:
        """Sets how long unused caches of a dataset are kept; returns its existing caches.

        0 seconds stand for ever, None for the default.
        """
        if caller.team != dataset.team:
            raise NotAllowedError(
                f"{dataset.name} belongs to {dataset.team}; only that team can set how long its"
                " caches are kept.",
                "Pin or extend a cache instead.",
            )
        dataset.keep_seconds = seconds
        session.add(dataset)
        there = list(caching.live(session, dataset.id))
        for cache in there:
            cache.keep_seconds = keep_seconds(self._settings(), dataset, cache.team)
            session.add(cache)
            refresh_cards(session, cache.subject, live=False)
        facts = {"name": dataset.name, "seconds": "usual" if seconds is None else str(seconds)}
        record(session, _actor(caller), "dataset.keep", (DATASET, dataset.id), facts, at=now)
        return there

    def _stays(self, session: Session, cache: Cache, why: str, now: datetime) -> None:
        session.add(cache)
        withdraw(session, cache, why, self._settings(), now)
        refresh_cards(session, cache.subject, live=not cache.is_ready)

    def _expires(self, cache: Cache) -> datetime:
        """When a cache expires; ConflictError if it does not.

        A class that is too full may have announced an earlier end, or one for a cache without end.
        """
        expires = cache.leaves_at or expires_at(cache) or cache.expires_after
        if expires is None:
            raise ConflictError(
                f"{_named(cache)} does not expire: it is kept until it is evicted.",
                f"`{self._format_command(f'dataset pin {cache.argument}')}`"
                " protects it from eviction.",
            )
        return expires

    def _refuse_leaving(self, cache: Cache) -> None:
        if not cache.is_live:
            raise ConflictError(
                f"{_named(cache)} no longer exists.",
                f"`{self._format_command(f'dataset cache {cache.argument}')}` caches it again.",
            )
        if cache.wanted != CacheIntent.READY:
            raise ConflictError(
                f"{_named(cache)} is being evicted.", "Its card shows the progress."
            )

    def _refuse_others(self, caller: Caller, cache: Cache, pins: list[Hold]) -> None:
        may = caller.may(Right.DATASET_UNPIN_ANY)
        is_theirs = caller.team == cache.team or Role.ADMIN in caller.roles
        if not (may and is_theirs) and any(each.subject_id != caller.person for each in pins):
            people = ", ".join(f"<@{each.subject_id}>" for each in pins)
            raise NotAllowedError(
                f"{_named(cache)} is pinned by {people}.",
                f"They, a lead of {cache.team} or an admin can unpin it.",
            )

    def _note(
        self,
        session: Session,
        caller: Caller,
        cache: Cache,
        verb: str,
        facts: dict[str, str],
        now: datetime,
    ) -> None:
        named = {"name": cache.reference, "class": cache.storage_class, **facts}
        record(session, _actor(caller), f"dataset.{verb}", (CACHE, cache.id), named, at=now)


def keep_seconds(settings: Settings, dataset: Dataset, team: str) -> int | None:
    """How long a team's unused caches of a dataset are kept; None for ever."""
    if dataset.keep_seconds is not None:
        return dataset.keep_seconds or None
    usual = settings.keep_caches(team)
    return None if usual is None else round(usual.total_seconds())


def _named(cache: Cache) -> str:
    return f"{cache.reference} on {cache.place}"


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
