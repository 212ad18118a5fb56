"""The workload kind `job`: one pod in a batch/v1 Job."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.cluster.resources import JOBS
from bot.cluster.types.objects import Job, Pod
from bot.training.kinds.kind import Dependent, Manifest, NodeCount, PodSet, RootType, Site
from bot.training.kinds.pods.shell import LACKING
from bot.training.kinds.pods.template import MAIN, pod_template, root_metadata
from bot.training.kinds.status import Progress, WorkloadStatus, attempts_of, progress_of
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

ATTEMPTS = 2
# Long enough for a bot that was down over a weekend to see how the run ended.
KEEP_FINISHED_SECONDS = 3 * 86_400
# What a drained node or a preemption ended is no failure of the program.
_DISRUPTED: Manifest = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
FAILURE_POLICY: Manifest = {"rules": [_DISRUPTED]}
# For pods that look first for what their image lacks: another attempt would find the same.
LAUNCH_FAILURE_POLICY: Manifest = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [LACKING]}},
        _DISRUPTED,
    ]
}

_ENDS = {"Failed": Progress.FAILED, "Complete": Progress.SUCCEEDED}
_COMING = {"FailureTarget", "SuccessCriteriaMet"}
# Reasons that say no more than that pods failed.
_BARE = frozenset(
    {"BackoffLimitExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"}
)


def _status(job: Job) -> WorkloadStatus:
    status, spec = job.status, job.spec
    per_index = spec.backoff_limit_per_index
    progress, said = progress_of(status.conditions, _ENDS, _COMING)
    return WorkloadStatus(
        progress,
        reason=said.reason,
        message=said.message,
        is_bare=said.reason in _BARE,
        ended_at=status.completion_time or said.last_transition_time,
        started_at=status.start_time,
        is_suspended=spec.suspend,
        is_running=status.ready > 0,
        failed_pods=status.failed,
        attempts=attempts_of(job, per_index if per_index is not None else spec.backoff_limit),
        time_limit_seconds=spec.active_deadline_seconds,
    )


# Of all kinds that need no operator; Kubernetes takes completions only together with parallelism.
JOB = RootType(
    resource=JOBS,
    status=_status,
    container=MAIN,
    nodes=NodeCount(
        lambda job: job.spec.completions,
        lambda nodes: {"spec": {"completions": nodes, "parallelism": nodes}},
    ),
)


@dataclass(frozen=True)
class JobKind:
    """One pod, tried again when it fails."""

    name: str = "job"
    form: str = ""
    root: RootType = JOB
    options: frozenset[str] = frozenset()

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """Nothing: what holds for every kind is all there is."""

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """One pod."""
        return (PodSet("main", 1, spec.requests),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended."""
        spec = spec_of(run)
        body: Manifest = {
            "suspend": True,
            "backoffLimit": ATTEMPTS,
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": FAILURE_POLICY,
            "template": pod_template(run, installation, spec),
        }
        if spec.time_limit_seconds is not None:
            body["activeDeadlineSeconds"] = spec.time_limit_seconds
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """None."""
        del run
        return ()

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Every pod: there is one at a time."""
        return pods


def indexed_job(spec: RunSpec, template: Manifest) -> Manifest:
    """The spec of a suspended Job with a numbered pod on each node."""
    body: Manifest = {
        "suspend": True,
        "completionMode": "Indexed",
        "completions": spec.nodes,
        "parallelism": spec.nodes,
        "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": LAUNCH_FAILURE_POLICY,
        "template": template,
    }
    if spec.time_limit_seconds is not None:
        body["activeDeadlineSeconds"] = spec.time_limit_seconds
    return body
