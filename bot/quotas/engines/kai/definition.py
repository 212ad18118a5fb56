"""KAI Scheduler, as the rest of the bot knows it."""

from bot.cluster.cluster import Cluster
from bot.cluster.resources import KAI, KAI_QUEUES, POD_GROUPS, SYSTEM_PRIORITIES
from bot.config import ClusterSettings
from bot.quotas.engines.definition import EngineDefinition, Right
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.kai.doctor_checks import check_teams
from bot.quotas.engines.kai.queues import KaiQueues
from bot.quotas.engines.kai.quota_fields import KaiOverrides
from bot.quotas.engines.kai.runs import KaiRuns
from bot.quotas.engines.kai.team_objects import KAI_TEAMS
from bot.quotas.engines.kai.wording import WORDS


def _connect(cluster: Cluster, resource: str, settings: ClusterSettings) -> Engine:
    del settings
    queues = KaiQueues(cluster.view, resource)
    runs = KaiRuns(cluster, queues)
    return Engine(cluster.name, queues, KaiOverrides(cluster), runs, lambda: cluster.trouble)


KAI_ENGINE = EngineDefinition(
    name="kai",
    terms=WORDS,
    group=KAI,
    watched=(POD_GROUPS, KAI_QUEUES, SYSTEM_PRIORITIES),
    queues=KAI_QUEUES,
    priorities=SYSTEM_PRIORITIES,
    rights=(
        Right("watch", KAI, "podgroups"),
        Right("watch", KAI, "queues"),
        Right("patch", KAI, "queues"),
        Right("watch", "scheduling.k8s.io", "priorityclasses"),
    ),
    connect=_connect,
    check_teams=check_teams,
    teams=KAI_TEAMS,
)
