"""Computes the latest start of a waiting run from the time limits of running workloads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from bot.cluster.resources import JOBS
from bot.cluster.view import View
from bot.quotas import Figures, Queue, Queues
from bot.quotas.engines.admission import Item
from bot.quotas.status import free_to_borrow

ZERO = Decimal(0)


@dataclass(frozen=True)
class Release:
    """GPUs that are released when a workload reaches its time limit."""

    at: datetime
    queue: str
    gpus: Decimal


def room(own: Figures, pool: Sequence[Figures]) -> Decimal | None:
    """The GPUs that a new workload of the queue could get now; None if unknown."""
    borrowable = free_to_borrow(own, pool)
    if own.reserved is None or borrowable is None:
        return None
    return max(ZERO, own.nominal - own.reserved) + borrowable


def capacity(own: Figures, pool: Sequence[Figures]) -> Decimal:
    """The GPUs that the queue could get if no other queue used any."""
    empty = [replace(each, reserved=ZERO) for each in pool]
    return room(replace(own, reserved=ZERO), empty) or ZERO


def figures_for(
    queues: Queues, queue: Queue, gpu_type: str | None
) -> tuple[Figures | None, tuple[Figures, ...]]:
    """The figures of the requested flavor, else of that with the most capacity, and of its pool.

    The pool are all queues that share the flavor; without figures it is empty.
    """
    asked = [each for each in queue.figures if each.flavor == gpu_type]
    known = [(each, queues.pool(each)) for each in asked or queue.figures]
    if not known:
        return None, ()
    return max(known, key=lambda pair: capacity(*pair))


def expected_start(
    wanted: Decimal, own: Figures, pool: Sequence[Figures], releases: Sequence[Release]
) -> datetime | None:
    """When `wanted` GPUs are free if all workloads run to their time limits; None if unknown."""
    for release in sorted(releases, key=lambda each: each.at):
        pool = [_after(each, release) for each in pool]
        own = _after(own, release)
        free = room(own, pool)
        if free is not None and free >= wanted:
            return release.at
    return None


def releases(queues: Queues, own: Figures, pool: Sequence[Figures]) -> Iterator[Release]:
    """The releases in the pool that follow from time limits."""
    for figures in pool:
        for item in queues.admitted(figures.queue):
            gpus = item.held(own.flavor)
            at = _ends_at(queues.view, item)
            if gpus and at is not None:
                yield Release(at, figures.queue, gpus)


def _after(figures: Figures, release: Release) -> Figures:
    if figures.queue != release.queue or figures.reserved is None:
        return figures
    return replace(figures, reserved=max(ZERO, figures.reserved - release.gpus))


def _ends_at(view: View, item: Item) -> datetime | None:
    job = view.get(JOBS, item.name, item.namespace)
    if job is not None and job.uid == item.uid and job.spec.active_deadline_seconds:
        limit = timedelta(seconds=job.spec.active_deadline_seconds)
        return job.status.start_time + limit if job.status.start_time else None
    return item.ends_at
