"""Metrics of approvals: how many requests wait for a decision, and for how long."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.approvals.tables import Approval, ApprovalPhase
from bot.config.models import Approvals as Policies
from bot.config.models import Policy
from bot.database.columns import Moment
from bot.gauges import GaugeSource, GaugeSpec, Reading

_WAITING = GaugeSpec(
    "quartermaster_approvals_waiting", "Requests that wait for a decision", ("policy",)
)
_OLDEST = GaugeSpec(
    "quartermaster_approval_oldest_seconds",
    "Time since the oldest request that waits for a decision was made; 0 if none waits",
    ("policy",),
)
_POLICIES = tuple(
    name for name, field in Policies.model_fields.items() if field.annotation is Policy
)


def _read(session: Session, now: datetime) -> Iterator[Reading]:
    oldest = func.min(col(Approval.asked_at), type_=Moment())
    rows = session.connection().execute(
        select(col(Approval.policy), func.count(), oldest)
        .where(col(Approval.phase) == ApprovalPhase.ASKED)
        .group_by(col(Approval.policy))
    )
    found = {policy: (count, now - since) for policy, count, since in rows}
    for policy in sorted({*_POLICIES, *found}):
        count, age = found.get(policy, (0, timedelta()))
        yield _WAITING.at(count, policy)
        yield _OLDEST.at(age, policy)


GAUGES = GaugeSource((_WAITING, _OLDEST), _read)
