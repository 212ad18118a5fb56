"""Stores faults of GPUs, each with the first and last minute in which it was seen."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import delete, or_, select
from sqlmodel import Session, col

from bot.gpus.minutes import PER_HOUR, Window
from bot.gpus.sources.source import Fault, FaultKind
from bot.gpus.tables import GpuFault

_ORDER = ("cluster", "node", "gpu", "first", "kind", "code")


def keep_faults(session: Session, cluster: str, found: Mapping[int, Collection[Fault]]) -> None:
    """Stores the faults of these minutes; one that returns after an hour is a new fault."""
    known: dict[Fault, GpuFault] = {}
    chosen = select(GpuFault).where(
        col(GpuFault.cluster) == cluster, col(GpuFault.last) >= min(found, default=0) - PER_HOUR
    )
    for row in session.scalars(chosen) if found else ():
        known[Fault(row.node, row.gpu, FaultKind(row.kind), row.code)] = row
    for minute in sorted(found):
        for each in found[minute]:
            before = known.get(each)
            if before is None or before.last < minute - PER_HOUR:
                begun = GpuFault(cluster=cluster, **each._asdict(), first=minute, last=minute + 1)
                known[each] = begun
                session.add(begun)
            else:
                before.last = max(before.last, minute + 1)


def faults_in(session: Session, window: Window) -> Sequence[GpuFault]:
    """Faults that began in a time, and row-remap failures that still last."""
    minutes = window.minutes
    stands = (col(GpuFault.kind) == FaultKind.REMAP_FAILED) & (col(GpuFault.last) > minutes.start)
    return session.scalars(
        select(GpuFault)
        .where(
            col(GpuFault.first) < minutes.stop, or_(col(GpuFault.first) >= minutes.start, stands)
        )
        .order_by(*(col(getattr(GpuFault, each)) for each in _ORDER))
    ).all()


def forget_faults(session: Session, before: int) -> None:
    """Deletes faults last seen before a minute."""
    session.connection().execute(delete(GpuFault).where(col(GpuFault.last) < before))
