"""Stores pods that hold or held GPUs, so that their figures can be attributed."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, func, or_, select, update
from sqlmodel import Session, col

from bot.database.upsert import Upsert
from bot.gpus.samples.owners import Owner
from bot.gpus.tables import GpuPod

PODS_KEPT_BY_NODE = timedelta(days=90)
"""How long it is known which pods were the last to hold GPUs of a node."""
_MINUTE = timedelta(minutes=1)
# A pod found in past figures may still exist.
_UPSERT = Upsert(GpuPod, ("uid", "cluster"), lambda new: {"last": new.last})


class KnownPod(NamedTuple):
    """The series of a pod, and how much it holds, in thousandths of a GPU, where and when.

    It held that from the minute `first` on, until `last` if it no longer does; `node` is empty if
    unknown. Pods of one `gpu_group` share a GPU.
    """

    uid: str
    series: int
    amount: int
    node: str = ""
    first: int = 0
    last: int | None = None
    gpu_group: str = ""

    @property
    def is_reservation(self) -> bool:
        """Whether it reserves a GPU for the pods that share it."""
        return bool(self.gpu_group) and not self.amount

    def shares(self, reservation: "KnownPod", minute: int) -> bool:
        """Whether it shares the GPU of a reservation pod, in a minute."""
        is_one = self.gpu_group == reservation.gpu_group and not self.is_reservation
        return is_one and self.holds(minute)

    def holds(self, minute: int) -> bool:
        """Whether it held GPUs in a minute."""
        return self.first <= minute and (self.last is None or minute < self.last)


class LastPod(NamedTuple):
    """The series of the last pod on a node, and the first minute in which it held no GPUs.

    `node` is empty if it is unknown where it was, `ended` is None if it still holds some. Pods of
    one `gpu_group` share a GPU; the pod with an `amount` of 0 reserves it for them.
    """

    node: str
    series: int
    ended: int | None
    amount: int
    gpu_group: str


class NewPod(NamedTuple):
    """A pod that was not seen before."""

    uid: str
    namespace: str
    name: str
    amount: int
    owner: Owner
    node: str = ""
    gpu_group: str = ""


def live_pods(session: Session, cluster: str) -> dict[str, KnownPod]:
    """The pods that hold GPUs as of the last sample, by their uid."""
    rows = session.connection().execute(
        select(col(GpuPod.uid), col(GpuPod.series), col(GpuPod.amount)).where(
            col(GpuPod.cluster) == cluster, col(GpuPod.last).is_(None)
        )
    )
    return {row[0]: KnownPod(*row) for row in rows}


def known_pods(session: Session, cluster: str, since: int) -> dict[tuple[str, str], KnownPod]:
    """Pods that held GPUs since a minute, by namespace and name; the last one of each name."""
    rows = session.connection().execute(
        select(
            col(GpuPod.namespace),
            col(GpuPod.name),
            col(GpuPod.uid),
            col(GpuPod.series),
            col(GpuPod.amount),
            col(GpuPod.node),
            col(GpuPod.first),
            col(GpuPod.last),
            col(GpuPod.gpu_group),
        )
        .where(
            col(GpuPod.cluster) == cluster,
            or_(col(GpuPod.last).is_(None), col(GpuPod.last) >= since),
        )
        .order_by(col(GpuPod.first))
    )
    return {(row[0], row[1]): KnownPod(*row[2:]) for row in rows}


def keep_pods(
    session: Session,
    cluster: str,
    new: Iterable[tuple[NewPod, int]],
    first: int,
    last: int | None,
) -> None:
    """Stores pods with the ids of their series and the minutes in which they were seen."""
    for pod, series in new:
        row = {
            "uid": pod.uid,
            "cluster": cluster,
            "namespace": pod.namespace,
            "name": pod.name,
            "series": series,
            "amount": pod.amount,
            "node": pod.node,
            "gpu_group": pod.gpu_group,
            "first": first,
            "last": last,
        }
        _UPSERT(session, row)


def end_pods(session: Session, cluster: str, uids: Sequence[str], minute: int) -> None:
    """Records that pods no longer hold GPUs from a minute on."""
    if uids:
        session.connection().execute(
            update(GpuPod)
            .where(col(GpuPod.cluster) == cluster, col(GpuPod.uid).in_(uids))
            .values(last=minute)
        )


def last_pods(session: Session, cluster: str) -> list[LastPod]:
    """The last pod of each namespace that held GPUs of a node, and all that hold some now."""
    ranked = _ranked(cluster).subquery()
    columns = (ranked.c.node, ranked.c.series, ranked.c.last, ranked.c.amount, ranked.c.gpu_group)
    chosen = or_(ranked.c.rank == 1, ranked.c.last.is_(None))
    rows = session.connection().execute(select(*columns).where(chosen))
    return [LastPod(*row) for row in rows]


def forget_pods(session: Session, before: int, now: int) -> None:
    """Deletes pods whose last minute is before a minute; the last ones of nodes much later."""
    ranked = _ranked().subquery()
    newest = select(ranked.c.uid).where(ranked.c.rank == 1)
    session.connection().execute(
        delete(GpuPod).where(
            col(GpuPod.last) < before,
            or_(
                col(GpuPod.last) < now - int(PODS_KEPT_BY_NODE / _MINUTE),
                col(GpuPod.uid).not_in(newest),
            ),
        )
    )


def _ranked(cluster: str | None = None) -> Select[Any]:
    """Pods by node, from 1 for the last of each namespace; those of unknown nodes together.

    The namespace tells pods that check a node from those that use it. Those that are there are
    ranked for themselves: in a namespace that has both, a check never ends.
    """
    is_there = col(GpuPod.last).is_(None)
    order = (col(GpuPod.last).desc(), col(GpuPod.uid))
    place = (col(GpuPod.cluster), col(GpuPod.node), col(GpuPod.namespace), is_there)
    rank = func.row_number().over(partition_by=place, order_by=order).label("rank")
    names = ("uid", "node", "series", "last", "amount", "gpu_group")
    found = select(*(col(getattr(GpuPod, each)) for each in names), rank)
    return found if cluster is None else found.where(col(GpuPod.cluster) == cluster)
