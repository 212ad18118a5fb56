"""Reconciles shares: observes the cluster, takes one repeatable step, records the result."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.datasets.caches.shares.act import act
from bot.datasets.caches.shares.decide import (
    Allow,
    Await,
    Decision,
    MakeClaim,
    MakeVolume,
    Published,
    ShareObserved,
    decide,
    phase_after,
)
from bot.datasets.caches.shares.forms import Form
from bot.datasets.caches.shares.observe import observe
from bot.datasets.caches.shares.origin import Origin, origin_of, wake_users
from bot.datasets.caches.tables import SHARE, CacheShare
from bot.masking import hide_secrets
from bot.reconcile.controller import Trouble
from bot.reconcile.decisions import Done, Fail
from bot.reconcile.frame import SOON, Findings, Reconciler, slower
from bot.reconcile.labelled import LabelledObjects

_COPYING, _GOING = timedelta(minutes=1), timedelta(seconds=15)


share_changes = partial(
    LabelledObjects, kind=SHARE, label=labels.DATASET_SHARE, resources=(PVCS, VOLUMES)
)
"""Wakes shares when their PVCs or volumes change, found by our label."""


@dataclass(frozen=True)
class ShareRows:
    """The rows of a share and of what it shares."""

    share: CacheShare
    origin: Origin


ShareFindings = Findings[Decision, ShareObserved]


class ShareController(Reconciler[ShareRows, ShareObserved, Decision]):
    """Reconciles the rows of shares with the cluster."""

    kind = SHARE

    @override
    def load(self, session: Session, row_id: str) -> ShareRows | None:
        share = session.get(CacheShare, row_id)
        if share is None or not share.is_live:
            return None
        origin = origin_of(session, share)
        return ShareRows(share, origin) if origin is not None else None

    @override
    def observe(self, row: ShareRows, now: datetime) -> ShareObserved:
        return observe(self._cluster(row.share), row.share, row.origin)

    @override
    def decide(self, row: ShareRows, observed: ShareObserved, now: datetime) -> Decision:
        datasets = self._context.settings().datasets
        drivers = datasets.static_drivers if datasets is not None else ()
        return decide(row.share, row.origin, observed, drivers, now)

    @override
    def act(self, row: ShareRows, observed: ShareObserved, decision: Decision) -> Decision:
        return act(self._cluster(row.share), row.share, row.origin, observed, decision)

    @override
    def record(self, session: Session, row: ShareRows, found: ShareFindings) -> None:
        _record(session, row.share.id, found)

    @override
    def next_look(self, row: ShareRows, found: ShareFindings) -> datetime | None:
        now, origin = found.now, row.origin
        match found.decision:
            case Published() | Done():
                return None
            case Await() if not origin.is_ready and origin.is_live and row.share.is_wanted:
                return now + _COPYING
            case Await():
                return slower(row.share.since, now, _GOING)
            case _:
                return now + SOON

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Records a failure for those who wait; a share has no card."""
        share = session.get(CacheShare, row_id)
        if share is not None and trouble.is_lasting:
            share.trouble = trouble.sentence
            session.add(share)

    def _cluster(self, share: CacheShare) -> Cluster:
        return self._context.cluster(share.cluster, "its caches are gone")


def _record(session: Session, row_id: str, found: ShareFindings) -> None:
    """Updates the row, and wakes what waits for it if its state has changed."""
    decision, now = found.decision, found.now
    share = session.get_one(CacheShare, row_id)
    before = (share.phase, share.reason)
    share.trouble = _trouble(decision)
    if isinstance(decision, Fail):
        share.reason, share.unblock = hide_secrets(decision.reason), decision.unblock
    phase = phase_after(share, decision)
    if phase != share.phase:
        share.phase, share.since = phase, now
    _take_identity(share, found.observed, decision)
    if isinstance(decision, Done):
        share.ended_at = now
    session.add(share)
    if before != (share.phase, share.reason):
        wake_users(session, share, now, is_gone=not share.is_live)


def _trouble(decision: Decision) -> str:
    match decision:
        case Await(why):
            return why
        case Done(remains):
            return remains
        case _:
            return ""


def _take_identity(share: CacheShare, seen: ShareObserved, decision: Decision) -> None:
    match decision:
        case Allow() | MakeClaim(Form.TRIDENT):
            share.form = Form.TRIDENT
        case MakeVolume() | MakeClaim(Form.STATIC):
            share.form = Form.STATIC
        case _:
            pass
    if seen.claim is not None:
        share.claim_uid = seen.claim.uid
        share.volume_name = seen.claim.spec.volume_name or share.volume_name
    if seen.own is not None:
        share.volume_uid = seen.own.uid
