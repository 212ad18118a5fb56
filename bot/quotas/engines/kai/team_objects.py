"""The Queue of a new team."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from bot.cluster.resources import KAI_QUEUES
from bot.cluster.types.kai import Queue
from bot.errors import ConflictError, NotFoundError
from bot.quotas.engines.engine import Manifest, Queues
from bot.quotas.engines.kai.queues import DEFAULT_POOL, NODE_POOL, node_pool
from bot.quotas.engines.kai.quota_fields import plain_number
from bot.quotas.engines.quota import NOMINAL, QuotaField
from bot.quotas.engines.team_objects import (
    ObjectName,
    QuotaManifests,
    QuotaUnits,
    TeamObject,
    TeamObjects,
    TeamQuota,
    one_of,
)

_ANY = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def settle(asked: TeamQuota, queues: Queues) -> TeamQuota:
    """The request with its node pool and its parent Queue, which is at the top."""
    every = queues.view.all(KAI_QUEUES)
    pools = sorted({node_pool(each) for each in every} | {DEFAULT_POOL})
    pool = one_of(asked.gpu_type or DEFAULT_POOL, pools, "node pool", "--type")
    tops = sorted(
        each.name for each in every if not each.spec.parent_queue and node_pool(each) == pool
    )
    above = one_of(asked.above, tops, "parent Queue", "--cohort")
    found = replace(asked, gpu_type=pool, above=above)
    if not asked.interactive_gpus:
        return found
    of_sessions = one_of(asked.interactive_type or pool, pools, "node pool", "--interactive-type")
    found = replace(found, interactive_type=of_sessions)
    _refuse_mistaken(found)
    _refuse_orphan(_for_sessions(found), every)
    return found


def make(team: TeamQuota, units: QuotaUnits) -> tuple[TeamObject, ...]:
    """A Queue that may use more than its quota while others leave GPUs idle.

    A Queue for sessions may not: what it uses is its quota, so nobody reclaims from it.
    """
    del units
    own = _queue(team, limit=-1)
    if not team.interactive_gpus:
        return (own,)
    return (own, _queue(_for_sessions(team), limit=team.interactive_gpus))


def _for_sessions(team: TeamQuota) -> TeamQuota:
    """The quota of its sessions, below the Queue that their node pool has in place of the team's.

    KAI's scheduler of a node pool sees its Queues alone, and ignores those without a parent there.
    """
    sessions = team.for_sessions
    if sessions.gpu_type == team.gpu_type:
        return sessions
    top = team.above.removesuffix(f"-{team.gpu_type}")
    is_default = sessions.gpu_type == DEFAULT_POOL
    return replace(sessions, above=top if is_default else f"{top}-{sessions.gpu_type}")


def _refuse_mistaken(team: TeamQuota) -> None:
    """A Queue with the name of the team's and of its own node pool is the team's there."""
    queue, pool = team.for_sessions.queue, team.interactive_type
    if queue == f"{team.queue}-{pool}":
        raise ConflictError(
            f"Queue {queue} in node pool {pool} would take {team.queue}'s training, too, as its GPU"
            f" type {pool}.",
            "Leave out `--interactive-type`, or use a node pool of another name.",
        )


def _refuse_orphan(sessions: TeamQuota, every: Sequence[Queue]) -> None:
    pool = sessions.gpu_type
    there = {e.name for e in every if not e.spec.parent_queue and node_pool(e) == pool}
    if sessions.above in there:
        return
    is_default = pool == DEFAULT_POOL
    told = f"without the label {NODE_POOL}" if is_default else f"with the label {NODE_POOL}: {pool}"
    raise NotFoundError(
        f"There is no parent Queue {sessions.above} in node pool {pool}.",
        f"A platform admin can create it, {told}. Or leave out `--interactive-type`.",
    )


def _queue(team: TeamQuota, *, limit: int) -> TeamObject:
    metadata: Manifest = {"name": team.queue}
    if team.gpu_type != DEFAULT_POOL:
        metadata["labels"] = {NODE_POOL: team.gpu_type}
    gpu = {"quota": team.gpus, "limit": limit, "overQuotaWeight": max(1, team.gpus)}
    spec = {
        "parentQueue": team.above,
        "resources": {"cpu": dict(_ANY), "memory": dict(_ANY), "gpu": gpu},
    }
    body = {"metadata": metadata, "spec": spec}
    return TeamObject(KAI_QUEUES, team.queue, None, body)


def find(namespace: str, queue: str, queues: Queues) -> tuple[ObjectName, ...]:
    """The team's Queue in each node pool."""
    del namespace
    found = queues.named(queue)
    return tuple(ObjectName(KAI_QUEUES, each.queue) for each in (found.figures if found else ()))


def set_quota(queue: Manifest, place: QuotaField, value: Decimal) -> None:
    """Sets a quota of a Queue; its limit includes the quota, so what it may borrow stays."""
    gpu = queue["spec"].setdefault("resources", {}).setdefault("gpu", {})
    quota, limit = _number(gpu, "quota"), _number(gpu, "limit")
    if place.field != NOMINAL:
        gpu["limit"] = plain_number(quota + value)
        return
    gpu["quota"] = plain_number(value)
    if limit > 0:
        gpu["limit"] = plain_number(limit + value - quota)


def _number(share: Manifest, name: str) -> Decimal:
    return Decimal(str(share.get(name, 0)))


KAI_TEAMS = TeamObjects(
    settle=settle, make=make, manifests=QuotaManifests(find, set_quota), above="parent Queue",
    kinds=(KAI_QUEUES,),
)  # fmt: skip
