"""Queries for copies."""

from collections.abc import Sequence

from sqlmodel import Session, col, or_, select

from bot.snapshots.copies.tables import Copy


def copying(session: Session, cluster: str, namespace: str, claim: str) -> Sequence[Copy]:
    """The copies of a PVC, or to it, that have not ended."""
    wanted = select(Copy).where(
        col(Copy.cluster) == cluster,
        col(Copy.namespace) == namespace,
        or_(col(Copy.claim_name) == claim, col(Copy.target) == claim),
        col(Copy.ended_at).is_(None),
    )
    return session.exec(wanted.order_by(col(Copy.id))).all()
