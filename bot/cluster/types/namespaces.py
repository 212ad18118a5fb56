"""Namespaces, and what stands in them of which the bot only knows that it exists."""

from bot.cluster.types.objects import ClusterObject, ObjectPart


class NamespaceStatus(ObjectPart, frozen=True, kw_only=True):
    """Whether a namespace is Active or Terminating."""

    phase: str = ""


class Namespace(ClusterObject, frozen=True, kw_only=True):
    """A namespace."""

    status: NamespaceStatus = NamespaceStatus()


class RoleBinding(ClusterObject, frozen=True, kw_only=True):
    """That a role is bound in a namespace; to whom is not read."""


class Secret(ClusterObject, frozen=True, kw_only=True):
    """That a Secret exists; what it holds is never read."""


class ServiceAccount(ClusterObject, frozen=True, kw_only=True):
    """That a service account exists."""
