"""Kueue, as the rest of the bot knows it."""

from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    KUEUE,
    LOCAL_QUEUES,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    VISIBILITY,
    WORKLOADS,
)
from bot.config import ClusterSettings
from bot.quotas.engines.definition import EngineDefinition, Right
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.kueue.doctor_checks import check_teams
from bot.quotas.engines.kueue.queues import KueueQueues
from bot.quotas.engines.kueue.quota_fields import KueueOverrides
from bot.quotas.engines.kueue.runs import KueueRuns
from bot.quotas.engines.kueue.team_objects import KUEUE_TEAMS
from bot.quotas.engines.kueue.wording import WORDS


def _connect(cluster: Cluster, resource: str, settings: ClusterSettings) -> Engine:
    fractions = settings.fractions
    queues = KueueQueues(cluster.view, resource, fractions.per_gpu(resource))
    runs = KueueRuns(cluster, queues, settings.excluded_resources)
    overrides = KueueOverrides(cluster, fractions.per_gpu)
    return Engine(cluster.name, queues, overrides, runs, lambda: cluster.trouble)


KUEUE_ENGINE = EngineDefinition(
    name="kueue",
    terms=WORDS,
    group=KUEUE,
    watched=(
        WORKLOADS,
        CLUSTER_QUEUES,
        LOCAL_QUEUES,
        COHORTS,
        RESOURCE_FLAVORS,
        PRIORITY_CLASSES,
    ),
    queues=CLUSTER_QUEUES,
    priorities=PRIORITY_CLASSES,
    rights=(
        Right("watch", KUEUE, "workloads"),
        Right("watch", KUEUE, "clusterqueues"),
        Right("patch", KUEUE, "clusterqueues"),
        Right("watch", KUEUE, "localqueues"),
        Right("get", KUEUE, "admissionchecks"),
        Right("get", VISIBILITY, "clusterqueues", "pendingworkloads"),
    ),
    connect=_connect,
    check_teams=check_teams,
    teams=KUEUE_TEAMS,
)
