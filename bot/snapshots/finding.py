"""Queries for snapshots, restores and reverts."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from bot.errors import NotFoundError
from bot.slack.grammar.reading import closest
from bot.slack.markup import FormatCommand
from bot.snapshots.tables import Restore, Revert, Snapshot, SnapshotIntent, SnapshotPhase

_MOST_NAMED = 10


def of_team(session: Session, team: str, claim: str | None = None) -> Sequence[Snapshot]:
    """A team's snapshots that have not ended, or of one PVC, the newest first."""
    wanted = select(Snapshot).where(col(Snapshot.team) == team, col(Snapshot.ended_at).is_(None))
    if claim is not None:
        wanted = wanted.where(col(Snapshot.claim_name) == claim)
    return session.exec(wanted.order_by(col(Snapshot.id).desc())).all()


def named(session: Session, team: str, name: str, format_command: FormatCommand) -> Snapshot:
    """The team's snapshot of that name, or the newest ready one of the PVC of that name.

    NotFoundError names those there are.
    """
    row = session.exec(
        select(Snapshot).where(col(Snapshot.team) == team, col(Snapshot.name) == name)
    ).first()
    if row is not None:
        return row
    there = of_team(session, team)
    newest = next((each for each in there if each.claim_name == name and each.is_usable), None)
    if newest is not None:
        return newest
    known = [each.name for each in there]
    near = closest(name, known)
    if near:
        raise NotFoundError(f"{team} has no snapshot {name}.", f"Did you mean {near}?")
    listed = ", ".join(known[:_MOST_NAMED])
    example = format_command("snapshot create results")
    hint = f"It has: {listed}." if known else f"Take one: `{example}`."
    raise NotFoundError(f"{team} has no snapshot {name}.", hint)


def at(session: Session, cluster: str, namespace: str, name: str) -> Snapshot | None:
    """The snapshot whose object has that name in a namespace."""
    return session.exec(
        select(Snapshot).where(
            col(Snapshot.cluster) == cluster,
            col(Snapshot.namespace) == namespace,
            col(Snapshot.name) == name,
        )
    ).first()


def of_run(session: Session, run_id: str) -> Snapshot | None:
    """The snapshot of the end of a run."""
    return session.exec(select(Snapshot).where(col(Snapshot.run_id) == run_id)).first()


def for_run(session: Session, run_id: str) -> Restore | None:
    """The restore to the PVC that a run starts on."""
    return session.exec(select(Restore).where(col(Restore.run_id) == run_id)).first()


def newest_ready(session: Session, row: Snapshot) -> Snapshot | None:
    """The newest snapshot of the same PVC that can be used."""
    same = select(Snapshot).where(
        col(Snapshot.cluster) == row.cluster,
        col(Snapshot.claim_uid) == row.claim_uid,
        col(Snapshot.phase) == SnapshotPhase.READY,
        col(Snapshot.ended_at).is_(None),
    )
    ready = [each for each in session.exec(same) if each.is_usable]
    return max(ready, key=lambda each: (each.taken_at or each.asked_at, each.id), default=None)


def ready_on(session: Session, schedule_id: str) -> Sequence[Snapshot]:
    """The snapshots of a schedule that can be used, the newest first."""
    return session.exec(
        select(Snapshot)
        .where(
            col(Snapshot.schedule_id) == schedule_id,
            col(Snapshot.ended_at).is_(None),
            col(Snapshot.phase) == SnapshotPhase.READY,
            col(Snapshot.wanted) == SnapshotIntent.KEPT,
        )
        .order_by(col(Snapshot.taken_at).desc(), col(Snapshot.id).desc())
    ).all()


def under_way(session: Session, cluster: str, claim_uid: str) -> Snapshot | None:
    """The snapshot of a PVC that is being taken."""
    return session.exec(
        select(Snapshot).where(
            col(Snapshot.cluster) == cluster,
            col(Snapshot.claim_uid) == claim_uid,
            col(Snapshot.ended_at).is_(None),
            col(Snapshot.phase).in_((SnapshotPhase.ASKED, SnapshotPhase.TAKING)),
        )
    ).first()


def made_from(session: Session, snapshot_id: str) -> Sequence[Restore]:
    """The restores from a snapshot, also those in progress."""
    return session.exec(
        select(Restore).where(col(Restore.snapshot_id) == snapshot_id).order_by(col(Restore.id))
    ).all()


def reverting(session: Session, cluster: str, namespace: str, claim: str) -> Revert | None:
    """The revert of a PVC that has not ended."""
    return session.exec(
        select(Revert).where(
            col(Revert.cluster) == cluster,
            col(Revert.namespace) == namespace,
            col(Revert.claim_name) == claim,
            col(Revert.ended_at).is_(None),
        )
    ).first()


def all_reverting(session: Session, team: str) -> Sequence[Revert]:
    """The reverts of a team's PVCs that have not ended."""
    return session.exec(
        select(Revert).where(col(Revert.team) == team, col(Revert.ended_at).is_(None))
    ).all()
