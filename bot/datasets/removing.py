"""Removes the copies of versions: who may do so, and when."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.config import Settings
from bot.database.columns import new_id
from bot.datasets import finding
from bot.datasets.caches import finding as caching
from bot.datasets.clusters import at_last
from bot.datasets.job import job_name
from bot.datasets.tables import VERSION, CopyState, Dataset, Version, VersionPhase
from bot.errors import ConflictError, NotAllowedError
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards, show_card


class CopyRemover:
    """Removes the copy of a version, or all copies of a dataset, by a Job."""

    def __init__(self, settings: Callable[[], Settings], format_command: FormatCommand) -> None:
        self._settings = settings
        self._format_command = format_command

    def check(self, session: Session, caller: Caller, version: Version) -> None:
        """UserError if the caller may not remove the copy of a version, or if it is in use."""
        if caller.team != version.team:
            raise NotAllowedError(
                f"{version.dataset} belongs to {version.team}; only that team can remove copies.",
                "Ask a member of that team.",
            )
        if version.person != caller.person and not caller.may(Right.DATASET_REMOVE_ANY):
            raise NotAllowedError(
                f"{version.reference} was recorded by <@{version.person}>.",
                "That person, a lead of the team or an admin can remove its copy.",
            )
        if version.copy_state != CopyState.MADE and not self._is_left(session, version):
            raise ConflictError(
                f"{version.reference} has no copy.",
                f"`{self._format_command(f'dataset show {version.dataset}')}` shows the versions.",
            )
        self._refuse_used(session, version)

    def remove(self, session: Session, caller: Caller, version: Version, now: datetime) -> Version:
        """Removes the copy of a version; what other copied versions need stays."""
        self.check(session, caller, version)
        version.copy_state = CopyState.REMOVED
        session.add(version)
        refresh_cards(session, version.subject, live=False)
        facts = {"name": version.reference, "bytes": str(version.size_bytes or 0)}
        actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
        record(session, actor, "dataset.remove_copy", (VERSION, version.id), facts, at=now)
        return self._begin(session, caller, version, version.name, now)

    def remove_all(self, session: Session, caller: Caller, dataset: Dataset, now: datetime) -> None:
        """Removes all copies of a dataset that is being removed."""
        made = finding.copied(session, dataset.id)
        for each in made:
            each.copy_state = CopyState.REMOVED
            session.add(each)
        if made:
            self._begin(session, caller, made[0], "", now)

    def _begin(
        self, session: Session, caller: Caller, of: Version, name: str, now: datetime
    ) -> Version:
        """A row whose Job removes copies.

        It ends a check for new content, which may start later.
        """
        live = finding.live_survey(session, of.dataset_id)
        if live is not None:
            live.phase, live.ended_at, live.since = VersionPhase.FAILED, now, now
            live.reason = "Copies were removed in the meantime."
            session.add(live)
            session.flush()
            wake(session, VERSION, live.id, cluster_lane(live.cluster), now)
        row_id, datasets = new_id(), self._settings().datasets
        newest = finding.newest(finding.versions(session, of.dataset_id)) or of
        place = of if datasets is None else at_last(datasets, newest)
        row = Version(
            id=row_id,
            name=name,
            person=caller.person,
            channel=caller.channel,
            cluster=place.cluster,
            namespace=place.namespace,
            job_name=job_name(of.dataset, row_id),
            manifest=of.manifest,
            asked_at=now,
            since=now,
            is_sweep=True,
            copies=of.copies,
            copy_price=of.copy_price,
            **{field: getattr(of, field) for field in _SAME},
        )
        session.add(row)
        session.flush()
        show_card(session, row.subject, caller.channel, now, live=True, owner=caller.person)
        wake(session, VERSION, row.id, cluster_lane(row.cluster), now)
        return row

    def _is_left(self, session: Session, version: Version) -> bool:
        """Whether its copy was to be removed and the Job failed, so that it can be repeated."""
        last = finding.latest_sweep(session, version.dataset_id)
        is_failed = last is not None and last.phase == VersionPhase.FAILED
        return is_failed and version.copy_state == CopyState.REMOVED

    def _refuse_used(self, session: Session, version: Version) -> None:
        live = finding.live_survey(session, version.dataset_id)
        if live is not None and not live.is_refresh:
            raise ConflictError(
                f"{live.reference} is being recorded, and may share objects with this copy.",
                f"Its card in <#{live.channel}> shows the progress. Try again when it has ended.",
            )
        refuse_swept(session, version.dataset_id, version.dataset)
        for cache in caching.live(session, version.dataset_id):
            if cache.version_id == version.id and cache.ready_at is None:
                raise ConflictError(
                    f"{version.reference} is being cached, perhaps from its copy.",
                    f"Its card in <#{cache.channel}> shows the progress. Try again when it is"
                    " ready.",
                )


def refuse_swept(session: Session, dataset_id: str, name: str) -> None:
    """ConflictError while copies of a dataset are being removed."""
    live = finding.live_sweep(session, dataset_id)
    if live is not None:
        raise ConflictError(
            f"Copies of {name} are being removed.",
            f"The card in <#{live.channel}> shows the progress. Try again when it has ended.",
        )


_SAME = ("workspace_id", "dataset_id", "dataset", "team", "store", "source", "manifest_store")
