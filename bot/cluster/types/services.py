"""Services, Ingresses and Deployments of runs, reduced to the fields the bot reads."""

from collections.abc import Mapping

from bot.cluster.types.objects import ClusterObject, Condition, ObjectPart


class Service(ClusterObject, frozen=True, kw_only=True):
    """A Service."""


class Ingress(ClusterObject, frozen=True, kw_only=True):
    """An Ingress."""


class TemplateMeta(ObjectPart, frozen=True, kw_only=True):
    """What the pods of a Deployment have."""

    annotations: Mapping[str, str] = {}


class PodTemplate(ObjectPart, frozen=True, kw_only=True):
    """The pod template of a Deployment; changing it restarts all of its pods."""

    metadata: TemplateMeta = TemplateMeta()


class DeploymentSpec(ObjectPart, frozen=True, kw_only=True):
    """The spec of a Deployment: its number of pods and their template."""

    replicas: int = 1
    template: PodTemplate = PodTemplate()


class DeploymentStatus(ObjectPart, frozen=True, kw_only=True):
    """The status of a Deployment, as of `observed_generation`."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class Deployment(ClusterObject, frozen=True, kw_only=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_rolled_out(self) -> bool:
        """Whether all of its pods are new ones and can be used, and no old one is left."""
        wanted, told = self.spec.replicas, self.status
        counts = {told.replicas, told.updated_replicas, told.available_replicas}
        return told.observed_generation >= self.metadata.generation and counts == {wanted}
