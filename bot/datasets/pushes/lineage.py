"""Finds the origin of a push: which runs wrote the folder, and which versions they read."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlmodel import Session, col, select

from bot.datasets.caches.tables import VersionUse
from bot.datasets.tables import Push, Version


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
