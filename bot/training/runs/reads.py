"""Read-only answers about runs that need calls to the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.node_groups import afterwards
from bot.cluster.resources import NODES, OPEN_SECRETS, PODS
from bot.cluster.types.objects import Node
from bot.database.database import Database
from bot.errors import ClusterError
from bot.training.external.listing import ExternalWorkload
from bot.training.kinds.interactive import TOKEN_KEY, base_path, service_name
from bot.training.logs.reads import LogReads, LogRequest, LogTail
from bot.training.pods import newest
from bot.training.spec import spec_of
from bot.training.state import has_ended, has_started
from bot.training.tables import Run


@dataclass(frozen=True)
class SessionAccess:
    """How to open a session; shown only to its owner.

    `path` follows host and port and contains the token, empty for a shell; `pod` is empty while
    none is running.
    """

    pod: str
    path: str = field(default="", repr=False)


class TrainingReads:
    """Reads logs and session addresses from the cluster."""

    def __init__(self, database: Database, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters
        self._logs = LogReads(database, clusters)

    def log_tail(self, run: Run, request: LogRequest) -> LogTail:
        """The log of a run; NotFoundError when the requested log does not exist."""
        return self._logs.of_run(run, request)

    def afterwards(self, run: Run) -> str:
        """What becomes of the nodes of a run that ended, if they are there and show it."""
        cluster, ended = self._clusters.get(run.cluster), run.ended_at
        if cluster is None or ended is None:
            return ""
        found = (cluster.view.get(NODES, name) for name in run.nodes)
        return afterwards([each for each in found if each is not None and _was_there(each, ended)])

    def access(self, run: Run) -> SessionAccess:
        """How to open a session; OutsideError when the cluster cannot be read."""
        cluster = self._clusters.get(run.cluster)
        if cluster is None:
            raise ClusterError(f"Cluster {run.cluster} is no longer in quartermaster.yaml.")
        pods = [
            each
            for each in cluster.view.labelled(PODS, labels.RUN, run.id)
            if has_started(each) and not has_ended(each)
        ]
        pod = newest(pods).name if pods else ""
        if spec_of(run).port is None:
            return SessionAccess(pod)
        return SessionAccess(pod, f"{base_path(run)}/?token={_token(cluster, run)}")

    def external_log_tail(
        self, cluster: str, external: ExternalWorkload, request: LogRequest
    ) -> LogTail:
        """The log of an external Job."""
        return self._logs.of_external(cluster, external, request)


def _was_there(node: Node, moment: datetime) -> bool:
    """Whether a node is older: a new machine can have the name of an earlier one."""
    made = node.metadata.creation_timestamp
    return made is not None and made <= moment


def _token(cluster: Cluster, run: Run) -> str:
    """The token of a session, from the Secret created for it."""
    name = service_name(run)
    found = cluster.get(OPEN_SECRETS, name, run.namespace)
    ours = {labels.RUN: run.id, labels.INSTALLATION: cluster.installation}
    token = found.value(TOKEN_KEY) if found and ours.items() <= found.labels.items() else None
    if token is None:
        raise ClusterError(
            f"Secret {name} in namespace {run.namespace} has no token for the session.",
            "Stop the session and start it again.",
        )
    return token
