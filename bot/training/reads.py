"""Answers about runs that must look outside; they change nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.holders import Holder
from bot.cluster.log_tail import SHOWN_BYTES, WHOLE_BYTES, Limits
from bot.cluster.objects import Pod
from bot.cluster.resources import HOLDERS, OPEN_SECRETS, PODS
from bot.database.database import Database
from bot.errors import ClusterError
from bot.masking import mask_lines
from bot.training import finding
from bot.training.kinds import kind_of_run
from bot.training.kinds.interactive import TOKEN_KEY, base_path, door_name
from bot.training.logs import container_of
from bot.training.pods import main_container, newest
from bot.training.spec import spec_of
from bot.training.state import has_ended, has_started
from bot.training.strangers import Stranger
from bot.training.tables import KEPT_LINES, KeptLog, Run

LONGEST_SHOWN = 8_000
"""What is shown of one line of a log, in characters."""

_LIMITS = Limits(WHOLE_BYTES, SHOWN_BYTES, asks_again=True)


@dataclass(frozen=True)
class LogTail:
    """The last lines of a pod, without secrets.

    `kept_at` is None when they were read just now; `trouble` says why they could not be.
    `pod` is None when there is no pod and never was one that said anything. Of those asked for
    `is_cut` ones before these were left out, as too long or not kept.
    """

    pod: str | None
    lines: tuple[str, ...] = ()
    kept_at: datetime | None = None
    trouble: str = ""
    is_cut: bool = False


@dataclass(frozen=True)
class Door:
    """How a session is entered: for its owner's eyes alone.

    `path` is what follows host and port, token included, empty for a shell; `pod` is empty while
    none runs.
    """

    pod: str
    path: str = field(default="", repr=False)


class TrainingReads:
    """Reads logs: from the cluster while it has them, else what was kept."""

    def __init__(self, database: Database, clusters: Mapping[str, Cluster]) -> None:
        self._database = database
        self._clusters = clusters

    def log_tail(self, run: Run, lines: int) -> LogTail:
        """The last lines of the newest pod that speaks for the run."""
        cluster = self._clusters.get(run.cluster)
        pods = cluster.view.labelled(PODS, labels.RUN, run.id) if cluster else ()
        if cluster is None or not pods:
            return self._kept(run, lines)
        try:
            pod = newest(kind_of_run(run).speakers(pods) or pods)
            return _tail(cluster, pod, container_of(pod), lines)
        except ClusterError as error:
            # A pod that has yet to start says nothing; an earlier one may have.
            return self._kept(run, lines, "" if error.reason == "BadRequest" else error.message)

    def door(self, run: Run) -> Door:
        """The way into a session; OutsideError when the cluster cannot tell it."""
        cluster = self._clusters.get(run.cluster)
        if cluster is None:
            raise ClusterError(f"Cluster {run.cluster} is not in quartermaster.yaml any more.")
        pods = [
            each
            for each in cluster.view.labelled(PODS, labels.RUN, run.id)
            if has_started(each) and not has_ended(each)
        ]
        pod = newest(pods).name if pods else ""
        if spec_of(run).port is None:
            return Door(pod)
        return Door(pod, f"{base_path(run)}/?token={_token(cluster, run)}")

    def stranger_log_tail(self, cluster_name: str, stranger: Stranger, lines: int) -> LogTail:
        """The last lines of the newest pod of a Job that was started without us."""
        cluster = self._clusters[cluster_name]
        chosen = f"{labels.JOB_NAME}={stranger.name}"
        try:
            pods = cluster.list(HOLDERS, stranger.namespace, labels=chosen)
            pod = newest(pods) if pods else None
            return _tail(cluster, pod, main_container(pod), lines) if pod else LogTail(None)
        except ClusterError as error:
            return LogTail(None, trouble="" if error.reason == "BadRequest" else error.message)

    def _kept(self, run: Run, lines: int, trouble: str = "") -> LogTail:
        kept: list[KeptLog] = self._database.read(
            lambda session: finding.kept_logs(session, run.id)
        )
        if not kept:
            return LogTail(None, trouble=trouble)
        last = kept[-1]
        shown = tuple(last.lines[-lines:])
        is_cut = len(shown) < lines and len(last.lines) >= KEPT_LINES
        return LogTail(last.pod, shown, last.kept_at, trouble, is_cut)


def _token(cluster: Cluster, run: Run) -> str:
    """The token of a session, from the Secret that was made for it."""
    name = door_name(run)
    found = cluster.get(OPEN_SECRETS, name, run.namespace)
    ours = {labels.RUN: run.id, labels.INSTALLATION: cluster.installation}
    token = found.value(TOKEN_KEY) if found and ours.items() <= found.labels.items() else None
    if token is None:
        raise ClusterError(
            f"Secret {name} in namespace {run.namespace} has no token for it.",
            "Stop the session and start it again.",
        )
    return token


def _tail(cluster: Cluster, pod: Pod | Holder, container: str, lines: int) -> LogTail:
    found = cluster.last_lines(
        pod.name, pod.namespace, container=container, tail_lines=lines, limits=_LIMITS
    )
    shown = tuple(mask_lines(found.lines, LONGEST_SHOWN))
    return LogTail(pod.name, shown, is_cut=found.is_cut)
