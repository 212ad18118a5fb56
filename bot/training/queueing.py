"""What quota engines are told of runs."""

from bot.config import Team
from bot.quotas.engine import Demand, Dress
from bot.training.kinds import gpus_of, kind_of, requests_of
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run


def dress_of(run: Run) -> Dress:
    """As what a run queues."""
    spec = spec_of(run)
    sets = kind_of(spec).pods(spec)
    pods = sum(each.count for each in sets)
    least = sum(each.count if each.least is None else each.least for each in sets)
    is_elastic = any(each.least is not None for each in sets)
    return Dress(run.queue, spec.priority, spec.gpus, pods, least if is_elastic else None)


def queue_for(spec: RunSpec, team: Team) -> str:
    """The queue that a run names: its team's, unless its GPU type has one of its own."""
    return (spec.placement.queue if spec.placement else "") or team.queue


def demand_of(spec: RunSpec, namespace: str, queue: str) -> Demand:
    """What a run would ask of its queue."""
    return Demand(
        namespace=namespace,
        queue=queue,
        resources=tuple(requests_of(spec)),
        needed=(*spec.gpus_requested, *spec.fabric_requested),
        gpus=gpus_of(spec),
        priority=spec.priority,
    )
