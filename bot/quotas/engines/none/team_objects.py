"""The ResourceQuota of a new team, where no engine admits runs."""

from dataclasses import replace

from bot.cluster.resources import ALLOWANCES
from bot.errors import UsageError
from bot.quotas.engines.engine import Queues
from bot.quotas.engines.none.queues import ANY
from bot.quotas.engines.team_objects import QuotaUnits, TeamObject, TeamObjects, TeamQuota


def settle(asked: TeamQuota, queues: Queues) -> TeamQuota:
    """The request; namespaces have neither GPU types nor a queue above."""
    del queues
    said = "--type" if asked.gpu_type not in {"", ANY} else "--cohort" if asked.above else ""
    if said:
        raise UsageError(
            f"`{said}` has no meaning in a cluster without a quota engine.",
            "Leave it out: a ResourceQuota limits the GPUs of the namespace, of any type.",
        )
    return replace(asked, gpu_type=ANY)


def make(team: TeamQuota, units: QuotaUnits) -> tuple[TeamObject, ...]:
    """A ResourceQuota that limits the GPUs of the namespace."""
    hard = {f"requests.{units.resource}": str(team.gpus * units.per_gpu)}
    body = {"metadata": {"name": team.queue}, "spec": {"hard": hard}}
    return (TeamObject(ALLOWANCES, team.queue, team.namespace, body),)


NO_ENGINE_TEAMS = TeamObjects(settle, make, above="queue above", kinds=(ALLOWANCES,))
