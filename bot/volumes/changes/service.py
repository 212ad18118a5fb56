"""Requests changes of volumes: checks, plans and writes rows; controllers do the rest."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from msgspec import structs
from sqlalchemy import and_, or_
from sqlmodel import Session, col, select

from bot.approvals import Approvals
from bot.audit import Actor
from bot.audit import record as record_audit
from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.config import Anf, AnfChanges
from bot.database.columns import WholeNumber
from bot.database.database import Database
from bot.errors import ConflictError, LimitError, NotAllowedError, NotFoundError, UsageError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.rights import Role
from bot.slack.messages import show_card
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes import notices
from bot.volumes.changes import record as recording
from bot.volumes.changes.beginning import live_of, under_way, went_up_at
from bot.volumes.changes.plan import (
    LARGEST_POOL,
    ChangePlan,
    ChangeRequest,
    VolumeState,
    goes_down,
    make_plan,
)
from bot.volumes.changes.tables import (
    CHANGE,
    LANE,
    ChangeKind,
    ChangePhase,
    Direction,
    VolumeChange,
)
from bot.volumes.changes.trident import record_of
from bot.volumes.deadline import DEADLINE_SECONDS, Deadline
from bot.volumes.matching import Claimed, match, refuse_foreign, refuse_unread
from bot.volumes.wording import throughput


@dataclass(frozen=True)
class Raise:
    """A raised volume: `until` is when that ends, `ended_at` when it has ended.

    `is_returning` while it is being reverted, and `is_kept` while it is kept for a run or a fill.
    If none of the four is set, it is permanent.
    """

    what: str
    person: str
    cost: float | None
    until: datetime | None = None
    ended_at: datetime | None = None
    is_returning: bool = False
    is_kept: bool = False


class ChangeButton(msgspec.Struct, frozen=True, omit_defaults=True):
    """A requested change. It is the value of a button, so its keys are short."""

    team: str = msgspec.field(name="t")
    cluster: str = msgspec.field(name="c")
    claim: str = msgspec.field(name="v")
    kind: str = msgspec.field(name="k")
    level: str = msgspec.field(name="l", default="")
    pool: str = msgspec.field(name="p", default="")
    mibps: float | None = msgspec.field(name="m", default=None)
    is_shrinking: bool = msgspec.field(name="s", default=False)
    seconds: WholeNumber | None = msgspec.field(name="f", default=None)
    reason: str = msgspec.field(name="r", default="")
    growth_bytes: WholeNumber = msgspec.field(name="g", default=0)

    @property
    def request(self) -> ChangeRequest:
        """The request for the plan."""
        return ChangeRequest(self.kind, self.level, self.pool, self.mibps, self.is_shrinking)


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(ChangeButton)
_LONGEST_REASON = 300


def written(asked: ChangeButton) -> str:
    """The value of a button."""
    return msgspec.json.encode(asked).decode()


def read(value: str) -> ChangeButton:
    """Decodes the value of a button; raises UsageError if its format is outdated."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError("This button is out of date.", "Request it again.") from None


class ChangeService:
    """The service that handlers call; only `plan` calls Azure, and it changes nothing."""

    def __init__(
        self,
        files: NetAppFiles,
        clusters: Mapping[str, Cluster],
        database: Database,
        approvals: Approvals,
        clock: Clock,
    ) -> None:
        self._files = files
        self._clusters = clusters
        self._database = database
        self._approvals = approvals
        self._clock = clock

    def check(self, session: Session, asked: ChangeButton, of: Claimed) -> None:
        """Raises UserError for what can be refused without asking Azure."""
        changes = self._changes()
        if asked.seconds is not None and timedelta(seconds=asked.seconds) > changes.longest:
            raise LimitError(
                "The duration is longer than anf.changes.longest allows.",
                f"At most {changes.longest.days} days: `--for {changes.longest.days}d`.",
            )
        if len(asked.reason) > _LONGEST_REASON:
            raise UsageError(
                f"The reason is longer than {_LONGEST_REASON} characters.", "Shorten it."
            )
        # A level or a throughput does not change the data of a cache.
        refuse_foreign(of, asked.team, but_caches=True)
        other = live_of(session, asked.cluster, of.volume.name)
        if other is not None:
            raise under_way(other)

    def plan(self, asked: ChangeButton, of: Claimed) -> tuple[ChangePlan, Anf]:
        """What the change would do, from Azure's state now; raises UserError if impossible."""
        estate = self._files.estate(Deadline(DEADLINE_SECONDS, time.monotonic))
        refuse_unread(of.named, estate)
        found = match(of.named, estate.volumes)
        if found is None:
            raise ConflictError(
                f"The bot cannot see the volume of PVC {asked.claim} in Azure.",
                "Check `/anf volumes`.",
            )
        file_system = found.volume.file_system
        raised = self._database.read(lambda session: went_up_at(session, file_system))
        anf = self._files.configured
        record = record_of(self._clusters.get(asked.cluster), anf, of.volume)
        state = VolumeState(estate, of.named, found, raised, self._clock.now(), record)
        return make_plan(state, asked.request, anf), anf

    def meant(self, asked: ChangeButton) -> ChangeButton:
        """The same request, without a limit on how much the pool may grow."""
        return structs.replace(asked, growth_bytes=LARGEST_POOL)

    def begin(
        self, session: Session, caller: Caller, asked: ChangeButton, of: Claimed, now: datetime
    ) -> VolumeChange:
        """Begins a change, which its controller checks again and applies."""
        self.check(session, asked, of)
        row = VolumeChange(
            workspace_id=caller.workspace_id,
            team=asked.team,
            person=caller.person,
            channel=caller.channel,
            cluster=asked.cluster,
            namespace=of.claim.namespace,
            claim_name=asked.claim,
            pv_name=of.volume.name,
            kind=asked.kind,
            wanted_level=asked.level,
            wanted_pool=asked.pool,
            wanted_mibps=asked.mibps,
            is_shrinking=asked.is_shrinking,
            duration_seconds=asked.seconds,
            reason=asked.reason,
            shown_growth_bytes=asked.growth_bytes,
            asked_at=now,
            since=now,
        )
        session.add(row)
        session.flush()
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        facts = {
            "pvc": asked.claim,
            "kind": asked.kind,
            "wanted": asked.level or f"{asked.mibps:g}",
        }
        facts |= {"reason": asked.reason} if asked.reason else {}
        record_audit(session, _actor(caller, row), "anf.change", (CHANGE, row.id), facts, at=now)
        wake(session, CHANGE, row.id, LANE, now)
        return row

    def get(self, session: Session, row_id: str) -> VolumeChange:
        """The change of a button; raises NotFoundError if there is none."""
        row = session.get(VolumeChange, row_id)
        if row is None:
            raise NotFoundError("This change no longer exists.")
        return row

    def undecided(self, session: Session) -> list[VolumeChange]:
        """The changes that wait for a decision, the oldest first."""
        asked = select(VolumeChange).where(col(VolumeChange.phase) == ChangePhase.ASKED)
        return list(session.scalars(asked.order_by(col(VolumeChange.id))))

    def give_back(
        self, session: Session, caller: Caller, row: VolumeChange, now: datetime
    ) -> VolumeChange:
        """Withdraws a change that has not started, or reverts an active one early."""
        heads = {Role.LEAD, Role.ADMIN}
        if caller.team != row.team or not (row.person == caller.person or caller.roles & heads):
            raise NotAllowedError(
                f"<@{row.person}> requested this change.",
                "They, a lead of the team or an admin can end it.",
            )
        match row.phase:
            case ChangePhase.CHECKING | ChangePhase.ASKED | ChangePhase.APPROVED:
                self._approvals.void_for(session, (CHANGE, row.id), "it was withdrawn", now)
                row.returned_by = caller.person
                recording.not_begun(session, row.id, ChangePhase.WITHDRAWN, "", now)
            case ChangePhase.HELD:
                row.returned_by = caller.person
                notices.refresh(session, row, live=True)
            case _:
                raise ConflictError(
                    f"Change {row.number} is already {row.phase}.", "Nothing was changed."
                )
        session.add(row)
        actor = _actor(caller, row)
        facts = {"pvc": row.claim_name}
        record_audit(session, actor, "anf.give_back", (CHANGE, row.id), facts, at=now)
        wake(session, CHANGE, row.id, LANE, now)
        return row

    def _changes(self) -> AnfChanges:
        changes = self._files.configured.changes
        if changes is None:
            raise ConflictError(
                "Changing levels and throughput is not enabled.",
                "A platform admin can add `anf.changes` to quartermaster.yaml; see docs/anf.md.",
            )
        return changes


def _actor(caller: Caller, row: VolumeChange) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, row.team)


def raises_during(
    session: Session, teams: Collection[str], began: datetime, ended: datetime
) -> list[Raise]:
    """The raised volumes of teams: those that end soonest first, permanent ones last.

    Those that were reverted in the period follow.
    """
    is_in_force = or_(
        col(VolumeChange.phase).in_((ChangePhase.HELD, ChangePhase.DONE)),
        and_(
            col(VolumeChange.phase) == ChangePhase.WORKING,
            col(VolumeChange.direction) == Direction.BACK,
        ),
    )
    is_past = and_(
        col(VolumeChange.phase) == ChangePhase.RETURNED,
        col(VolumeChange.ended_at) >= began,
        col(VolumeChange.ended_at) < ended,
    )
    rows = session.exec(
        select(VolumeChange)
        .where(col(VolumeChange.team).in_(teams), or_(is_in_force, is_past))
        .order_by(col(VolumeChange.id).desc())
    )
    found = [_raise(row) for row in _newest(rows) if _is_up(row)]
    return sorted(found, key=_place)


def _newest(rows: Iterable[VolumeChange]) -> Iterator[VolumeChange]:
    """For each volume the active change, and all that have ended."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if row.phase == ChangePhase.RETURNED:
            yield row
        elif (row.cluster, row.pv_name) not in seen:
            seen.add((row.cluster, row.pv_name))
            yield row


def _is_up(row: VolumeChange) -> bool:
    if row.kind == ChangeKind.LEVEL:
        return goes_down(row.target_level, row.source_level)
    return (row.mibps_after or 0) > (row.mibps_before or 0)


def _raise(row: VolumeChange) -> Raise:
    is_held = row.phase == ChangePhase.HELD
    is_kept = is_held and bool(row.kept_for)
    fill = f" for the fill of {row.boosted_name}" if row.boosted_id else ""
    return Raise(
        what=f"{row.namespace}/{row.claim_name} from {_way(row)}{fill}",
        person=row.person,
        cost=row.cost_delta,
        until=(row.not_before or row.ends_at) if is_held and not is_kept else None,
        ended_at=row.ended_at if row.phase == ChangePhase.RETURNED else None,
        is_returning=row.phase == ChangePhase.WORKING,
        is_kept=is_kept,
    )


def _way(row: VolumeChange) -> str:
    if row.kind == ChangeKind.LEVEL:
        return f"{row.source_level} to {row.target_level}"
    return f"{throughput(row.mibps_before)} to {throughput(row.mibps_after)}"


def _place(each: Raise) -> tuple[bool, bool, float, str]:
    is_for_good = each.until is None and not (each.is_returning or each.is_kept)
    moment = each.ended_at or each.until
    return each.ended_at is not None, is_for_good, moment.timestamp() if moment else 0, each.what
