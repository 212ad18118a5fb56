"""Renders the card of an override for its channel."""

from collections.abc import Callable, Iterator
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, deciding
from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Session
from bot.errors import ConflictError, NotFoundError
from bot.people.people import name_of
from bot.quotas.managed.controller import active_adjustments
from bot.quotas.overrides.card import DriftConflict, OverrideStatus, override_card
from bot.quotas.overrides.effect import Effect
from bot.quotas.service import QuotaService
from bot.quotas.tables import LIVE, OVERRIDE, ManagedQuota, Override, OverridePhase, QuotaAdjustment
from bot.quotas.wording import amount
from bot.slack.card import Card


class OverrideRenderer:
    """Renders the cards of overrides; only the approvers' cards have buttons."""

    kind = OVERRIDE

    def __init__(
        self,
        settings: Callable[[], Settings],
        approvals: Approvals,
        quotas: QuotaService,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._approvals = approvals
        self._quotas = quotas
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card as it is now in this channel; None if there is no such override."""
        row = session.get(Override, subject_id)
        if row is None:
            return None
        settings = self._settings()
        asked = RequestSubject(OVERRIDE, row.id, row.channel)
        found = deciding(session, self._approvals, settings, asked, channel)
        quotas = tuple(_in_hand(session, row))
        words = self._quotas.words(row.cluster)
        status = OverrideStatus(
            approval=found.lines,
            buttons=found.buttons,
            effect=self._effect(session, row) if found.is_there else None,
            asker=name_of(session, row.workspace_id, row.requester),
            deciders=found.deciders,
            after_end=words.after_end,
            conflicts=tuple(
                _conflict(session, each, words.queue) for each in quotas if each.stopped_because
            ),
            troubles=tuple(each.trouble for each in quotas if each.trouble),
        )
        return override_card(row, status, settings.quotas, for_deciders=found.is_there)

    def _effect(self, session: Session, row: Override) -> Effect | str | None:
        if row.phase != OverridePhase.ASKED:
            return None
        try:
            return self._quotas.foresee(session, row, self._clock.now())
        except NotFoundError:
            return None
        except ConflictError as error:
            return error.message


def _in_hand(session: Session, row: Override) -> Iterator[ManagedQuota]:
    """The managed quotas that a live override changes."""
    if row.phase in LIVE:
        yield from session.scalars(
            select(ManagedQuota)
            .join(QuotaAdjustment, col(QuotaAdjustment.quota_id) == col(ManagedQuota.id))
            .where(col(QuotaAdjustment.override_id) == row.id)
            .order_by(col(QuotaAdjustment.position))
        )


def _conflict(session: Session, quota: ManagedQuota, queue_kind: str) -> DriftConflict:
    on = sum((each.delta for each in active_adjustments(session, quota.id)), Decimal(0))
    return DriftConflict(quota, amount((quota.external_value or Decimal(0)) + on), queue_kind)
