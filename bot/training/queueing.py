"""How runs are presented to quota engines."""

from bot.config import Team
from bot.quotas.engines.engine import Demand, QueueingSpec
from bot.training.kinds import gpus_of, kind_of, requests_of
from bot.training.kinds.deployment import is_group
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run


def queueing_of(run: Run) -> QueueingSpec:
    """The queue, priority and placement with which a run is queued."""
    spec = spec_of(run)
    sets = kind_of(spec).pods(spec)
    pods = sum(each.count for each in sets)
    least = sum(each.count if each.least is None else each.least for each in sets)
    is_elastic = any(each.least is not None for each in sets)
    return QueueingSpec(
        queue=run.queue,
        priority=spec.priority,
        gpus=spec.gpus,
        pods=pods,
        least=least if is_elastic else None,
        group=run.job_name if is_group(spec) else "",
    )


def queue_for(spec: RunSpec, team: Team) -> str:
    """The queue of a run: that of its team, unless its GPU type has its own."""
    return (spec.placement.queue if spec.placement else "") or team_for(spec, team).queue


def team_for(spec: RunSpec, team: Team) -> Team:
    """The team with the queue for what a run is; its GPU type can still have another."""
    return team if spec.session_seconds is None else team.for_sessions


def demand_of(spec: RunSpec, namespace: str, queue: str) -> Demand:
    """The demand of a run on its queue."""
    return Demand(
        namespace=namespace,
        queue=queue,
        resources=tuple(requests_of(spec)),
        needed=(*spec.gpus_requested, *spec.fabric_requested),
        gpus=gpus_of(spec),
        priority=spec.priority,
    )
