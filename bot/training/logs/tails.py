"""Saves the last log lines of a run's pods before the pods are deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from bot.cluster.api.client import LogSource
from bot.cluster.api.log_tail import READ_BYTES, WHOLE_BYTES, LastLines, Limits
from bot.cluster.cluster import Cluster
from bot.cluster.types.objects import Pod
from bot.database.forgetting import forget_some
from bot.errors import ClusterError
from bot.masking import mask_lines
from bot.training.kinds.pods.template import MAIN
from bot.training.pods import exit_of, newest, part_of, program_of
from bot.training.state import has_ended, has_started
from bot.training.tables import KEPT_LINES, KeptLog

# Of the many pods of a run that fail together, the first ones tell why.
_FAILED_HEARD = 3
# A program may say many lines between two that tell figures.
HEARD_LINES = 5_000
_HEARD_BYTES = 512 * 1024
_KEPT_FOR = timedelta(days=30)
_NEVER = datetime.max.replace(tzinfo=UTC)
# Built once: that takes longer than to run it.
_KEPT = select(
    col(KeptLog.pod_uid), col(KeptLog.kept_at), col(KeptLog.is_final), col(KeptLog.read_to)
).where(col(KeptLog.run_id) == bindparam("run"))


def forget(session: Session, now: datetime) -> None:
    """Deletes saved lines that are 30 days old; the run keeps its results and its last line."""
    forget_some(session, KeptLog, col(KeptLog.kept_at) < now - _KEPT_FOR)


class Kept(NamedTuple):
    """When the lines of a pod were saved, whether they are final, and how far metrics were read."""

    kept_at: datetime
    is_final: bool
    read_to: str = ""


@dataclass(frozen=True)
class Tail:
    """The last lines of a pod as they were just read, without secrets.

    `earlier` are the lines before them, which are searched for results and not saved. `is_all`
    means that `lines` are all that its node has: there were no more, or the log was rotated.
    `found` is what was read, with secrets and with the times of the lines.
    """

    pod: Pod
    lines: tuple[str, ...]
    is_all: bool = False
    earlier: tuple[str, ...] = ()
    found: LastLines = field(default_factory=lambda: LastLines([]), repr=False)


@dataclass(frozen=True)
class LogReading:
    """When logs are read: `read_at` is the last time, `is_last` means that this is the end."""

    now: datetime
    read_at: datetime | None
    interval: timedelta
    is_last: bool = False


def kept(session: Session, run_id: str) -> dict[str, Kept]:
    """The saved logs of a run's pods by their uids, without the lines."""
    rows = session.connection().execute(_KEPT, {"run": run_id})
    return {uid: Kept(kept_at, is_final, to) for uid, kept_at, is_final, to in rows}


def wanted(
    pods: Sequence[Pod], log_pods: Sequence[Pod], kept: Mapping[str, Kept], look: LogReading
) -> list[Pod]:
    """The pods to read now, of those whose log is the run's and those that failed first.

    These are pods that ended or are being deleted, and the newest one when a read is due.
    """
    uids = {pod.uid for pod in log_pods}
    failed = [pod for pod in pods if pod.status.phase == "Failed" and pod.uid not in uids]
    heard = [*log_pods, *sorted(failed, key=_ended_at)[:_FAILED_HEARD]]
    newest_speaker = newest(log_pods) if log_pods else None
    return [
        pod
        for pod in heard
        if has_started(pod) and _is_wanted(pod, pod is newest_speaker, kept, look)
    ]


def read(cluster: Cluster, pods: Sequence[Pod]) -> list[Tail]:
    """The last lines of the pods; a pod that cannot be read is left out."""
    tails = []
    for pod in pods:
        try:
            found = _read(cluster, pod)
        except ClusterError:
            # The pod may be gone already; that must not keep the run from going on.
            continue
        lines = mask_lines(found.lines)
        is_all = len(lines) < KEPT_LINES and len(found.lines) < HEARD_LINES and not found.is_cut
        kept, earlier = tuple(lines[-KEPT_LINES:]), tuple(lines[:-KEPT_LINES])
        tails.append(Tail(pod, kept, is_all, earlier, found))
    return tails


def _read(cluster: Cluster, pod: Pod) -> LastLines:
    """The last lines of a pod's program; more are read on the final read."""
    source = source_of(pod)
    limits = Limits(WHOLE_BYTES if has_ended(pod) else READ_BYTES, _HEARD_BYTES, stamps=True)
    return cluster.last_lines(source, HEARD_LINES, limits)


def source_of(pod: Pod) -> LogSource:
    """The log of a pod's program."""
    return LogSource(pod.name, pod.namespace, container_of(pod))


def container_of(pod: Pod) -> str:
    """The container of a pod's program."""
    program = program_of(pod)
    return program.name if program else MAIN


def keep(
    session: Session,
    run_id: str,
    tails: Sequence[Tail],
    now: datetime,
    read_to: Mapping[str, str],
) -> None:
    """Saves the lines that were read; newer lines of a pod replace the older ones.

    `read_to` is how far metrics were read, by pod.
    """
    for tail in tails:
        before = session.get(KeptLog, (run_id, tail.pod.uid)) if tail.is_all else None
        lines = list(tail.lines)
        session.merge(
            KeptLog(
                run_id=run_id,
                pod_uid=tail.pod.uid,
                pod=tail.pod.name,
                part=part_of(tail.pod),
                lines=joined(before.lines, lines)[-KEPT_LINES:] if before else lines,
                kept_at=now,
                is_failed=tail.pod.status.phase == "Failed",
                is_final=has_ended(tail.pod),
                read_to=read_to.get(tail.pod.uid, ""),
            )
        )


def joined(before: list[str], now: list[str]) -> list[str]:
    """The lines read before, followed by all that a node has now.

    After a rotation or a restart of the container, a node returns nothing older.
    """
    for place in range(len(before)):
        *same, last = before[place:]
        # The last line may have gone on since.
        if now[: len(same)] == same and (same or place == 0 or now[:1] == [last]):
            return [*before[:place], *(now or [last])]
    return [*before, *now]


def _ended_at(pod: Pod) -> datetime:
    end = exit_of(pod)
    return end.finished_at if end is not None and end.finished_at else _NEVER


def _is_wanted(pod: Pod, is_newest: bool, kept: Mapping[str, Kept], look: LogReading) -> bool:  # noqa: FBT001 - one of four
    known = kept.get(pod.uid)
    if known is not None and known.is_final:
        return False
    if look.is_last or has_ended(pod):
        return True
    told_to_end = pod.metadata.deletion_timestamp
    if told_to_end is not None:
        return known is None or known.kept_at < told_to_end
    is_due = look.read_at is None or look.now - look.read_at >= look.interval
    return is_due and is_newest
