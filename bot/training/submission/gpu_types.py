"""GPU types: which ones the queue of a team has, and how a run is placed on one."""

from decimal import Decimal

import msgspec

from bot.cluster.resources import NODES
from bot.cluster.types.objects import Node
from bot.cluster.view import View
from bot.config import Team
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.quotas import Engine, Figures, Queue, Queues
from bot.training.expecting import capacity, room
from bot.training.kinds.kind import Site
from bot.training.spec import RunSpec
from bot.training.wording import gpus as gpus_words

# What takes the place of a team's usual type.
ANY = "any"


def chosen_type(
    named: str | None, gpus: Decimal | int | None, team: Team, engine: Engine | None
) -> str | None:
    """The GPU type of a run: the given one (`any` is None), else the team's default.

    The default applies only to runs with GPUs, and only if the team's queue has it.
    """
    if named is not None:
        return None if named == ANY else named
    usual = team.defaults.gpu_type
    if usual is None or engine is None or not gpus:
        return None
    queue = engine.queues.behind(team.namespace, team.queue)
    return usual if queue and queue.of(usual) else None


def nodes_of(gpu_type: str | None, team: Team, engine: Engine | None) -> tuple[Node, ...] | None:
    """The nodes with GPUs of a type, all if the queue has no such type; None while unread."""
    if engine is None or not engine.queues.view.store(NODES).synced:
        return None
    nodes = tuple(engine.queues.view.all(NODES))
    queue = engine.queues.behind(team.namespace, team.queue)
    if gpu_type is None or queue is None or queue.of(gpu_type) is None:
        return nodes
    wanted = engine.runs.placement(queue, gpu_type).node_labels.items()
    return tuple(node for node in nodes if wanted <= node.labels.items())


def placed(spec: RunSpec, site: Site, engine: Engine) -> RunSpec:
    """The spec with the placement that gets it GPUs of the requested type.

    Raises:
        UsageError: it has no GPUs.
        NotFoundError: the team's queue has no such type.
        ConflictError: the queue has no quota of it and cannot borrow any, or was not read yet.
    """
    name = spec.gpu_type
    if name is None:
        return msgspec.structs.replace(spec, placement=None)
    if not spec.gpus:
        raise UsageError(
            f"`--gpu-type {name}` is for runs with GPUs, and this one has none.",
            f"Request some, for example `--gpus 1 --gpu-type {name}`, or leave it out.",
        )
    queue = engine.queues.behind(site.team.namespace, site.team.queue)
    if queue is None:
        raise ConflictError(
            f"The team's {engine.words.queue} has not been seen in cluster {engine.cluster}, so its"
            " GPU types are unknown.",
            "Try again in a moment, or leave `--gpu-type` out.",
        )
    _refuse_unavailable(name, queue, engine)
    return msgspec.structs.replace(spec, placement=engine.runs.placement(queue, name))


def nodes_for(spec: RunSpec, view: View) -> tuple[Node, ...]:
    """The nodes on which the pods of a run may run, judged by its GPU type and node labels."""
    of_type = spec.placement.node_labels if spec.placement else {}
    wanted = {**spec.node_selector, **of_type}.items()
    return tuple(node for node in view.all(NODES) if wanted <= node.labels.items())


def nodes_open_to(spec: RunSpec, site: Site, engine: Engine) -> tuple[Node, ...]:
    """Those of them on which the team's queue has GPUs; all if that is unknown."""
    nodes = nodes_for(spec, site.view)
    queue = engine.queues.behind(site.team.namespace, site.team.queue)
    if queue is None or spec.gpu_type is not None or not spec.gpus:
        return nodes
    given = [each for each in queue.figures if capacity(each, engine.queues.pool(each))]
    try:
        wanted = [engine.runs.placement(queue, each.flavor).node_labels.items() for each in given]
    except ConflictError:
        return nodes
    open_ = tuple(node for node in nodes if any(each <= node.labels.items() for each in wanted))
    return open_ if wanted else nodes


def _refuse_unavailable(name: str, queue: Queue, engine: Engine) -> None:
    figures, whose = queue.of(name), f"{engine.words.queue} {queue.name}"
    if figures is None:
        raise NotFoundError(
            f"{whose} has no GPU type {name}.",
            _there(queue, engine.queues),
        )
    if not capacity(figures, engine.queues.pool(figures)):
        raise ConflictError(
            f"{whose} has no quota of {name} and cannot borrow any.",
            _there(queue, engine.queues, but=name),
        )


def _there(queue: Queue, queues: Queues, but: str = "") -> str:
    """The GPU types of the queue, with the number of GPUs of each that it could get now."""
    known = [f"{each.flavor} ({_free(each, queues)})" for each in queue.figures]
    others = [said for said, each in zip(known, queue.figures, strict=True) if each.flavor != but]
    if not others:
        return "It has no other type. Ask a platform admin." if but else "It has none."
    example = next(each.flavor for each in queue.figures if each.flavor != but)
    return f"It has: {', '.join(others)}. Use one of them, for example `--gpu-type {example}`."


def _free(figures: Figures, queues: Queues) -> str:
    free = room(figures, queues.pool(figures))
    return "free GPUs unknown" if free is None else f"{gpus_words(free)} free"
