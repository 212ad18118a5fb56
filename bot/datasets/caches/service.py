"""Requests for caches: checked, priced and written as rows, one cache for all teams."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace
from sqlmodel import Session

from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import ALLOWANCES
from bot.config import Settings
from bot.database.columns import new_id
from bot.datasets import bounds, finding, subfolders
from bot.datasets.caches import fills
from bot.datasets.caches import finding as caching
from bot.datasets.caches.answers import CacheFound, CacheOffer, UncountedPart
from bot.datasets.caches.classes import Classes, kept, rooms
from bot.datasets.caches.content import CacheContent, PlannedPart, content_of
from bot.datasets.caches.fills import Boosts
from bot.datasets.caches.fsx import planning
from bot.datasets.caches.lifecycle.service import keep_seconds
from bot.datasets.caches.plan import (
    CachePlan,
    CacheRequest,
    Estimate,
    Keeping,
    best_time,
    left,
    refuse_crowded,
    refuse_unfit,
    refuse_unused,
    volume_bytes,
    without,
)
from bot.datasets.caches.tables import CACHE, Cache
from bot.datasets.finding import Reference
from bot.datasets.fsx.tables import Import
from bot.datasets.job import job_name
from bot.datasets.tables import Dataset, Version
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.grammar.reading import closest
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card
from bot.volumes.pools.capacity import pool_rooms


@dataclass(frozen=True)
class _Asked:
    """The version that a request names, with the other teams and the caches in its cluster.

    `there` holds exactly what is requested, `held_by` more than that. A `part` has been counted.
    """

    version: Version
    teams: tuple[str, ...]
    keep_seconds: int | None
    there: Cache | None
    held_by: Cache | None
    cluster: str
    part: PlannedPart | None = None


class CacheService:
    """What handlers call; every verb writes within the caller's transaction.

    People are `Caller`s of a team whose right to use the verb has been checked already. `words`
    formats a command as people type it.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._format_command = format_command
        self._classes = Classes(settings, clusters)

    @property
    def classes(self) -> Classes:
        """The storage classes for caches."""
        return self._classes

    def ask(
        self,
        session: Session,
        caller: Caller,
        request: CacheRequest,
        now: datetime,
        besides: Sequence[CachePlan] = (),
    ) -> CacheOffer | CacheFound | UncountedPart:
        """What a cache would cost, or the cache itself if it exists; asking counts as use.

        `besides` are caches that are created at the same time, which reduces the free space. For
        folders of a version, `offer_part` says what their cache costs.
        """
        asked = self._asked(session, caller, request)
        if asked.there is None and request.reference.folders:
            return self._uncounted(session, request, asked)
        if asked.there is None:
            return self._offer(session, caller, request, asked, now, besides)
        told = Keeping(asked.keep_seconds, is_told=request.keep is not None)
        if request.is_boosted:
            self._boosts().join(session, caller, asked.there, now)
        return self._join(session, caller, asked.there, asked.teams, told, now)

    def foresee(
        self, session: Session, caller: Caller, request: CacheRequest, now: datetime
    ) -> CacheOffer | Cache | UncountedPart:
        """What a cache would cost, or the cache that exists; this does not count as use."""
        asked = self._asked(session, caller, request)
        if asked.there is None and request.reference.folders:
            return self._uncounted(session, request, asked)
        if asked.there is None:
            return self._offer(session, caller, request, asked, now)
        caching.refuse_evicted(session, asked.there)
        return asked.there

    def _asked(self, session: Session, caller: Caller, request: CacheRequest) -> _Asked:
        """What a request names, and the cache that there is of it."""
        own, cluster = caller.team or "", self._cluster(caller, request)
        dataset, version = self._version(session, own, request.reference)
        is_usual = request.keep is None
        keep = keep_seconds(self._settings(), dataset, own) if is_usual else request.keep_seconds
        wanted = request.storage_class, cluster
        part = subfolders.written(request.reference.folders)
        there = caching.exactly(session, version.id, wanted, part)
        held_by = caching.holder(session, version.id, wanted, request.reference.folders)
        teams = self._teams(dataset, own, request.teams)
        return _Asked(version, teams, keep, there, held_by, cluster)

    def offer_part(
        self,
        session: Session,
        caller: Caller,
        request: CacheRequest,
        part: PlannedPart,
        now: datetime,
    ) -> CacheOffer:
        """What a cache of some folders of a version would cost, once they are counted."""
        asked = dataclasses.replace(self._asked(session, caller, request), part=part)
        return self._offer(session, caller, request, asked, now)

    def _uncounted(self, session: Session, request: CacheRequest, asked: _Asked) -> UncountedPart:
        """The part that was requested; UserError if it cannot be cached that way."""
        if request.layout:
            raise UsageError(
                "A layout needs the files of the whole version.",
                "Leave out --layout, or cache the version without naming folders.",
            )
        if request.is_meant:
            raise UsageError(
                "--yes cannot cache folders of a version: they are counted first.",
                "Leave out --yes: the answer shows the size and has a button that starts it.",
            )
        folders = request.reference.folders
        if asked.held_by is not None:
            named = subfolders.spelled(asked.version.reference, folders)
            refuse_unused(request, named, asked.held_by)
        else:
            refuse_unfit(asked.version)
            where = self._classes.chosen(request.storage_class, asked.cluster), asked.cluster
            self._import(session, asked.version, where, subfolders.written(folders))
        return UncountedPart(asked.version, folders, asked.held_by)

    def _cluster(self, caller: Caller, request: CacheRequest) -> str:
        """The cluster that a request is for: the named one, or else one that the team has."""
        datasets, team = self._classes.everywhere(), self._settings().teams.get(caller.team or "")
        usual = datasets.cluster_for(team.reach if team is not None else ())
        return self._classes.datasets(request.cluster or usual).cluster

    def _offer(
        self,
        session: Session,
        caller: Caller,
        request: CacheRequest,
        asked: _Asked,
        now: datetime,
        besides: Sequence[CachePlan] = (),
    ) -> CacheOffer:
        version, teams, keep = asked.version, asked.teams, asked.keep_seconds
        cluster, home = asked.cluster, self._classes.everywhere().cluster
        chosen = self._classes.chosen(request.storage_class, cluster)
        refuse_unfit(version)
        layout = self._classes.layout(request.layout)
        content = content_of(version, asked.part)
        size = self._size(session, version, content, (chosen, cluster), request)
        plan = CachePlan(version.id, chosen, size, caller.team or "", teams, keep, layout,
                         cluster="" if cluster == home else cluster, part=asked.part)  # fmt: skip
        estimate = without(self._estimate(session, content, plan, now), plan.cluster, besides)
        refuse_crowded(estimate, self._format_command("dataset usage"))
        if not request.is_boosted:
            return CacheOffer(plan, estimate)
        boost = self._boosts().offered(session, plan, now)
        growth = boost.plan.growth_bytes
        return CacheOffer(replace(plan, is_boosted=True, growth_bytes=growth), estimate, boost)

    def begin(self, session: Session, caller: Caller, plan: CachePlan, now: datetime) -> CacheFound:
        """Requests a cache; if it exists by now, the caller joins it."""
        version = session.get(Version, plan.version_id)
        dataset = session.get(Dataset, version.dataset_id) if version is not None else None
        if version is None or dataset is None or dataset.removed_at is not None:
            raise NotFoundError("This version is no longer in the catalogue.")
        finding.dataset(session, caller.team or "", dataset.name, self._format_command)
        bounds.insist(bounds.of_version(session, self._settings(), version))
        teams = self._teams(dataset, caller.team or "", plan.teams)
        cluster = self._classes.cluster(plan)
        content = content_of(version, plan.part)
        there = caching.exactly(session, version.id, (plan.storage_class, cluster), content.part)
        if there is not None:
            told = Keeping(plan.keep_seconds, is_told=False)
            return self._join(session, caller, there, teams, told, now)
        plan = replace(plan, storage_class=self._classes.chosen(plan.storage_class, cluster))
        refuse_crowded(
            self._estimate(session, content, plan, now), self._format_command("dataset usage")
        )
        if plan.is_boosted:
            self._boosts().offered(session, plan, now)
        cache = self._row(caller, version, plan, teams, now)
        where = plan.storage_class, cluster
        imported = self._import(session, version, where, content.part)
        session.add(cache)
        session.flush()
        fills.begins(session, cache)
        if imported is not None:
            imported.cache_id = cache.id
            session.add(imported)
        facts = {"name": cache.reference, "class": cache.storage_class,
                 "bytes": str(cache.capacity_bytes), "teams": ", ".join(teams)}  # fmt: skip
        record(session, _actor(caller), "dataset.cache", (CACHE, cache.id), facts, at=now)
        show_card(session, cache.subject, caller.channel, now, live=True, owner=caller.person)
        wake(session, CACHE, cache.id, cluster_lane(cache.cluster), now)
        return CacheFound(cache, teams, is_new=True)

    def _join(
        self,
        session: Session,
        caller: Caller,
        cache: Cache,
        teams: tuple[str, ...],
        keeping: Keeping,
        now: datetime,
    ) -> CacheFound:
        """Adds teams to an existing cache, ready or not; asking counts as use."""
        caching.refuse_evicted(session, cache)
        known = {cache.team, *cache.teams}
        added = tuple(each for each in (caller.team or "", *teams) if each not in known)
        cache.teams = [*cache.teams, *added]
        cache.used_at = now
        if keeping.is_told:
            cache.keep_seconds = keeping.longer(cache.keep_seconds)
        session.add(cache)
        facts = {"name": cache.reference, "class": cache.storage_class, "teams": ", ".join(added)}
        record(session, _actor(caller), "dataset.cache_join", (CACHE, cache.id), facts, at=now)
        if not cache.is_ready:
            channel, who = caller.channel, caller.person
            show_card(session, cache.subject, channel, now, live=True, owner=who)
        elif added:
            refresh_cards(session, cache.subject, live=False)
        return CacheFound(cache, added)

    def _version(self, session: Session, team: str, said: Reference) -> tuple[Dataset, Version]:
        dataset = finding.dataset(session, team, said.name, self._format_command)
        survey = finding.live_survey(session, dataset.id)
        if survey is not None and said.version == survey.name:
            raise ConflictError(
                f"{survey.reference} is still being recorded.",
                f"Its card in <#{survey.channel}> shows the progress. Cache it once recorded.",
            )
        version = finding.version(session, dataset, said.version, self._format_command)
        bounds.insist(bounds.of_version(session, self._settings(), version))
        return dataset, version

    def _size(
        self,
        session: Session,
        version: Version,
        content: CacheContent,
        where: tuple[str, str],
        request: CacheRequest,
    ) -> int:
        """Bytes that the cache takes; UserError if FSx cannot import the version."""
        name, cluster = where
        if self._import(session, version, where, content.part) is None:
            return volume_bytes(content, request.size, self._classes.settings(name, cluster))
        planning.refuse_options(name, request.size, request.layout)
        return planning.space(version)

    def _import(
        self, session: Session, version: Version, where: tuple[str, str], part: str
    ) -> Import | None:
        """The FSx import for a cache of that class; None if the files are copied."""
        name, cluster = where
        linked = self._classes.settings(name, cluster).fsx
        if linked and part:
            planning.refuse_part(name)
        return planning.planned(session, version, name, linked) if linked else None

    def _teams(self, dataset: Dataset, own: str, asked: Sequence[str]) -> tuple[str, ...]:
        """The other teams; UserError if one is unknown or may not use the dataset."""
        teams = tuple(dict.fromkeys(each for each in asked if each != own))
        known = self._settings().teams
        for team in teams:
            if team not in known:
                near = closest(team, known)
                hint = f"Did you mean {near}?" if near else f"Use one of: {', '.join(known)}."
                raise NotFoundError(f"There is no team {team}.", hint)
            if not dataset.is_for(team):
                readers = ", ".join((dataset.team, *dataset.readers))
                raise NotAllowedError(
                    f"{team} may not use {dataset.name}.", f"It is for {readers}."
                )
        return teams

    def _estimate(
        self, session: Session, content: CacheContent, plan: CachePlan, now: datetime
    ) -> Estimate:
        """What a plan costs now, by the database and the cluster view alone."""
        datasets = self._classes.datasets(self._classes.cluster(plan))
        cluster, whole = self._clusters[datasets.cluster], self._classes.everywhere()
        caches = kept(session, datasets.cluster)
        name, size = plan.storage_class, plan.capacity_bytes
        pools = pool_rooms(session, self._settings(), cluster, now)
        allowances = cluster.view.all(ALLOWANCES, datasets.namespace)
        room = rooms(caches, allowances, pools, datasets)[name]
        return Estimate(
            content=content,
            storage_class=name,
            capacity_bytes=size,
            free=left(room, caches, name),
            whole=room.whole,
            source=room.source,
            best=best_time(content.size_bytes, size, datasets.classes[name]),
            is_imported=datasets.classes[name].fsx is not None,
            cluster=whole.named(datasets.cluster),
            section=whole.classes_key(datasets.cluster),
        )

    def _row(
        self,
        caller: Caller,
        version: Version,
        plan: CachePlan,
        teams: tuple[str, ...],
        now: datetime,
    ) -> Cache:
        datasets, row_id = self._classes.datasets(self._classes.cluster(plan)), new_id()
        name, content = job_name(version.reference, row_id), content_of(version, plan.part)
        return Cache(
            id=row_id,
            workspace_id=caller.workspace_id,
            version_id=version.id,
            dataset_id=version.dataset_id,
            reference=content.reference,
            digest=content.digest,
            objects=content.objects,
            size_bytes=content.size_bytes,
            part=content.part,
            team=caller.team or "",
            person=caller.person,
            channel=caller.channel,
            cluster=datasets.cluster,
            namespace=datasets.namespace,
            storage_class=plan.storage_class,
            capacity_bytes=plan.capacity_bytes,
            claim_name=name,
            job_name=name,
            layout=plan.layout,
            named_cluster=self._classes.everywhere().named(datasets.cluster),
            boost_by=caller.person if plan.is_boosted else None,
            boost_growth_bytes=plan.growth_bytes,
            asked_at=now,
            teams=list(teams),
            keep_seconds=plan.keep_seconds,
            used_at=now,
            since=now,
        )

    def _boosts(self) -> Boosts:
        return Boosts(self._settings(), self._clusters)


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
