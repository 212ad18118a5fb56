"""Explains why a run waits, and what would unblock it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from bot.quotas import Figures, Queue, Queues
from bot.quotas.engines.admission import AdmissionState, Blocked, Cause
from bot.quotas.engines.engine import EngineTerms
from bot.slack.markup import FormatCommand
from bot.training.expecting import capacity, expected_start, figures_for, releases, room
from bot.training.kinds import gpus_of
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run


@dataclass(frozen=True)
class Why:
    """What a run waits for and what would unblock it, in sentences; empty where unknown.

    `holders` says who else uses GPUs; `starts_by` is when it starts at the latest.
    """

    waits_for: str
    unblock: str = ""
    holders: str = ""
    starts_by: datetime | None = None


@dataclass(frozen=True)
class Asking:
    """What explanations need: the queues, their teams, and the format of commands."""

    queues: Queues
    teams: Mapping[str, str]
    format_command: FormatCommand

    def team(self, queue: str) -> str:
        """The team of a queue, else the queue itself."""
        return self.teams.get(queue, f"{self.queues.words.queue} {queue}")


@dataclass(frozen=True)
class _Situation:
    """A waiting run and the figures of its queue."""

    run: Run
    spec: RunSpec
    said: Blocked
    queue: Queue
    asking: Asking
    own: Figures | None
    pool: tuple[Figures, ...]
    gpus_ahead: int

    @property
    def team(self) -> str:
        return self.run.team

    @property
    def wanted(self) -> Decimal:
        """The GPUs of all its nodes."""
        return gpus_of(self.spec)

    @property
    def is_counted(self) -> bool:
        """Whether the queue counts the GPU resource of the run; fractions may have their own."""
        return self.spec.gpu_resource in self.spec.gpus_requested


def explain(run: Run, admission: AdmissionState | None, asking: Asking, gpus_ahead: int) -> Why:
    """Why the quota engine has not admitted a run; empty if it has.

    `gpus_ahead` are requested by the workloads ahead of it.
    """
    words = asking.queues.words
    if admission is None:
        return Why(f"{words.engine} has not processed it yet.")
    said = admission.blocked
    if said is None:
        return Why("")
    queue = queue_of(asking.queues, run.namespace, run.queue)
    if queue is None:
        return Why(words.lost(run.queue, run.namespace), "A platform admin has to check the queue.")
    spec = spec_of(run)
    own, pool = figures_for(asking.queues, queue, spec.gpu_type)
    situation = _Situation(run, spec, said, queue, asking, own, pool, gpus_ahead)
    if words.unchangeable:
        # What a namespace has counts pods that wait, too, and more of it gives nobody a node.
        return _plainly(situation)
    return _EXPLAIN.get(said.cause, _plainly)(situation)


def explain_external(said: Blocked | None, words: EngineTerms) -> Why:
    """Why an external workload is not admitted, without figures."""
    return Why("") if said is None else _in_words(said, words)


def queue_of(queues: Queues, namespace: str, queue_name: str) -> Queue | None:
    """The queue to which the queue name of a run leads, None if it has not been seen."""
    return queues.behind(namespace, queue_name)


def teams_by_queue(queues: Queues, places: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The team of each queue; `places` are the namespaces and queue names of the teams."""
    found = {}
    for team, (namespace, queue_name) in places.items():
        queue = queue_of(queues, namespace, queue_name)
        if queue is not None:
            found[queue.name] = team
    return found


def _quota(now: _Situation) -> Why:
    """Explains that too little is free at the moment."""
    own, pool = now.own, now.pool
    if own is None or not now.is_counted:
        return _plainly(now)
    most = capacity(own, pool)
    if now.wanted > most:
        return _too_big(now)
    free = room(own, pool)
    if free is None or free >= now.wanted:
        return _plainly(now)
    more = _request(now, now.wanted - free)
    starts_by = expected_start(
        now.wanted + now.gpus_ahead, own, pool, list(releases(now.asking.queues, own, pool))
    )
    return Why(
        f"It is waiting for {_gpus(now.wanted)} of {own.flavor}; {_number(free)} can be used now:"
        f" {now.team} uses {_number(own.reserved)} of its nominal quota of"
        f" {_number(own.nominal)}, and {_number(_borrowable(own, free))} can be borrowed.",
        f"It starts when other runs end, or sooner with more quota: {more}",
        _holders(now),
        starts_by,
    )


def _too_big(now: _Situation) -> Why:
    """Explains that it would not fit even if nothing else ran."""
    if now.own is None or not now.is_counted:
        return _plainly(now)
    most = capacity(now.own, now.pool)
    short = now.wanted - most
    if short <= 0:
        return _plainly(now)
    borrowable = most - now.own.nominal
    return Why(
        f"It is waiting for {_gpus(now.wanted)} of {now.own.flavor}, more than {now.team} can ever"
        f" have: a nominal quota of {_number(now.own.nominal)}, and at most"
        f" {_number(max(Decimal(0), borrowable))} borrowed.",
        f"It can start only with more quota: {_request(now, short)}{_less(now, most)}",
        _holders(now),
    )


def _less(now: _Situation, most: Decimal) -> str:
    """What else it could be submitted with; empty if the queue can have no GPU at all."""
    if not most:
        return ""
    if now.wanted == now.spec.gpus:
        return f" Or submit it with `--gpus {_number(most)}` or fewer."
    return f" Or submit it with fewer nodes, or fewer GPUs per node: {_number(most)} in total."


def _uncovered(now: _Situation) -> Why:
    covered, words = now.queue.covered, now.asking.queues.words
    missing = [name for name in now.spec.requests if covered and name not in covered]
    named = " and ".join(missing) if missing else "a resource it requests"
    return Why(
        f"{words.queue} {now.queue.name} does not cover {named}, so {words.engine} never admits"
        " it.",
        "A platform admin has to add it to the queue's coveredResources.",
    )


def _plainly(now: _Situation) -> Why:
    return _in_words(now.said, now.asking.queues.words)


def _in_words(said: Blocked, words: EngineTerms) -> Why:
    """The explanation without figures, with the message of the engine."""
    sentence, unblock = words.causes.get(said.cause, words.causes[Cause.NOT_LOOKED_AT])
    quoted = said.said[:300].rstrip(".")
    return Why(f"{sentence} {words.engine} says: {quoted}." if quoted else sentence, unblock)


_EXPLAIN: Mapping[Cause, Callable[[_Situation], Why]] = {
    Cause.QUOTA: _quota,
    # Kueue passes over what equals a workload that it found no room for, and says nothing of it.
    Cause.NOT_LOOKED_AT: _quota,
    Cause.TOO_BIG: _too_big,
    Cause.UNCOVERED: _uncovered,
}


def _borrowable(own: Figures, free: Decimal) -> Decimal:
    return free - max(Decimal(0), own.nominal - (own.reserved or Decimal(0)))


def _request(now: _Situation, short: Decimal) -> str:
    command = f'quota request +{_number(short)} --for 1d --reason "..."'
    return f"`{now.asking.format_command(command)}`."


def _holders(now: _Situation) -> str:
    """The use of the GPUs that the queue could borrow, by team."""
    others = [each for each in now.pool if each.queue != now.queue.name and each.reserved]
    said = ", ".join(_use(now, each) for each in others)
    return f"Other teams: {said}." if said else ""


def _use(now: _Situation, other: Figures) -> str:
    used, nominal = _number(other.reserved), _number(other.nominal)
    borrowed = f" and has borrowed {_number(other.borrowed)}" if other.borrowed else ""
    return f"{now.asking.team(other.queue)} uses {used} of its {nominal}{borrowed}"


def _gpus(amount: Decimal) -> str:
    return f"{_number(amount)} {'GPU' if amount == 1 else 'GPUs'}"


def _number(amount: Decimal | None) -> str:
    return "unknown" if amount is None else f"{amount.normalize():f}"
