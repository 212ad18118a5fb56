"""Requests deletions of PVCs. Only checks and writes rows; the controller does the rest."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from sqlmodel import Session, col, select

from bot import holds
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.holds import Hold
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.slack.messages import show_card
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.deletions.needing import RunsNeeding, needing
from bot.snapshots.deletions.record import finish
from bot.snapshots.deletions.tables import DELETION, Deletion, DeletionPhase
from bot.snapshots.snapshots.service import SnapshotRequest, SnapshotService
from bot.snapshots.tables import SNAPSHOT, Snapshot
from bot.volumes.records import ClaimPlace

_MOST_NAMED = 5


class DeletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested deletion. It is the value of a button, so its keys are short."""

    team: str = msgspec.field(name="t")
    cluster: str = msgspec.field(name="c")
    claim: str = msgspec.field(name="p")
    uid: str = msgspec.field(name="u")
    saves: bool = msgspec.field(name="s", default=False)


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(DeletionRequest)


def written(asked: DeletionRequest) -> str:
    """The value of a button."""
    return msgspec.json.encode(asked).decode()


def read(value: str) -> DeletionRequest:
    """Decodes the value of a button; raises UsageError if its format is outdated."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        again = "Request it again: `/pvc delete PVC`."
        raise UsageError("This button is out of date.", again) from None


class DeletionService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to use the verb was checked before.
    """

    def __init__(
        self, clusters: Mapping[str, Cluster], snapshots: SnapshotService, runs: RunsNeeding
    ) -> None:
        self._clusters = clusters
        self._snapshots = snapshots
        self._runs = runs

    def check(
        self,
        session: Session,
        caller: Caller,
        asked: DeletionRequest,
        found: ClaimSummary,
        now: datetime,
    ) -> None:
        """Raises UserError if the PVC cannot be deleted, as rows and watches show it."""
        claim = found.claim
        if claim.uid != asked.uid:
            raise ConflictError(
                f"PVC {asked.claim} is now a different PVC of the same name. Nothing was deleted.",
                f"Look at it first: `/pvc show {asked.claim}`.",
            )
        if claim.metadata.deletion_timestamp is not None:
            raise ConflictError(
                f"PVC {asked.claim} is already being deleted.",
                f"`/pvc show {asked.claim}` tells what it waits for.",
            )
        place = _place_of(found)
        other = _live_deletion(session, place)
        if other is not None:
            raise ConflictError(
                f"<@{other.person}> already requested to delete PVC {place.name}.",
                f"Its card in <#{other.channel}> shows the progress.",
            )
        runs = self._runs(session, place.cluster, place.namespace)
        needs = _needs(session, found, runs.get(place.name, ()))
        if needs:
            more = len(needs) - _MOST_NAMED
            rest = f" And {more} more." if more > 0 else ""
            raise ConflictError(
                f"PVC {asked.claim} is needed now. {' '.join(needs[:_MOST_NAMED])}{rest}",
                "Stop what uses it, or wait until it has ended. Then delete it again.",
            )
        if asked.saves:
            self._snapshots.foresee(session, caller, _snapshot_of(asked), now)

    def unused(self, session: Session, rows: Iterable[ClaimSummary]) -> tuple[ClaimSummary, ...]:
        """Those of the PVCs that nothing needs, and that are not being deleted."""
        free = [
            each
            for each in rows
            if not each.users and each.claim.metadata.deletion_timestamp is None
        ]
        namespaces = {(each.cluster, each.claim.namespace) for each in free}
        runs = {each: self._runs(session, *each) for each in namespaces}

        def is_unused(found: ClaimSummary) -> bool:
            mounting = runs[found.cluster, found.claim.namespace].get(found.claim.name, ())
            is_needed = bool(_needs(session, found, mounting))
            return not is_needed and _live_deletion(session, _place_of(found)) is None

        return tuple(filter(is_unused, free))

    def begin(
        self,
        session: Session,
        caller: Caller,
        asked: DeletionRequest,
        found: ClaimSummary,
        now: datetime,
    ) -> Deletion:
        """Begins a deletion, which its controller checks again and carries out."""
        self.check(session, caller, asked, found, now)
        row = _row(caller, asked, found, now)
        session.add(row)
        session.flush()
        if asked.saves:
            self._save(session, caller, asked, row, now)
        facts = {"pvc": row.claim_name, "uid": row.claim_uid, "snapshot": row.snapshot}
        actor = Actor(row.workspace_id, row.person, row.channel, row.team)
        record(session, actor, "pvc.delete", (DELETION, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        wake(session, DELETION, row.id, row.lane, now)
        return row

    def get(self, session: Session, row_id: str) -> Deletion:
        """The deletion of a button; raises NotFoundError if there is none."""
        row = session.get(Deletion, row_id)
        if row is None:
            raise NotFoundError("This deletion no longer exists.")
        return row

    def cancel(self, session: Session, caller: Caller, row: Deletion, now: datetime) -> None:
        """Cancels a deletion whose snapshot is not ready yet; raises UserError if impossible."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This deletion is of a PVC of {row.team}.", "Ask a member of that team."
            )
        if row.phase != DeletionPhase.SAVING:
            stands = "started" if row.is_live else "ended"
            raise ConflictError(
                f"The deletion of {row.claim_name} has already {stands}.",
                "Your click changed nothing.",
            )
        row.cancelled_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        facts = {"pvc": row.claim_name}
        record(session, actor, "pvc.cancel", (DELETION, row.id), facts, at=now)
        finish(session, row, DeletionPhase.CANCELLED, now)

    def _save(
        self,
        session: Session,
        caller: Caller,
        asked: DeletionRequest,
        row: Deletion,
        now: datetime,
    ) -> None:
        """Begins the snapshot, and keeps it from being deleted until the deletion has ended."""
        taken: Snapshot = self._snapshots.take(session, caller, _snapshot_of(asked), now)
        row.snapshot_id, row.snapshot = taken.id, taken.name
        row.phase = DeletionPhase.SAVING
        session.add(row)
        hold = Hold(
            thing_kind=SNAPSHOT, thing_id=taken.id, subject_kind=DELETION, subject_id=row.id,
            why=f"The deletion of PVC {row.claim_name}", until=None,
        )  # fmt: skip
        holds.take(session, hold)


def _snapshot_of(asked: DeletionRequest) -> SnapshotRequest:
    note = "before the deletion of the PVC"
    return SnapshotRequest(asked.claim, note, keep="off", cluster=asked.cluster)


def _row(caller: Caller, asked: DeletionRequest, found: ClaimSummary, now: datetime) -> Deletion:
    claim, volume = found.claim, found.volume
    return Deletion(
        workspace_id=caller.workspace_id,
        team=asked.team,
        person=caller.person,
        channel=caller.channel,
        cluster=found.cluster,
        namespace=claim.namespace,
        claim_name=claim.name,
        claim_uid=claim.uid,
        storage_class=claim.spec.storage_class_name or "",
        size_bytes=claim.size_bytes or 0,
        volume_name=volume.name if volume is not None else "",
        reclaim_policy=volume.spec.persistent_volume_reclaim_policy if volume is not None else "",
        asked_at=now,
        since=now,
    )


def _needs(session: Session, found: ClaimSummary, runs: Sequence[str]) -> list[str]:
    """What needs the PVC, which these runs mount, as sentences."""
    pods = [f"Pod {each.pod}" + (f" of run {each.run}" if each.run else "") + " mounts it."
            for each in found.users]  # fmt: skip
    return list(dict.fromkeys([*pods, *needing(session, _place_of(found), runs)]))


def _place_of(found: ClaimSummary) -> ClaimPlace:
    return ClaimPlace(found.cluster, found.claim.namespace, found.claim.name)


def _live_deletion(session: Session, place: ClaimPlace) -> Deletion | None:
    return session.exec(
        select(Deletion).where(
            col(Deletion.cluster) == place.cluster,
            col(Deletion.namespace) == place.namespace,
            col(Deletion.claim_name) == place.name,
            col(Deletion.ended_at).is_(None),
        )
    ).first()
