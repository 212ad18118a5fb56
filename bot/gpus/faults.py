"""Keeps what was wrong with GPUs themselves, from when until when it was seen."""

from collections.abc import Collection, Sequence

from sqlalchemy import delete, or_, select
from sqlmodel import Session, col

from bot.gpus.minutes import PER_HOUR, Window
from bot.gpus.sources.source import Fault, FaultKind
from bot.gpus.tables import GpuFault

_ORDER = ("cluster", "node", "gpu", "first", "kind", "code")


def keep_faults(session: Session, cluster: str, found: Collection[Fault], minutes: range) -> None:
    """Notes what was seen in these minutes; what was not for an hour and comes again is new."""
    known: dict[Fault, GpuFault] = {}
    chosen = select(GpuFault).where(
        col(GpuFault.cluster) == cluster, col(GpuFault.last) >= minutes.start - PER_HOUR
    )
    for row in session.scalars(chosen) if found else ():
        known[Fault(row.node, row.gpu, FaultKind(row.kind), row.code)] = row
    for each in found:
        row = known.get(each) or GpuFault(
            cluster=cluster, **each._asdict(), first=minutes.start, last=minutes.stop
        )
        row.last = max(row.last, minutes.stop)
        session.add(row)


def faults_in(session: Session, window: Window) -> Sequence[GpuFault]:
    """What began in a time, and rows that could not be remapped as long as that is so."""
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
    """Lets go of what was not seen since a minute."""
    session.connection().execute(delete(GpuFault).where(col(GpuFault.last) < before))
