"""Boosts: a volume gets more throughput during a fill, and is reverted when that has ended."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.reconcile.due import wake
from bot.slack.markup import Markup, join, plain, sentence, when
from bot.slack.messages import Subject, show_card
from bot.volumes.changes import holds
from bot.volumes.changes import record as recording
from bot.volumes.changes.beginning import live_of, under_way
from bot.volumes.changes.notices import where_it_is
from bot.volumes.changes.replies import bill
from bot.volumes.changes.tables import (
    CHANGE,
    LANE,
    ChangeKind,
    ChangePhase,
    Direction,
    VolumeChange,
)
from bot.volumes.records import ClaimPlace
from bot.volumes.wording import throughput


@dataclass(frozen=True)
class Boost:
    """A requested boost of a volume for a fill; `name` is the name of the fill.

    The target pool may grow by `growth_bytes`, as the requester was shown.
    """

    subject: Subject
    name: str
    team: str
    person: str
    channel: str
    claim: ClaimPlace
    pv_name: str
    growth_bytes: int = 0


def begin(session: Session, boost: Boost, now: datetime) -> str:
    """Begins a boost in the caller's transaction; returns the id of the change.

    The boost ends at once if another change of the volume is in progress.
    """
    subject, claim = boost.subject, boost.claim
    other = live_of(session, claim.cluster, boost.pv_name)
    row = VolumeChange(
        workspace_id=subject.workspace_id,
        team=boost.team,
        person=boost.person,
        channel=boost.channel,
        cluster=claim.cluster,
        namespace=claim.namespace,
        claim_name=claim.name,
        pv_name=boost.pv_name,
        kind=ChangeKind.THROUGHPUT,
        duration_seconds=0,
        boosted_kind=subject.kind,
        boosted_id=subject.id,
        boosted_name=boost.name,
        shown_growth_bytes=boost.growth_bytes,
        asked_at=now,
        since=now,
        ended_at=now if other is not None else None,
    )
    session.add(row)
    session.flush()
    actor = Actor(row.workspace_id, row.person, row.channel, row.team)
    facts = {"pvc": row.claim_name, "kind": "boost", "for": row.boosted_name}
    record(session, actor, "anf.change", (CHANGE, row.id), facts, at=now)
    show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
    if other is not None:
        told = under_way(other)
        row.outcome, row.hint = told.message, told.hint
        recording.end(session, row, ChangePhase.REFUSED, now)
        return row.id
    holds.hold(session, row, (subject.kind, subject.id), f"the fill of {boost.name}")
    wake(session, CHANGE, row.id, LANE, now)
    return row.id


def is_over(session: Session, row_id: str) -> bool:
    """Whether a boost has ended, so that another one may begin."""
    row = session.get(VolumeChange, row_id)
    return row is None or not row.is_live


def told(session: Session, row_id: str) -> Markup:
    """The progress of a boost, in a few words."""
    row = session.get(VolumeChange, row_id)
    if row is None:
        return plain("no longer exists")
    trouble = join(". ", sentence(row.trouble)) if row.is_live and row.trouble else Markup("")
    return join(_far(row), trouble)


def _far(row: VolumeChange) -> Markup:
    match row.phase:
        case ChangePhase.CHECKING:
            return plain("asking Azure what the volume can have")
        case ChangePhase.ASKED:
            costs = f", {bill(row.cost_delta)}" if row.cost_delta != 0 else ""
            return plain(f"waiting for approval: {_gain(row)}{costs}")
        case ChangePhase.APPROVED:
            return plain(f"pending: {_gain(row)}")
        case ChangePhase.WORKING if row.direction == Direction.THERE:
            return plain(f"in progress: {_gain(row)}")
        case ChangePhase.WORKING:
            return plain(f"reverting from {where_it_is(row)}")
        case ChangePhase.HELD:
            return join(plain(_gain(row)), _until(row))
        case ChangePhase.RETURNED:
            said = f"{_gain(row)} while it was filled; reverted. {row.remains}"
            return sentence(said.rstrip())
        case _:
            return _none(row)


def _none(row: VolumeChange) -> Markup:
    """Why there is no boost."""
    words = {
        ChangePhase.DENIED: "It was denied.",
        ChangePhase.EXPIRED: "It was not approved in time.",
        ChangePhase.WITHDRAWN: "It was withdrawn.",
    }
    said = row.outcome or words.get(ChangePhase(row.phase), "")
    return join("none. ", sentence(f"{said} {row.hint} {row.remains}".strip()))


def _gain(row: VolumeChange) -> str:
    after = row.mibps_seen if row.mibps_seen is not None else row.mibps_after
    where = f" on {row.target_level}" if row.kind == ChangeKind.LEVEL else ""
    return f"{throughput(row.mibps_before)} → {throughput(after)}{where}"


def _until(row: VolumeChange) -> Markup:
    if row.not_before is not None and row.ends_at is not None and row.not_before > row.ends_at:
        at = when(row.not_before)
        return join(" until it is filled and Azure allows a lower level: ", at, " at the earliest")
    return plain(" until it is filled")
