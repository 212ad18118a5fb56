"""Read-only answers about runs that need calls to the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import OPEN_SECRETS, PODS
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
