"""How Kueue is set up: the fields of its Configuration that change what it decides."""

from dataclasses import dataclass
from datetime import timedelta

FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
USUAL_FRAMEWORKS = frozenset(
    {
        "jobs.batch",
        "mpijobs.kubeflow.org",
        "rayjobs.ray.io",
        "trainjobs.trainer.kubeflow.org",
        "pods",
    }
)


@dataclass(frozen=True)
class FairSharing:
    """`fairSharing`: which shares let one queue push out another's work, tried in this order."""

    preemption_strategies: tuple[str, ...] = (FINAL_SHARE, INITIAL_SHARE)


@dataclass(frozen=True)
class PodsReady:
    """`waitForPodsReady`: how long pods may take, and how long their run then stays away.

    The wait doubles with each eviction; without a limit it never ends in deactivation.
    """

    timeout: timedelta = timedelta(minutes=30)
    backoff_base: timedelta = timedelta(seconds=60)
    backoff_max: timedelta = timedelta(hours=1)
    backoff_limit: int | None = None


@dataclass(frozen=True)
class Configuration:
    """What an administrator set; the defaults are those of Kueue 0.19.

    `granular_reasons` is the gate UnadmittedWorkloadsObservability; `frameworks` are the
    `integrations`: the kinds of jobs that are managed, as jobs.batch. `elastic` is the gate
    ElasticJobsViaWorkloadSlices.
    """

    fair_sharing: FairSharing | None = None
    excluded_prefixes: tuple[str, ...] = ()
    ignores_undeclared: bool = False
    pods_ready: PodsReady = PodsReady()
    granular_reasons: bool = False
    frameworks: frozenset[str] = USUAL_FRAMEWORKS
    elastic: bool = True

    def counts(self, resource: str) -> bool:
        """Whether requests of a resource need quota."""
        return not any(resource.startswith(prefix) for prefix in self.excluded_prefixes)

    def manages(self, kind: str) -> bool:
        """Whether jobs of a kind are suspended until they have quota."""
        return kind in self.frameworks

    def reason(self, granular: str, otherwise: str = "Pending") -> str:
        """The reason of a QuotaReserved condition that is not true."""
        return granular if self.granular_reasons else otherwise
