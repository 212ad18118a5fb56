"""The ResourceQuota of a new team, where no engine admits runs."""

from dataclasses import replace
from decimal import Decimal

from bot.cluster.resources import ALLOWANCES
from bot.cluster.types.quantities import format_quantity
from bot.errors import UsageError
from bot.quotas.engines.engine import Manifest, Queues
from bot.quotas.engines.none.queues import ANY
from bot.quotas.engines.quota import QuotaField
from bot.quotas.engines.team_objects import (
    ObjectName,
    QuotaManifests,
    QuotaUnits,
    TeamObject,
    TeamObjects,
    TeamQuota,
)


def settle(asked: TeamQuota, queues: Queues) -> TeamQuota:
    """The request; namespaces have neither GPU types nor a queue above."""
    del queues
    said = "--type" if asked.gpu_type not in {"", ANY} else "--cohort" if asked.above else ""
    said = "--interactive-gpus" if asked.interactive_gpus else said
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


def find(namespace: str, queue: str, queues: Queues) -> tuple[ObjectName, ...]:
    """The ResourceQuotas of the namespace that count GPUs, the lowest first."""
    del queue
    key = f"requests.{queues.resource}"
    found = [each for each in queues.view.all(ALLOWANCES, namespace) if key in each.status.hard]
    found.sort(key=lambda each: each.status.hard[key])
    return tuple(ObjectName(ALLOWANCES, each.name, namespace) for each in found)


def set_quota(limit: Manifest, place: QuotaField, value: Decimal) -> None:
    """Sets the limit of GPUs in a ResourceQuota."""
    limit["spec"]["hard"][f"requests.{place.resource}"] = format_quantity(value)


NO_ENGINE_TEAMS = TeamObjects(
    settle=settle, make=make, manifests=QuotaManifests(find, set_quota), above="queue above",
    kinds=(ALLOWANCES,),
)  # fmt: skip
