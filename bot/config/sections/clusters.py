"""Settings of clusters."""

from typing import Annotated, Literal

from pydantic import Field

from bot.config.kinds import GpuPart, HostName, Name, ResourceName
from bot.config.sections.gpu_sources import CloudWatchSettings, PrometheusSettings
from bot.config.sections.runai import RunaiSettings
from bot.config.sections.section import Section


class GpuUnits(Section):
    """A resource that counts every GPU in equal units, such as tenths."""

    resource: ResourceName
    """The resource that nodes offer and queues count, instead of `quotas.resource`."""

    per_gpu: Annotated[int, Field(ge=2, le=100)] = 10
    """The number of units in a whole GPU."""


class Hami(Section):
    """HAMi, which splits a GPU by memory and by cores."""

    memory_mib: Annotated[int, Field(ge=1)]
    """The memory of one GPU, in MiB."""


class Fractions(Section):
    """How fractions of a GPU are requested, as in `--gpus 0.5`. Set at most one of these."""

    units: GpuUnits | None = None
    """Every GPU is counted in units of one resource."""

    sizes: dict[GpuPart, ResourceName] = Field(default_factory=dict)
    """Fractions with their own resource, as in MIG and time slicing, by size."""

    hami: Hami | None = None
    """HAMi shares the GPUs."""

    def counted(self, gpu_resource: str) -> str:
        """The resource that nodes offer and queues count for GPUs."""
        return self.units.resource if self.units else gpu_resource

    def per_gpu(self, resource: str) -> int:
        """The units of a GPU resource in one GPU."""
        return self.units.per_gpu if self.units and self.units.resource == resource else 1


class Ingress(Section):
    """How browsers reach interactive sessions: one Ingress for each session."""

    host: HostName
    """The host of the Ingress controller. `*.ml.example.com` gives each session its own host; on
    one host, a page in any session can read and use all other sessions, of every team."""

    class_name: Name | None = None
    """The IngressClass; without it, the cluster's default."""

    tls: bool = True
    """Whether it uses HTTPS; without it, session addresses can be read in transit."""

    tls_secret: Name | None = None
    """The Secret with the certificate, in every team's namespace; without it, the controller's own
    certificate is used."""


AccessMode = Literal["ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]


class ClusterSettings(Section):
    """A Kubernetes cluster; `kubeconfig` defaults to KUBECONFIG or the pod's service account."""

    kubeconfig: str | None = None
    """The path of a kubeconfig file. Those of AKS and EKS need no further program."""

    context: str | None = None
    """The context in that file; without it, the current context."""

    engine: Literal["kueue", "kai", "runai", "none"] = "kueue"
    """What admits runs: Kueue, KAI Scheduler, Run:ai, or nothing (runs start when nodes have
    capacity)."""

    runai: RunaiSettings | None = None
    """The Run:ai control plane; required with `engine: runai`."""

    excluded_resources: tuple[str, ...] = ()
    """Resource-name prefixes exempt from quota: Kueue's `excludeResourcePrefixes`."""

    fractions: Fractions = Fractions()
    """How fractions of a GPU are requested; without it, only whole GPUs."""

    access_modes: dict[str, AccessMode] = Field(default_factory=dict)
    """The access mode of new volumes, by storage class, if its driver does not report it."""

    prometheus: PrometheusSettings | None = None
    """Source of GPU metrics. Without one, utilization is unknown and idle sessions are not
    stopped."""

    cloudwatch: CloudWatchSettings | None = None
    """Source of GPU metrics on AWS without a Prometheus. Set only one of the two."""

    ingress: Ingress | None = None
    """How browsers reach interactive sessions; without it, people get a port-forward command."""

    @property
    def measures_gpus(self) -> bool:
        """Whether the cluster has a source of GPU metrics."""
        return self.prometheus is not None or self.cloudwatch is not None
