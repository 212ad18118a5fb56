"""A cluster without a quota engine, as the rest of the bot knows it."""

from bot.cluster.cluster import Cluster
from bot.cluster.resources import SYSTEM_PRIORITIES
from bot.config import ClusterSettings
from bot.quotas.engines.definition import EngineDefinition, Right
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.none.queues import PlainOverrides, PlainQueues
from bot.quotas.engines.none.runs import PlainRuns
from bot.quotas.engines.none.team_objects import NO_ENGINE_TEAMS
from bot.quotas.engines.none.wording import WORDS


def _connect(cluster: Cluster, resource: str, settings: ClusterSettings) -> Engine:
    del settings
    queues = PlainQueues(cluster.view, resource)
    runs = PlainRuns(cluster.view, queues)
    return Engine(cluster.name, queues, PlainOverrides(), runs, lambda: cluster.trouble)


NO_ENGINE = EngineDefinition(
    name="none",
    terms=WORDS,
    group="",
    watched=(SYSTEM_PRIORITIES,),
    queues=None,
    priorities=SYSTEM_PRIORITIES,
    rights=(Right("watch", "scheduling.k8s.io", "priorityclasses"),),
    connect=_connect,
    teams=NO_ENGINE_TEAMS,
)
