"""Renders the cards of versions."""

from collections.abc import Iterable, Iterator

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.caches import finding as caching
from bot.datasets.card import VersionContext, version_card
from bot.datasets.tables import VERSION, Version
from bot.datasets.wording import name_of
from bot.slack.card import Card


class VersionRenderer:
    """Renders versions."""

    kind = VERSION

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The version's card; the same in every channel."""
        del channel
        version = session.get(Version, subject_id)
        return (
            version_card(version, around(session, version), self._clock.now()) if version else None
        )


def around(session: Session, version: Version) -> VersionContext:
    """What a version's card shows besides its row."""
    same = [version.same_as] if version.same_as else []
    parents = list(_found(session, version.parents))
    own = version.dataset_id
    return VersionContext(
        person=name_of(session, version.workspace_id, version.person),
        parents=tuple(each.name for each in parents if each.dataset_id == own),
        made_from=tuple(each.reference for each in parents if each.dataset_id != own),
        same_as=next((each.name for each in _found(session, same)), ""),
        caches=tuple(caching.of_version(session, version.id, version.cluster)),
        uses=caching.uses(session, version.id),
    )


def _found(session: Session, ids: Iterable[str]) -> Iterator[Version]:
    for each in ids:
        found = session.get(Version, each)
        if found is not None:
            yield found
