"""Checks the source of a cluster's GPU metrics, for the doctor."""

from contextlib import closing
from datetime import UTC, datetime

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import NODES
from bot.config import Settings
from bot.findings import Finding, Findings
from bot.gpus.nodes import Counting
from bot.gpus.sources.choice import Sources


def checks(settings: Settings, name: str, about: str) -> Findings:
    """Whether the source answers, and whether its figures are those of the cluster `name` alone."""
    at = settings.clusters[name]
    source = Sources().open(name, at)
    if source is None:
        says = "no source: Kubernetes shows who holds the GPUs, but their utilization is unknown"
        yield Finding(about, "ok", says)
        return
    now = datetime.now(UTC)
    with closing(source):
        yield Finding(about, "ok", source.check(now))
        cluster = Cluster(name, Connection.to(at.kubeconfig, at.context), "doctor")
        nodes = {each.name for each in cluster.list(NODES)}
        counting = Counting(settings.quotas.resource, at.fractions)
        mixed = source.mixture(nodes, counting.pattern, now)
    if mixed:
        hint = f"Set clusters.{name}.prometheus.matchers, for example {{cluster: {name}}}."
        yield Finding(about, "failed", f"its figures are wrong: {mixed}", hint)
