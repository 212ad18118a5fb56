"""The verbs of datasets: checks requests and writes rows; calls no outside service."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import Datasets, Settings
from bot.datasets import bounds, finding
from bot.datasets.bounds import StoreUse
from bot.datasets.caches import finding as caching
from bot.datasets.card import Entry, Shelf
from bot.datasets.clusters import at_work
from bot.datasets.finding import Reference
from bot.datasets.location import Location
from bot.datasets.removing import CopyRemover, refuse_swept
from bot.datasets.selection import Selection
from bot.datasets.tables import DATASET, VERSION, CopyState, Dataset, Version, VersionPhase
from bot.datasets.versions.replies import copy_offered
from bot.datasets.versions.surveys import copies_of, new_selection, new_survey
from bot.datasets.wording import name_of
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.card import Reply
from bot.slack.grammar.reading import closest
from bot.slack.markup import FormatCommand
from bot.slack.messages import show_card

EVERYONE = "everyone"


@dataclass(frozen=True)
class NewDataset:
    """The input of `/dataset add`; `readers` are teams, or only `everyone`."""

    name: str
    source: str
    store: str | None = None
    description: str = ""
    readers: tuple[str, ...] = ()
    team: str | None = None


@dataclass(frozen=True)
class NewSelection:
    """Which files of a version are recorded as a version of their own, under which name."""

    selection: Selection
    name: str
    note: str = ""
    cluster: str = ""


class DatasetService:
    """The verbs that handlers call; each writes within the caller's transaction.

    Handlers have checked the `Caller`'s right to use the verb. `words` formats a command as people
    type it.
    """

    def __init__(self, settings: Callable[[], Settings], format_command: FormatCommand) -> None:
        self._settings = settings
        self._format_command = format_command
        self.copies = CopyRemover(settings, format_command)

    def add(self, session: Session, caller: Caller, asked: NewDataset, now: datetime) -> Dataset:
        """Adds a dataset of the caller's team; UserError if the input is not valid."""
        self.set_up()
        team = caller.team or ""
        source = asked.source
        store = self.store_of(StoreUse(team, asked.store or "", source))
        bounds.insist(
            bounds.reading_refusal(session, self._settings(), StoreUse(team, store, source))
        )
        readers, is_open = self._readers(team, asked.readers)
        self._refuse_taken(session, team, asked.name)
        row = Dataset(
            workspace_id=caller.workspace_id,
            name=asked.name,
            team=team,
            readers=list(readers),
            is_open=is_open,
            store=store,
            source=Location.of(source).url,
            description=asked.description,
            person=caller.person,
            added_at=now,
        )
        session.add(row)
        session.flush()
        facts = {"name": row.name, "store": store, "source": row.source,
                 "readers": EVERYONE if is_open else ", ".join(readers)}  # fmt: skip
        record(session, _actor(caller), "dataset.add", (DATASET, row.id), facts, at=now)
        return row

    def version(
        self,
        session: Session,
        caller: Caller,
        dataset: Dataset,
        name: str | None,
        note: str,
        now: datetime,
        *,
        has_copy: bool = False,
        cluster: str = "",
    ) -> Version:
        """Starts a survey for a new version, with a copy of its objects if `has_copy`.

        Without a name, the version gets the next free one of v1, v2 and so on.
        """
        datasets = at_work(session, self.set_up(), dataset.id, cluster)
        ready, free = self._free(session, caller, dataset, name)
        self._refuse_surveyed(session, dataset, now)
        row = new_survey(dataset, datasets, caller.person, caller.channel, now)
        row.name, row.note = free, note
        newest = finding.newest(ready)
        row.parents = [newest.id] if newest is not None else []
        if has_copy:
            row.copy_state, row.copies = CopyState.WANTED, copies_of(dataset, datasets)
            row.copy_price = self.copy_price()
        told = {"note": note, "copies": row.copies, "cluster": cluster}
        return _started(session, caller, row, told, now)

    def select(
        self,
        session: Session,
        caller: Caller,
        dataset: Dataset,
        asked: NewSelection,
        now: datetime,
    ) -> Version:
        """Starts a Job that records the selected files of a version as a version."""
        datasets = at_work(session, self.set_up(), dataset.id, asked.cluster)
        _, free = self._free(session, caller, dataset, asked.name)
        of = finding.version(session, dataset, asked.selection.of, self._format_command)
        bounds.insist(bounds.of_version(session, self._settings(), of))
        self._refuse_surveyed(session, dataset, now)
        row = new_selection(of, datasets, asked.selection, caller, now)
        row.name, row.note = free, asked.note
        told = {
            "note": asked.note,
            "selection": asked.selection.spelled,
            "cluster": asked.cluster,
        }
        return _started(session, caller, row, told, now)

    def _free(
        self, session: Session, caller: Caller, dataset: Dataset, name: str | None
    ) -> tuple[list[Version], str]:
        """The recorded versions, and the name of a new one; UserError if there can be none."""
        self._refuse_others(caller, dataset, "record versions of it")
        bounds.insist(bounds.of_dataset(session, self._settings(), dataset))
        ready = finding.versions(session, dataset.id)
        return ready, _free_name(dataset, {each.name for each in ready}, name)

    def offer_copy(
        self, session: Session, caller: Caller, dataset: Dataset, command: str, cluster: str = ""
    ) -> Reply:
        """What a version with a copy would take; `command` starts it."""
        datasets = at_work(session, self.set_up(), dataset.id, cluster)
        self._refuse_others(caller, dataset, "record versions of it")
        bounds.insist(bounds.of_dataset(session, self._settings(), dataset))
        newest = finding.newest(finding.versions(session, dataset.id))
        place = copies_of(dataset, datasets)
        return copy_offered(dataset, newest, place, self.copy_price(), command)

    def copied(self, session: Session, dataset: Dataset) -> list[Version]:
        """The versions of a dataset that have copies, newest first."""
        made = finding.copied(session, dataset.id)
        return [each for each in made if each.copy_state == CopyState.MADE]

    def remove(self, session: Session, caller: Caller, dataset: Dataset, now: datetime) -> Dataset:
        """Removes a dataset from the catalogue; its objects in the store stay."""
        self._refuse_others(caller, dataset, "remove it")
        if dataset.person != caller.person and not caller.may(Right.DATASET_REMOVE_ANY):
            raise NotAllowedError(
                f"{dataset.name} was added by <@{dataset.person}>.",
                "That person, a lead of the team or an admin can remove it.",
            )
        self._refuse_surveyed(session, dataset, now)
        self._refuse_cached(session, dataset)
        self.copies.remove_all(session, caller, dataset, now)
        dataset.removed_at = now
        session.add(dataset)
        facts = {"name": dataset.name}
        record(session, _actor(caller), "dataset.remove", (DATASET, dataset.id), facts, at=now)
        return dataset

    def find(self, session: Session, team: str, name: str) -> Dataset:
        """The dataset of that name that the team may use; NotFoundError without one."""
        return finding.dataset(session, team, name, self._format_command)

    def get(self, session: Session, dataset_id: str) -> Dataset:
        """The dataset with that id, from a button; NotFoundError if it was removed."""
        found = session.get(Dataset, dataset_id)
        if found is None or found.removed_at is not None:
            raise NotFoundError("This dataset is no longer in the catalogue.")
        return found

    def find_version(self, session: Session, team: str, reference: Reference) -> Version:
        """The version that a reference names, or the newest if it names none."""
        dataset = finding.dataset(session, team, reference.name, self._format_command)
        return finding.version(session, dataset, reference.version, self._format_command)

    def get_version(self, session: Session, team: str, version_id: str) -> Version:
        """The version with that id, from a button; NotFoundError if the team may not use it."""
        found = session.get(Version, version_id)
        dataset = session.get(Dataset, found.dataset_id) if found is not None else None
        is_there = dataset is not None and dataset.removed_at is None and dataset.is_for(team)
        if found is None or not is_there or found.phase != VersionPhase.READY:
            raise NotFoundError("This version is no longer in the catalogue.")
        return found

    def listing(self, session: Session, team: str) -> list[Entry]:
        """The datasets that a team may use with their newest versions and caches, by name."""
        datasets = finding.visible(session, team)
        newest = finding.newest_of_each(session, datasets)
        caches = caching.live_of_each(session, [each.id for each in datasets])
        found = ((each, newest.get(each.id)) for each in datasets)
        return [
            Entry(row, last.version if last else None, last.versions if last else 0, caches[row.id])
            for row, last in found
        ]

    def shelf(self, session: Session, team: str, name: str) -> Shelf:
        """A dataset with its versions, the names of their people, and its last survey."""
        dataset = self.find(session, team, name)
        versions = finding.versions(session, dataset.id)
        users = {dataset.person, *(each.person for each in versions)}
        names = {user: name_of(session, dataset.workspace_id, user) for user in users}
        survey = finding.latest_survey(session, dataset.id)
        caches = caching.live(session, dataset.id)
        seen = finding.latest_refresh(session, dataset.id)
        return Shelf(dataset, versions, names, survey, caches, seen)

    def copy_price(self) -> float | None:
        """The monthly price of a GiB where copies are; None if it is unknown."""
        store = self._settings().stores.get(self.set_up().state_store)
        return store.price_per_gib_month if store is not None else None

    def set_up(self) -> Datasets:
        """The settings of datasets; ConflictError if they are not configured."""
        datasets = self._settings().datasets
        if datasets is None:
            raise ConflictError(
                "Datasets are not configured.",
                "A platform admin must add `stores` and `datasets` to quartermaster.yaml"
                " (see docs/datasets.md).",
            )
        return datasets

    def store_of(self, use: StoreUse) -> str:
        """The store of a place that a team may use: the named one, or else the only one with it."""
        settings, team, is_writing = self._settings(), use.team, use.is_writing
        allowed = bounds.stores_of(settings, team, is_writing=is_writing)
        if use.store and use.store not in settings.stores:
            near = closest(use.store, allowed)
            hint = f"Did you mean {near}?" if near else f"{team} may use: {', '.join(allowed)}."
            raise NotFoundError(f"There is no store {use.store}.", hint if allowed else "")
        if not allowed:
            hint = bounds.places_hint(settings, team, is_writing=is_writing)
            raise NotAllowedError(f"{team} may not use any object store.", hint)
        having = [use.store] if use.store else bounds.stores_with(settings, use)
        if len(having) > 1:
            raise UsageError(
                f"{team} may use {use.place} in several stores.",
                f"Add --store with one of: {', '.join(having)}.",
            )
        store = having[0] if having else allowed[0]
        bounds.insist(bounds.refusal(settings, use._replace(store=store)))
        return store

    def _readers(self, team: str, readers: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        named = tuple(dict.fromkeys(each for each in readers if each != team))
        if EVERYONE in named:
            return (), True
        known = self._settings().teams
        unknown = next((each for each in named if each not in known), None)
        if unknown is not None:
            near = closest(unknown, known)
            hint = f"Did you mean {near}?" if near else f"Teams: {', '.join(known)}."
            raise NotFoundError(f"There is no team {unknown}.", hint)
        return named, False

    def _refuse_taken(self, session: Session, team: str, name: str) -> None:
        found = finding.present(session, name)
        if found is None:
            return
        if found.is_for(team):
            raise ConflictError(
                f"Dataset {name} already exists: {found.source} of {found.team}.",
                f"`{self._format_command(f'dataset show {name}')}`"
                " shows it. Choose another name for yours.",
            )
        raise ConflictError(
            f"The name {name} is taken by a dataset of another team.", "Choose another name."
        )

    def _refuse_others(self, caller: Caller, dataset: Dataset, what: str) -> None:
        if caller.team != dataset.team:
            raise NotAllowedError(
                f"{dataset.name} belongs to {dataset.team}; only that team can {what}.",
                "Ask a member of that team.",
            )

    def _refuse_surveyed(self, session: Session, dataset: Dataset, now: datetime) -> None:
        refuse_swept(session, dataset.id, dataset.name)
        live = finding.live_survey(session, dataset.id)
        if live is not None and live.is_refresh:
            # A requested survey starts now, so that it records the content as of the request.
            live.phase, live.ended_at, live.since = VersionPhase.FAILED, now, now
            live.reason = "A new version was requested in the meantime."
            session.add(live)
            session.flush()
            wake(session, VERSION, live.id, cluster_lane(live.cluster), now)
        elif live is not None:
            raise ConflictError(
                f"<@{live.person}> is already recording {live.reference}.",
                f"Its card in <#{live.channel}> shows the progress. Try again when it has ended.",
            )

    def _refuse_cached(self, session: Session, dataset: Dataset) -> None:
        cached = next(iter(caching.live(session, dataset.id)), None)
        if cached is not None:
            raise ConflictError(
                f"{cached.reference} is cached on {cached.place}.",
                f"Evict it first: `{self._format_command(f'dataset evict {cached.argument}')}`.",
            )


def _started(
    session: Session, caller: Caller, row: Version, told: Mapping[str, str], now: datetime
) -> Version:
    """Adds the row of a new version, its audit line and its card."""
    session.add(row)
    session.flush()
    facts = {"name": row.reference} | {key: value for key, value in told.items() if value}
    record(session, _actor(caller), "dataset.version", (VERSION, row.id), facts, at=now)
    show_card(session, row.subject, caller.channel, now, live=True, owner=caller.person)
    wake(session, VERSION, row.id, cluster_lane(row.cluster), now)
    return row


def _free_name(dataset: Dataset, taken: set[str], name: str | None) -> str:
    """The name if it is free, or without one the next free one of v1, v2 and so on."""
    number = len(taken) + 1
    while f"v{number}" in taken:
        number += 1
    if name in taken:
        raise ConflictError(
            f"{dataset.name} already has a version {name}, and a named version never changes.",
            f"Choose another name. v{number} is free.",
        )
    return name or f"v{number}"


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
