"""Reconciles shares: observes the cluster, takes one repeatable step, records the result."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.datasets.caches.share_acting import act
from bot.datasets.caches.share_decision import (
    Allow,
    Decision,
    Done,
    Fail,
    Gone,
    MakeClaim,
    MakeVolume,
    Published,
    ShareObserved,
    Wait,
    decide,
    phase_after,
)
from bot.datasets.caches.share_forms import Form
from bot.datasets.caches.share_observing import observe
from bot.datasets.caches.share_origin import Origin, origin_of, wake_users
from bot.datasets.caches.tables import SHARE, CacheShare
from bot.datasets.controller import SOON, ControllerContext
from bot.masking import hide_secrets
from bot.reconcile.controller import Step, Trouble

_COPYING, _GOING = timedelta(minutes=1), timedelta(seconds=15)
_SHOWN_ATTEMPTS = 2


@dataclass(frozen=True)
class _ShareRows:
    """The rows of a share and of what it shares."""

    share: CacheShare
    origin: Origin


class ShareController:
    """Reconciles the rows of shares with the cluster."""

    kind = SHARE

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        """Takes the next step for a share; ClusterError if the cluster refuses it."""
        known = self._world.database.read(lambda session: _known(session, row_id))
        if known is None or not known.share.is_live:
            return Step(None)
        share, origin, now = known.share, known.origin, self._world.clock.now()
        cluster = self._world.cluster(share.cluster, "its caches are gone")
        seen = observe(cluster, share, origin)
        datasets = self._world.settings().datasets
        drivers = datasets.static_drivers if datasets is not None else ()
        decision = decide(share, origin, seen, drivers, now)
        if isinstance(decision, Done):
            return Step(None)
        decision = act(cluster, share, origin, seen, decision)
        return Step(
            _again(share, origin, decision, now),
            lambda session: _record(session, row_id, seen, decision, now),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Records a failure for those who wait, from the second attempt on."""
        share = session.get(CacheShare, row_id)
        if share is not None and trouble.attempts >= _SHOWN_ATTEMPTS:
            share.trouble = trouble.sentence
            session.add(share)


def _known(session: Session, row_id: str) -> _ShareRows | None:
    share = session.get(CacheShare, row_id)
    origin = origin_of(session, share) if share is not None else None
    return _ShareRows(share, origin) if share is not None and origin is not None else None


def _again(share: CacheShare, origin: Origin, decision: Decision, now: datetime) -> datetime | None:
    """When to take the next step if nothing wakes the row before."""
    match decision:
        case Published() | Gone():
            return None
        case Wait() if not origin.is_ready and origin.is_live and share.is_wanted:
            return now + _COPYING
        case Wait():
            return now + min(max(_GOING, (now - share.since) / 10), _COPYING)
        case _:
            return now + SOON


def _record(
    session: Session, row_id: str, seen: ShareObserved, decision: Decision, now: datetime
) -> None:
    """Updates the row, and wakes what waits for it if its state has changed."""
    share = session.get_one(CacheShare, row_id)
    before = (share.phase, share.reason)
    share.trouble = _trouble(decision)
    if isinstance(decision, Fail):
        share.reason, share.unblock = hide_secrets(decision.reason), decision.unblock
    phase = phase_after(share, decision)
    if phase != share.phase:
        share.phase, share.since = phase, now
    _take_identity(share, seen, decision)
    if isinstance(decision, Gone):
        share.ended_at = now
    session.add(share)
    if before != (share.phase, share.reason):
        wake_users(session, share, now, is_gone=not share.is_live)


def _trouble(decision: Decision) -> str:
    match decision:
        case Wait(why):
            return why
        case Gone(remains):
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
