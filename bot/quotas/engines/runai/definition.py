"""Run:ai, as the rest of the bot knows it."""

from bot.cluster.api.following import Sources
from bot.cluster.cluster import Cluster
from bot.cluster.resources import SYSTEM_PRIORITIES
from bot.config import ClusterSettings, RunaiSettings
from bot.errors import ConfigurationError
from bot.quotas.engines.definition import EngineDefinition, Right
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.runai import objects
from bot.quotas.engines.runai.api import RunaiApi
from bot.quotas.engines.runai.doctor_checks import check_service
from bot.quotas.engines.runai.objects import GROUP, NODE_POOLS, PROJECTS, RUNAI_WORKLOADS
from bot.quotas.engines.runai.project_store import ProjectStore
from bot.quotas.engines.runai.queues import RunaiQueues
from bot.quotas.engines.runai.quota_fields import RunaiOverrides
from bot.quotas.engines.runai.runs import RunaiRuns
from bot.quotas.engines.runai.team_objects import RUNAI_TEAMS
from bot.quotas.engines.runai.wording import WORDS


def _connect(cluster: Cluster, resource: str, settings: ClusterSettings) -> Engine:
    queues = RunaiQueues(cluster, resource)
    api = RunaiApi(cluster.name, _access(cluster.name, settings))

    def refresh() -> None:
        cluster.refresh(PROJECTS)

    overrides, store = RunaiOverrides(api, refresh), ProjectStore(api, refresh)
    runs = RunaiRuns(queues)
    return Engine(cluster.name, queues, overrides, runs, lambda: cluster.trouble, store)


def _sources(cluster: str, settings: ClusterSettings) -> Sources:
    api = RunaiApi(cluster, _access(cluster, settings))
    return {
        PROJECTS: lambda: objects.projects(api.projects()),
        NODE_POOLS: lambda: objects.node_pools(api.node_pools()),
        RUNAI_WORKLOADS: lambda: objects.workloads(api.workloads()),
    }


def _access(cluster: str, settings: ClusterSettings) -> RunaiSettings:
    if settings.runai is None:
        raise ConfigurationError(f"clusters.{cluster} has no section runai.")
    return settings.runai


RUNAI_ENGINE = EngineDefinition(
    name="runai",
    terms=WORDS,
    group=GROUP,
    watched=(SYSTEM_PRIORITIES,),
    queues=PROJECTS,
    priorities=SYSTEM_PRIORITIES,
    rights=(Right("watch", "scheduling.k8s.io", "priorityclasses"),),
    connect=_connect,
    teams=RUNAI_TEAMS,
    polled=(PROJECTS, NODE_POOLS, RUNAI_WORKLOADS),
    sources=_sources,
    check_service=check_service,
)
