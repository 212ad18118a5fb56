"""Offers to cache the data of a run and to submit the run, with one click."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace
from sqlmodel import Session, col

from bot.database.forgetting import forget_some
from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.finding import of_version
from bot.datasets.caches.plan import CachePlan, CacheRequest, read, written
from bot.datasets.caches.service import CacheService
from bot.datasets.caches.tables import CacheIntent
from bot.datasets.finding import Reference
from bot.errors import ConflictError, NotAllowedError, UserError
from bot.people.access import Caller, Right
from bot.slack.markup import FormatCommand
from bot.training.service import TrainingService
from bot.training.spec import RunSpec, to_row
from bot.training.submission.new_run import AskedRun, Submitted, UncachedRunError
from bot.training.tables import Run, RunOffer
from bot.training.templates.candidates import Candidate, to_rows

_LIFE = timedelta(hours=24)


@dataclass(frozen=True)
class Offered:
    """A run that awaits confirmation, and the cost of caching its data."""

    offer_id: str
    run: str
    caches: tuple[CacheOffer, ...]


@dataclass(frozen=True)
class Accepted:
    """A submitted run, and the caches that it waits for or reads."""

    run: Submitted
    caches: tuple[CacheFound, ...]


class OfferService:
    """Creates and accepts offers to cache the data of a run; `words` formats a command."""

    def __init__(
        self, training: TrainingService, caches: CacheService, format_command: FormatCommand
    ) -> None:
        self._training = training
        self._caches = caches
        self._format_command = format_command

    def offer(
        self, session: Session, caller: Caller, lacking: UncachedRunError, now: datetime
    ) -> Offered:
        """Stores the run with the cost of its caches; ConflictError if they cannot be created."""
        if not caller.may(Right.DATASET_CACHE):
            raise lacking
        plans = self._priced(session, caller, lacking, now)
        row = RunOffer(
            workspace_id=caller.workspace_id,
            team=caller.team or "",
            person=caller.person,
            cluster=lacking.asked.cluster,
            name=lacking.asked.name,
            spec=to_row(lacking.asked.spec),
            plans=[written(each.plan) for each in plans],
            places=to_rows(lacking.asked.places),
            asked_at=now,
        )
        session.add(row)
        return Offered(row.id, row.name, tuple(plans))

    def get(self, session: Session, offer_id: str, person: str, now: datetime) -> RunOffer:
        """The offer of a button.

        Raises:
            ConflictError: it is too old, or no longer exists.
            NotAllowedError: it was made to another person.
        """
        row = session.get(RunOffer, offer_id)
        if row is None or now - row.asked_at > _LIFE:
            raise ConflictError(
                "This offer is out of date. Nothing was done.", "Submit the run again."
            )
        if row.person != person:
            raise NotAllowedError(
                f"This was offered to <@{row.person}>.", "Submit a run of your own."
            )
        return row

    def accept(
        self, session: Session, caller: Caller, offer: RunOffer, now: datetime
    ) -> Accepted | Run:
        """Creates the caches and submits the run; returns the run if it was submitted before."""
        if offer.run_id is not None:
            return session.get_one(Run, offer.run_id)
        spec = msgspec.convert(offer.spec, RunSpec)
        made = [self._cached(session, caller, read(each), now) for each in offer.plans]
        places = tuple(msgspec.convert(each, Candidate) for each in offer.places)
        asked = AskedRun(offer.name, offer.cluster, spec, places)
        run = self._training.begin(session, caller, asked, now)
        offer.run_id, offer.spec, offer.plans, offer.places = run.run_id, {}, [], []
        session.add(offer)
        return Accepted(run, tuple(made))

    def _cached(
        self, session: Session, caller: Caller, plan: CachePlan, now: datetime
    ) -> CacheFound:
        """The new cache, or one created in the meantime, which the run would read anyway."""
        cluster = self._caches.classes.cluster(plan)
        there = of_version(session, plan.version_id, cluster)
        usable = next((each for each in there if each.wanted == CacheIntent.READY), None)
        if usable is not None:
            plan = replace(plan, storage_class=usable.storage_class)
        return self._caches.begin(session, caller, plan, now)

    def _priced(
        self, session: Session, caller: Caller, lacking: UncachedRunError, now: datetime
    ) -> list[CacheOffer]:
        """The cost of each cache, counting the ones before it against the free space."""
        found: list[CacheOffer] = []
        for each in lacking.missing:
            version, cluster = each.version, each.cluster
            reference = Reference(version.dataset, version.name)
            request = CacheRequest(reference, cluster=cluster)
            on = self._caches.classes.named(cluster)
            try:
                offer = self._caches.ask(
                    session, caller, request, now, [other.plan for other in found]
                )
                if isinstance(offer, CacheOffer):
                    chosen = offer.plan.storage_class
                    self._caches.classes.refuse_unshareable(chosen, each.namespace, cluster)
                    found.append(offer)
            except UserError as error:
                again = self._format_command(cache_command(version.reference, on))
                hint = f"`{again}` caches it, with other options if needed. {error.hint}"
                raise ConflictError(
                    f"{version.reference} is not cached{on and f' on cluster {on}'}."
                    f" {error.message}",
                    hint.strip(),
                ) from None
        return found


def cache_command(reference: str, cluster: str) -> str:
    """The command that caches a version; without a cluster if all caches are in one."""
    return f"dataset cache {reference}{f' --cluster {cluster}' if cluster else ''}"


def forget(session: Session, now: datetime) -> None:
    """Deletes the offers that have expired."""
    forget_some(session, RunOffer, col(RunOffer.asked_at) < now - _LIFE)
