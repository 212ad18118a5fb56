"""Records what was pushed as a version, by a survey like any other, with its origin."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlmodel import Session, col, select

from bot.config import Settings
from bot.datasets import finding
from bot.datasets.caches.tables import VersionUse
from bot.datasets.service import DatasetService, NewDataset
from bot.datasets.tables import Push, Version
from bot.errors import UserError
from bot.people.access import Caller, ChannelPlace
from bot.slack.markup import FormatCommand


class Written(NamedTuple):
    """A folder of a PVC as of a moment."""

    cluster: str
    namespace: str
    claim: str
    folder: str
    until: datetime


class Maker(NamedTuple):
    """A subject that wrote to a folder, such as a run, and its name."""

    kind: str
    id: str
    name: str


Makers = Callable[[Session, Written], Sequence[Maker]]


class Versions:
    """Records versions of pushed folders."""

    def __init__(
        self, settings: Callable[[], Settings], format_command: FormatCommand, makers: Makers
    ) -> None:
        self._datasets = DatasetService(settings, format_command)
        self._makers = makers

    def record(self, session: Session, push: Push, now: datetime) -> None:
        """Starts the survey of a new version; if it cannot, writes the reason to the push."""
        if not push.dataset:
            return
        caller = Caller(
            workspace_id=push.workspace_id,
            person=push.person,
            channel=push.channel,
            place=ChannelPlace.TEAM,
            team=push.team,
            roles=frozenset(),
        )
        try:
            dataset = finding.present(session, push.dataset)
            if dataset is None:
                asked = NewDataset(push.dataset, push.target, push.store)
                dataset = self._datasets.add(session, caller, asked, now)
            if (dataset.source, dataset.store) != (push.target, push.store):
                push.unrecorded = f"The source of {dataset.name} is now {dataset.source}."
                return
            is_there = push.cluster in self._datasets.set_up().everywhere
            version = self._datasets.version(
                session, caller, dataset, push.version, push.note, now,
                cluster=push.cluster if is_there else "",
            )  # fmt: skip
            push.version_id = version.id
            note_origin(session, push, version, self._makers)
        except UserError as error:
            push.unrecorded = f"{error.message} {error.hint}".rstrip()


def note_origin(session: Session, push: Push, version: Version, makers: Makers) -> None:
    """Records who produced a version; what they read comes first among its parents."""
    if not push.claim_name:
        return
    until = push.snapshot_at or push.started_at or push.asked_at
    place = Written(push.cluster, push.claim_namespace, push.claim_name, push.folder, until)
    found = makers(session, place)
    read = dict.fromkeys(each for maker in found for each in _read_by(session, maker))
    version.made_by = [each.name for each in found]
    version.parents = [*(each for each in read if each not in version.parents), *version.parents]
    session.add(version)


def _read_by(session: Session, maker: Maker) -> Sequence[str]:
    return session.exec(
        select(VersionUse.version_id)
        .where(col(VersionUse.subject_kind) == maker.kind, col(VersionUse.subject_id) == maker.id)
        .order_by(col(VersionUse.version_id))
    ).all()
