"""The doctor's check that a cluster has its quota engine."""

from bot.cluster.cluster import Cluster
from bot.findings import Finding
from bot.quotas.engines.definition import EngineDefinition
from bot.quotas.engines.registry import ENGINES


def engine_finding(engine: EngineDefinition, cluster: Cluster, about: str) -> Finding:
    """Checks that the configured engine is installed, and none if none is configured."""
    if not engine.group:
        return _no_engine(cluster, about)
    name = engine.terms.engine
    served = cluster.served(engine.group)
    if served:
        return Finding(f"{about} {name}", "ok", f"serves {', '.join(served)}")
    other = _installed(cluster)
    remedy = f"Install {name}, see docs."
    if other is not None:
        remedy = f"Set clusters.{cluster.name}.engine: {other.name}, which is installed."
    says = "is not served, so runs would never start"
    return Finding(f"{about} {name}", "failed", says, remedy)


def _no_engine(cluster: Cluster, about: str) -> Finding:
    """Warns if an engine is installed although the configuration names none."""
    other = _installed(cluster)
    if other is None:
        says = "no engine: runs start when nodes have free capacity"
        return Finding(f"{about} quotas", "ok", says)
    says = f"{other.terms.engine} is installed, but runs bypass it"
    remedy = f"Set clusters.{cluster.name}.engine: {other.name}, unless this is intended."
    return Finding(f"{about} quotas", "warning", says, remedy)


def _installed(cluster: Cluster) -> EngineDefinition | None:
    known = (each for each in ENGINES.values() if each.group)
    return next((each for each in known if cluster.served(each.group)), None)
