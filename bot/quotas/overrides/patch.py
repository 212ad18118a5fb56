"""A new base quota for GitOps: what the queue's manifest says without overrides."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.database.database import Session
from bot.quotas.engines.quota import NOMINAL, QuotaField
from bot.quotas.managed.controller import active_adjustments, lasting, place_of
from bot.quotas.tables import ManagedQuota, Override


@dataclass(frozen=True)
class BasePatch:
    """A base quota that somebody else will apply, in GPUs.

    `row` is the request that would set it from here. `values` are the quotas of its queue to write,
    without overrides; with `is_raised` an override in force has changed one of them.
    """

    row: Override
    values: Mapping[QuotaField, Decimal]
    is_raised: bool


def base_patch(session: Session, row: Override) -> BasePatch:
    """The patch for a request to change a base quota."""
    found = session.scalars(
        select(ManagedQuota).where(
            col(ManagedQuota.cluster) == row.cluster,
            col(ManagedQuota.queue) == row.queue,
            col(ManagedQuota.baseline).is_not(None),
        )
    )
    values = {
        place_of(each): (each.baseline or Decimal(0))
        + lasting(active_adjustments(session, each.id))
        for each in found
    }
    own = QuotaField(row.queue, row.flavor, row.resource, NOMINAL)
    return BasePatch(row, {**values, own: row.amount}, is_raised=bool(values))
