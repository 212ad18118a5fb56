"""Renders the cards of pushes."""

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.pushes.card import push_card
from bot.datasets.tables import PUSH, Push, Version
from bot.datasets.wording import name_of
from bot.slack.card import Card


class PushRenderer:
    """Renders pushes."""

    kind = PUSH

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The push's card; the same in every channel."""
        del channel
        push = session.get(Push, subject_id)
        if push is None:
            return None
        version = session.get(Version, push.version_id) if push.version_id else None
        person = name_of(session, push.workspace_id, push.person)
        return push_card(push, person, version.reference if version else "", self._clock.now())
