"""What stands beside runs, and of which the bot only knows that it exists."""

from bot.cluster.objects import ClusterObject


class Service(ClusterObject, frozen=True, kw_only=True):
    """A Service."""


class Ingress(ClusterObject, frozen=True, kw_only=True):
    """An Ingress."""


class Deployment(ClusterObject, frozen=True, kw_only=True):
    """A Deployment."""
