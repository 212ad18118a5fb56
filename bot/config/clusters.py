"""What quartermaster.yaml says of clusters."""

from typing import Annotated, Literal

from pydantic import Field

from bot.config.gpu_sources import CloudWatchSettings, PrometheusSettings
from bot.config.kinds import GpuPart, HostName, Name, ResourceName
from bot.config.section import Section


class GpuUnits(Section):
    """A resource that counts all GPUs in equal units, as tenths."""

    resource: ResourceName
    """What nodes offer and queues count, instead of quotas.resource."""

    per_gpu: Annotated[int, Field(ge=2, le=100)] = 10
    """How many units a whole GPU is."""


class Hami(Section):
    """HAMi, which divides a GPU by memory and by cores."""

    memory_mib: Annotated[int, Field(ge=1)]
    """The memory of one GPU, in MiB."""


class Fractions(Section):
    """How parts of a GPU are asked for, as `--gpus 0.5`: at most one of these ways."""

    units: GpuUnits | None = None
    """Every GPU is counted in units of one resource."""

    sizes: dict[GpuPart, ResourceName] = Field(default_factory=dict)
    """Parts with a resource of their own, as MIG and time slicing offer them, by their size."""

    hami: Hami | None = None
    """HAMi shares the GPUs."""

    def counted(self, gpu_resource: str) -> str:
        """The resource that nodes offer and queues count for GPUs."""
        return self.units.resource if self.units else gpu_resource

    def per_gpu(self, resource: str) -> int:
        """How much of a resource that counts GPUs is one GPU."""
        return self.units.per_gpu if self.units and self.units.resource == resource else 1


class Ingress(Section):
    """The way from a browser to interactive sessions: an Ingress for each."""

    host: HostName
    """Where the Ingress controller is reached. `*.ml.example.com` gives each session a host of its
    own; below one host a page of any session can read and use all others, of every team."""

    class_name: Name | None = None
    """The IngressClass; without it the cluster's default."""

    tls: bool = True
    """Whether it speaks https; without it the addresses of sessions are readable on their way."""

    tls_secret: Name | None = None
    """The Secret with its certificate, in every team's namespace; else the controller's own."""


AccessMode = Literal["ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]


class ClusterSettings(Section):
    """One Kubernetes cluster; without a kubeconfig KUBECONFIG or the pod's own account is used."""

    kubeconfig: str | None = None
    """The path of a kubeconfig file."""

    context: str | None = None
    """The context in that file; without it the current one."""

    engine: Literal["kueue", "kai", "none"] = "kueue"
    """What admits runs there: Kueue, KAI Scheduler, or nothing: they start as nodes have room."""

    excluded_resources: tuple[str, ...] = ()
    """Beginnings of resources that need no quota: Kueue's excludeResourcePrefixes."""

    fractions: Fractions = Fractions()
    """How parts of a GPU are asked for; without it only whole GPUs are."""

    access_modes: dict[str, AccessMode] = Field(default_factory=dict)
    """By storage class, what its new volumes can be, where its driver does not tell."""

    prometheus: PrometheusSettings | None = None
    """Where it is known what GPUs do; without any nobody knows, and idle sessions are let be."""

    cloudwatch: CloudWatchSettings | None = None
    """Where it is known on AWS without a Prometheus; one of the two."""

    ingress: Ingress | None = None
    """How browsers reach interactive sessions; without it people are given a port-forward line."""

    @property
    def measures_gpus(self) -> bool:
        """Whether anybody is named who knows what its GPUs do."""
        return self.prometheus is not None or self.cloudwatch is not None
