"""The doctor's checks of Run:ai's control plane and of the teams' projects."""

from collections.abc import Mapping
from contextlib import closing

from bot.cluster.cluster import Cluster
from bot.config import ClusterSettings, Team
from bot.errors import ClusterError
from bot.findings import Finding, Findings
from bot.quotas.engines.engine import ZERO
from bot.quotas.engines.runai.api import RunaiApi
from bot.quotas.engines.runai.objects import READY, ProjectRecord
from bot.quotas.engines.runai.queues import quota_of


def check_service(
    teams: Mapping[str, Team], cluster: Cluster, settings: ClusterSettings, about: str
) -> Findings:
    """Whether the login works, the cluster is known, and each team's project is usable."""
    if settings.runai is None:
        return
    with closing(RunaiApi(cluster.name, settings.runai)) as api:
        yield _cluster(api, f"{about} control plane")
        projects = {each.name: each for each in api.projects()}
        api.node_pools()
        api.workloads()
    for name, team in teams.items():
        yield _project(projects.get(team.queue), name, team, f"{about} {name}")


def _cluster(api: RunaiApi, about: str) -> Finding:
    try:
        found = api.cluster()
    except ClusterError as error:
        if error.reason != "NotFound":
            raise
        says = "the login works, but Run:ai has no cluster with runai.cluster_id"
        remedy = "Copy the cluster's UUID from Clusters in Run:ai."
        return Finding(about, "failed", says, remedy)
    version = f" {found.version}" if found.version else ""
    return Finding(about, "ok", f"the login works; the cluster is {found.name}{version} in Run:ai")


def _project(project: ProjectRecord | None, name: str, team: Team, about: str) -> Finding:
    which = f"project {team.queue}"
    if project is None:
        remedy = f"Create it in Run:ai, or set teams.{name}.queue."
        return Finding(about, "failed", f"{which} is missing in Run:ai", remedy)
    status = project.status
    namespace = (status.namespace if status else None) or ""
    phase = (status.phase if status else None) or "in no known phase"
    if namespace != team.namespace:
        says = f"{which} has namespace {namespace or 'none'}, not {team.namespace}"
        remedy = f"Set teams.{name}.namespace: {namespace or '...'}"
        return Finding(about, "failed", says, remedy)
    if phase != READY:
        return Finding(about, "warning", f"{which} is {phase}", "See Projects in Run:ai.")
    shares = [each.gpu for each in project.resources or () if each.gpu]
    quota = sum((quota_of(each) for each in shares), ZERO)
    if not quota:
        says = f"{which} has no GPU quota, so all its GPUs can be reclaimed"
        return Finding(
            about, "warning", says, "Give it a quota in Run:ai, unless this is intended."
        )
    return Finding(about, "ok", f"{which} has a quota of {quota.normalize():f} GPUs")
