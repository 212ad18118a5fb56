"""The channels where requests are decided, and what cards show there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.approvals.service import Approvals
from bot.approvals.tables import Approval, ApprovalPhase, subject_of
from bot.config import Settings
from bot.slack.card import Button
from bot.slack.markup import Markup
from bot.slack.messages import show_card

_MOST_DECIDERS = 10


@dataclass(frozen=True)
class RequestView:
    """What a card shows of a request: its state, its deciders and its buttons.

    `is_there` is true in channels where it is decided; only there are deciders and buttons set.
    """

    lines: tuple[Markup, ...] = ()
    deciders: tuple[str, ...] = ()
    buttons: tuple[Button, ...] = ()
    is_there: bool = False


@dataclass(frozen=True)
class RequestSubject:
    """What a request is about, and the channel it was made in."""

    kind: str
    id: str
    channel: str


def deciding(
    session: Session, approvals: Approvals, settings: Settings, asked: RequestSubject, channel: str
) -> RequestView:
    """The state of the newest request about a subject, for a card in this channel."""
    is_there = is_decided_in(settings, asked.channel, channel)
    approval = approvals.of(session, asked.kind, asked.id)
    if approval is None:
        return RequestView(is_there=is_there)
    lines = approvals.lines(session, approval)
    if not is_there or approval.phase != ApprovalPhase.ASKED:
        return RequestView(lines, is_there=is_there)
    deciders = tuple(approvals.deciders(session, approval)[:_MOST_DECIDERS])
    return RequestView(lines, deciders, approvals.buttons(approval), is_there=True)


def places(settings: Settings, deciders: Sequence[str]) -> Sequence[str]:
    """Where approvers see requests: in the approvals channel, else each in a direct message."""
    channel = _channel(settings)
    return (channel,) if channel else deciders


def show_to_deciders(
    session: Session, approvals: Approvals, settings: Settings, approval: Approval, now: datetime
) -> None:
    """Posts the card of what a request is about where its approvers see it."""
    deciders = approvals.deciders(session, approval)
    for place in places(settings, deciders):
        show_card(session, subject_of(approval), place, now, live=False, owner=deciders[0])


def is_decided_in(settings: Settings, asked_in: str, channel: str) -> bool:
    """Whether a card in this channel is for the approvers.

    A request made in the approvers' own channel has one card, for requester and approvers.
    """
    return channel == _channel(settings) or (
        channel != asked_in and channel not in _channels_of_teams(settings)
    )


def _channel(settings: Settings) -> str | None:
    return settings.approvals.channel or settings.slack.admin_channel


def _channels_of_teams(settings: Settings) -> Iterable[str]:
    return (each for team in settings.teams.values() for each in team.channels)
