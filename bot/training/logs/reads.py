"""Reads a requested log: of a pod, before or after a restart, whole or the last lines."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Semaphore
from typing import TypeVar

from bot.cluster import labels
from bot.cluster.api.client import LogSource
from bot.cluster.api.log_tail import SHOWN_BYTES, WHOLE_BYTES, LastLines, Limits
from bot.cluster.cluster import Cluster
from bot.cluster.holders import Holder
from bot.cluster.resources import HOLDERS, PODS
from bot.cluster.types.objects import Pod
from bot.database.database import Database
from bot.errors import ClusterError, LimitError, NotFoundError
from bot.masking import mask_lines
from bot.training import finding
from bot.training.external.listing import ExternalWorkload
from bot.training.kinds import kind_of_run
from bot.training.logs.tails import container_of, joined
from bot.training.pods import by_age, main_container, part_of, program_of
from bot.training.tables import KEPT_LINES, KeptLog, Run

T = TypeVar("T", Pod, Holder)

LONGEST_SHOWN = 8_000
"""What is shown of one line of a log, in characters."""

_LIMITS = Limits(WHOLE_BYTES, SHOWN_BYTES, asks_again=True)
_MOST_NAMED = 20
# A whole log takes tens of megabytes of memory while it is read.
_MOST_WHOLE = 1
_PATIENCE_SECONDS = 10.0
_NUMBERS = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class LogRequest:
    """Which log: of a pod as people name it, else of the pod whose log is the run's.

    `is_previous` asks for the output before its last restart, `is_whole` for the whole log instead
    of the last `lines`.
    """

    lines: int
    pod: str = ""
    is_previous: bool = False
    is_whole: bool = False


@dataclass(frozen=True)
class LogTail:
    """The last lines of a pod, without secrets.

    `kept_at` is None when they were read live; `trouble` says why they could not be read.
    `pod` is None when no pod exists and none ever had output. `is_cut` means that earlier
    requested lines were left out, because they were too long or not saved.
    """

    pod: str | None
    lines: tuple[str, ...] = ()
    kept_at: datetime | None = None
    trouble: str = ""
    is_cut: bool = False


class LogReads:
    """Reads logs from the cluster while it has them, else the saved lines."""

    def __init__(self, database: Database, clusters: Mapping[str, Cluster]) -> None:
        self._database = database
        self._clusters = clusters
        self._room = Semaphore(_MOST_WHOLE)

    def of_run(self, run: Run, request: LogRequest) -> LogTail:
        """The lines; NotFoundError for a pod without a log, or without an earlier one."""
        cluster = self._clusters.get(run.cluster)
        pods = cluster.view.labelled(PODS, labels.RUN, run.id) if cluster else ()
        kept = self._database.read(lambda session: finding.kept_logs(session, run.id))
        live, rows = _live(run, pods, request.pod), _rows(kept, request.pod)
        if request.pod and not live and not rows:
            raise _no_such_pod(run.reference, request.pod, _names(pods, kept))
        if not live or cluster is None:
            return _kept(rows, request)
        source = _source(live, [container_of(each) for each in live], request)
        if source is None:
            uids = {each.uid for each in live}
            return _before(live[-1].name, [row for row in rows if row.pod_uid not in uids], request)
        try:
            tail = self._read(cluster, source, request)
            return tail if request.is_previous else _with_kept(tail, rows, live[-1].uid, request)
        except ClusterError as error:
            if request.is_previous:
                return LogTail(source.pod, trouble=_plainly(source, error))
            # A pod that has yet to start says nothing; an earlier one may have.
            said = "" if error.reason == "BadRequest" else error.message
            return _kept(rows, request, said)

    def of_external(
        self, cluster_name: str, external: ExternalWorkload, request: LogRequest
    ) -> LogTail:
        """The lines of a pod of an external Job."""
        cluster = self._clusters[cluster_name]
        chosen = f"{labels.JOB_NAME}={external.name}"
        try:
            pods = cluster.list(HOLDERS, external.namespace, labels=chosen)
            live = _called(pods, request.pod) if request.pod else by_age(pods)
            if request.pod and not live:
                raise _no_such_pod(external.name, request.pod, _names(pods, ()))
            source = _source(live, [main_container(each) for each in live], request)
            if source is None:
                return _before(live[-1].name, (), request) if live else LogTail(None)
            return self._read(cluster, source, request)
        except ClusterError as error:
            if request.is_previous or error.reason != "BadRequest":
                return LogTail(None, trouble=error.message)
            return LogTail(None)

    def _read(self, cluster: Cluster, source: LogSource, request: LogRequest) -> LogTail:
        if not request.is_whole:
            return _masked(source, cluster.last_lines(source, request.lines, _LIMITS))
        if not self._room.acquire(timeout=_PATIENCE_SECONDS):
            raise LimitError(
                "Other whole logs are being read at the moment.",
                "Try again in a minute, or ask for the last lines with `--tail 1000`.",
            )
        try:
            return _masked(source, cluster.whole_log(source))
        finally:
            self._room.release()


def _masked(source: LogSource, found: LastLines) -> LogTail:
    shown = tuple(mask_lines(found.lines, LONGEST_SHOWN))
    return LogTail(source.pod, shown, is_cut=found.is_cut)


def _live(run: Run, pods: Sequence[Pod], name: str) -> list[Pod]:
    """The selected pods, newest last."""
    return _called(pods, name) if name else by_age(kind_of_run(run).log_pods(pods) or pods)


def _called(pods: Sequence[T], name: str) -> list[T]:
    return by_age([pod for pod in pods if _is_called(part_of(pod), pod.name, name)])


def _is_called(part: str, pod: str, name: str) -> bool:
    return name in {part, pod, part.removeprefix("worker-")}


def _rows(kept: Sequence[KeptLog], name: str) -> list[KeptLog]:
    """The saved logs of the selected pods, newest last."""
    if name:
        return [row for row in kept if _is_called(row.part, row.pod, name)]
    return [row for row in kept if row.part == kept[-1].part]


def _source(
    pods: Sequence[Pod | Holder], containers: Sequence[str], request: LogRequest
) -> LogSource | None:
    """The pod and container to read; None if the cluster has no earlier log."""
    if not pods:
        return None
    pod, container = pods[-1], containers[-1]
    if not request.is_previous:
        return LogSource(pod.name, pod.namespace, container)
    program = program_of(pod) if isinstance(pod, Pod) else None
    if program is not None and program.restart_count:
        return LogSource(pod.name, pod.namespace, container, is_previous=True)
    if len(pods) > 1:
        return LogSource(pods[-2].name, pod.namespace, containers[-2])
    return None


def _with_kept(tail: LogTail, rows: Sequence[KeptLog], uid: str, request: LogRequest) -> LogTail:
    """Adds the saved lines from before the log was rotated, if they were requested."""
    row = next((each for each in rows if each.pod_uid == uid), None)
    is_enough = tail.is_cut or request.is_whole or len(tail.lines) >= min(request.lines, KEPT_LINES)
    if row is None or is_enough:
        return tail
    return replace(tail, lines=tuple(joined(row.lines, list(tail.lines))[-request.lines :]))


def _kept(rows: Sequence[KeptLog], request: LogRequest, trouble: str = "") -> LogTail:
    """The saved lines of a pod that is gone or cannot be read."""
    if not rows:
        return LogTail(None, trouble=trouble)
    if not request.is_previous:
        return _shown(rows[-1], request, trouble)
    return _before(rows[-1].pod, rows[:-1], request)


def _before(pod: str, rows: Sequence[KeptLog], request: LogRequest) -> LogTail:
    """The saved lines of the pod before this one."""
    if not rows:
        raise NotFoundError(
            f"Pod {pod} is the first one, and its program was started only once.",
            "Leave `--previous` out to see its output.",
        )
    return _shown(rows[-1], request)


def _shown(row: KeptLog, request: LogRequest, trouble: str = "") -> LogTail:
    wanted = KEPT_LINES if request.is_whole else request.lines
    shown = tuple(row.lines[-wanted:])
    is_short = request.is_whole or len(shown) < request.lines
    return LogTail(row.pod, shown, row.kept_at, trouble, is_short and len(row.lines) >= KEPT_LINES)


def _plainly(source: LogSource, error: ClusterError) -> str:
    if error.reason == "BadRequest" and source.is_previous:
        return f"The node of pod {source.pod} has no log from before its last restart any more."
    return error.message


def _names(pods: Iterable[Pod | Holder], kept: Iterable[KeptLog]) -> list[str]:
    """The names of the pods that may have a log, in the order of their numbers."""
    names = {part_of(each) or each.name for each in pods} | {row.part or row.pod for row in kept}
    return sorted(names, key=_by_number)


def _by_number(name: str) -> list[tuple[bool, int, str]]:
    parts = filter(None, _NUMBERS.split(name))
    return [(not each.isdigit(), int(each) if each.isdigit() else 0, each) for each in parts]


def _no_such_pod(run: str, name: str, names: Sequence[str]) -> NotFoundError:
    said = f"{run} has no log of pod {name}."
    if not names:
        return NotFoundError(said, f"{run} has no pod yet.")
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    listed = ", ".join(names[:_MOST_NAMED])
    return NotFoundError(said, f"It has logs of: {listed}{more}. Use `--pod {names[-1]}`.")
