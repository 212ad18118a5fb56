"""The pods that hold, or held, GPUs: kept so that figures about them find their owner."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import delete, or_, select, update
from sqlmodel import Session, col

from bot.database.upsert import Upsert
from bot.gpus.owners import Owner
from bot.gpus.tables import GpuPod

# A pod that was met in figures of the past may be there still.
_UPSERT = Upsert(GpuPod, ("uid", "cluster"), lambda new: {"last": new.last})


class KnownPod(NamedTuple):
    """Whose a pod is, and how much it holds, in thousandths of a GPU, where and when.

    It held that from the minute `first` on, until `last` where it does not any more; `node` is
    empty where nobody knows. Those of one `gpu_group` share a GPU.
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
        """Whether it holds a GPU for those who share it."""
        return bool(self.gpu_group) and not self.amount

    def shares(self, reservation: "KnownPod", minute: int) -> bool:
        """Whether it has a part of the GPU that another pod holds for it, in a minute."""
        is_one = self.gpu_group == reservation.gpu_group and not self.is_reservation
        return is_one and self.holds(minute)

    def holds(self, minute: int) -> bool:
        """Whether it held them in a minute."""
        return self.first <= minute and (self.last is None or minute < self.last)


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
    """The pods that hold GPUs as far as was seen, by their uid."""
    rows = session.connection().execute(
        select(col(GpuPod.uid), col(GpuPod.series), col(GpuPod.amount)).where(
            col(GpuPod.cluster) == cluster, col(GpuPod.last).is_(None)
        )
    )
    return {row[0]: KnownPod(*row) for row in rows}


def known_pods(session: Session, cluster: str, since: int) -> dict[tuple[str, str], KnownPod]:
    """By namespace and name, those that held any in that minute or after; of a name the last."""
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
    times: tuple[int, int | None],
) -> None:
    """Keeps pods with the ids of their series, and from when until when they were seen."""
    first, last = times
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
    """Notes that pods hold nothing any more from a minute on."""
    if uids:
        session.connection().execute(
            update(GpuPod)
            .where(col(GpuPod.cluster) == cluster, col(GpuPod.uid).in_(uids))
            .values(last=minute)
        )


def forget_pods(session: Session, before: int) -> None:
    """Lets go of pods that nobody is asked about any more."""
    session.connection().execute(delete(GpuPod).where(col(GpuPod.last) < before))
