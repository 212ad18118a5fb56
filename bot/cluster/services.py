"""How pods are reached: Services and Ingresses, of which the bot only knows that they exist."""

from bot.cluster.objects import ClusterObject


class Service(ClusterObject, frozen=True, kw_only=True):
    """A Service."""


class Ingress(ClusterObject, frozen=True, kw_only=True):
    """An Ingress."""
