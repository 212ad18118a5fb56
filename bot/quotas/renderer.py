"""Renders the card of an override for the channel it stands in."""

from collections.abc import Callable, Iterator
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.approvals import Approval, ApprovalPhase, Approvals
from bot.config import Settings
from bot.database.database import Session
from bot.errors import NotFoundError
from bot.people import name_of
from bot.quotas.card import Quarrel, Standing, override_card
from bot.quotas.controller import active_legs
from bot.quotas.effect import Effect, foresee
from bot.quotas.service import QuotaService
from bot.quotas.tables import LIVE, OVERRIDE, Leg, ManagedQuota, Override, OverridePhase
from bot.quotas.wording import amount
from bot.slack.card import Card

_MOST_DECIDERS = 10


class OverrideRenderer:
    """The cards of overrides; they have buttons only where overrides are decided."""

    kind = OVERRIDE

    def __init__(
        self, settings: Callable[[], Settings], approvals: Approvals, quotas: QuotaService
    ) -> None:
        self._settings = settings
        self._approvals = approvals
        self._quotas = quotas

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """What the card says now in this channel; None when there is no such override."""
        row = session.get(Override, subject_id)
        if row is None:
            return None
        settings = self._settings()
        teams = (channel for team in settings.teams.values() for channel in team.channels)
        decides = channel != row.channel and channel not in teams
        approval = self._approvals.of(session, OVERRIDE, row.id)
        quotas = tuple(_in_hand(session, row))
        words = self._quotas.words(row.cluster)
        standing = Standing(
            approval=self._approvals.lines(session, approval) if approval else (),
            buttons=self._approvals.buttons(approval) if approval else (),
            effect=self._effect(row) if decides else None,
            asker=name_of(session, row.workspace_id, row.requester),
            deciders=self._deciders(session, approval) if decides and approval else (),
            after_end=words.after_end,
            quarrels=tuple(
                _quarrel(session, each, words.queue) for each in quotas if each.stopped_because
            ),
            troubles=tuple(each.trouble for each in quotas if each.trouble),
        )
        return override_card(row, standing, settings.quotas, for_deciders=decides)

    def _deciders(self, session: Session, approval: Approval) -> tuple[str, ...]:
        if approval.phase != ApprovalPhase.ASKED:
            return ()
        return tuple(self._approvals.deciders(session, approval)[:_MOST_DECIDERS])

    def _effect(self, row: Override) -> Effect | None:
        if row.phase != OverridePhase.ASKED:
            return None
        try:
            return foresee(self._quotas.queues(row.cluster), row)
        except NotFoundError:
            return None


def _in_hand(session: Session, row: Override) -> Iterator[ManagedQuota]:
    """The quotas that a live override changes."""
    if row.phase in LIVE:
        yield from session.scalars(
            select(ManagedQuota)
            .join(Leg, col(Leg.quota_id) == col(ManagedQuota.id))
            .where(col(Leg.override_id) == row.id)
            .order_by(col(Leg.position))
        )


def _quarrel(session: Session, quota: ManagedQuota, queue_kind: str) -> Quarrel:
    on = sum((each.delta for each in active_legs(session, quota.id)), Decimal(0))
    return Quarrel(quota, amount((quota.stranger or Decimal(0)) + on), queue_kind)
