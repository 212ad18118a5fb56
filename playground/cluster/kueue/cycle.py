"""Scheduling cycles: the first of every line is tried, until nobody can be admitted any more."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Protocol

from playground.cluster.kueue.classical import choose_targets
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.fair import fair_victims
from playground.cluster.kueue.flavors import Assigner, Attempt, Mode
from playground.cluster.kueue.preemption import Target
from playground.cluster.kueue.quota import Ledger, Queue
from playground.cluster.kueue.slices import freed_by
from playground.cluster.kueue.turns import Entry, classical_turn, fair_turn
from playground.cluster.kueue.workloads import Usage, held, shape
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.store import Store

Lines = dict[str, list[Object]]
_ZERO = Decimal(0)
_NO_LONGER_FITS = "Workload no longer fits after processing another workload"
_OVERLAP = "Workload has overlapping preemption targets with another workload"


class Outcome(Protocol):
    """What becomes of Workloads, as a cycle decides it."""

    def admit(self, queue: Queue, workload: Object, attempt: Attempt) -> Object:
        """Gives a Workload its quota, and returns it as it is then."""
        ...

    def preempt(self, queue: Queue, workload: Object, target: Target) -> Object:
        """Pushes one out for a Workload, and returns that one as it is then."""
        ...

    def refuse(self, workload: Object, reason: str, message: str) -> None:
        """Says why a Workload waits."""
        ...


@dataclass
class _Line:
    """Those who wait for one queue; whoever was tried in vain is not tried again."""

    queue: Queue
    waiting: list[Object]
    preempting: Object | None = None

    @property
    def first(self) -> Object | None:
        """Whose turn it is; who waits for a preemption stays the first."""
        return self.preempting or next(iter(self.waiting), None)

    def leave(self, workload: Object) -> None:
        """Takes one out of the line."""
        self.waiting.remove(workload)
        self.preempting = None

    def give_up(self, entry: Entry) -> None:
        """Passes over one that cannot be admitted now, and all that are like it."""
        self.preempting = None
        if self.queue.strict:
            self.waiting.clear()
            return
        like = shape(entry.workload)
        self.waiting = [other for other in self.waiting if shape(other) != like]


class Cycles:
    """Runs cycle after cycle on one ledger."""

    def __init__(
        self, store: Store, configuration: Configuration, ledger: Ledger, outcome: Outcome
    ) -> None:
        rule = configuration.fair_sharing
        self._victims = fair_victims(rule) if rule else choose_targets
        self._turn: Callable[[list[Entry]], Entry] = fair_turn if rule else classical_turn
        self._assigner = Assigner(store, configuration, self._victims)
        self._ledger = ledger
        self._outcome = outcome

    def run(self, lines: Lines) -> None:
        """Serves the lines until nothing changes by serving them once more."""
        waiting = [_Line(self._ledger.queues[name], line) for name, line in lines.items()]
        while self._cycle(waiting):
            pass

    def _cycle(self, lines: list[_Line]) -> bool:
        """Tries the first of every line; whether that changed anything."""
        entries: dict[str, tuple[_Line, Entry]] = {}
        for line in lines:
            if line.first is not None:
                entries[line.queue.name] = (line, self._nominate(line.queue, line.first))
        preempted: list[Target] = []
        changed = False
        with ExitStack() as reserved:
            reserve = partial(_reserve, reserved)
            while entries:
                entry = self._turn([entry for _, entry in entries.values()])
                line, _ = entries.pop(entry.queue.name)
                changed = self._process(line, entry, preempted, reserve) or changed
        return changed

    def _nominate(self, queue: Queue, workload: Object) -> Entry:
        with queue.lacking(freed_by(queue.workloads, workload)):
            attempt = self._assigner.assign(queue, workload)
            entry = Entry(queue, workload, attempt)
            if Mode.NO_FIT < attempt.mode < Mode.FIT:
                entry.targets = self._victims(attempt.need(queue, workload))
        return entry

    def _process(
        self,
        line: _Line,
        entry: Entry,
        preempted: list[Target],
        reserve: Callable[[Queue, Usage], None],
    ) -> bool:
        attempt = entry.attempt
        if attempt.mode is Mode.NO_FIT:
            return self._give_up(line, entry, attempt.reason)
        if attempt.mode is not Mode.FIT and not entry.targets:
            if entry.queue.policies.get("reclaimWithinCohort") != "Any":
                reserve(entry.queue, _reservable(entry))
            return self._give_up(line, entry, "WaitingForQuota")
        taken = [target.workload["metadata"]["uid"] for target in preempted]
        if any(target.workload["metadata"]["uid"] in taken for target in entry.targets):
            return self._skip(entry, _OVERLAP)
        freed = freed_by(entry.queue.workloads, entry.workload)
        with ExitStack() as gone:
            gone.enter_context(entry.queue.lacking(freed))
            for target in (*preempted, *entry.targets):
                gone.enter_context(target.queue.lacking(held(target.workload)))
            fits = entry.queue.fits(attempt.usage)
        if not fits:
            return self._skip(entry, _NO_LONGER_FITS)
        if attempt.mode is Mode.FIT:
            kept = self._outcome.admit(entry.queue, entry.workload, attempt)
            entry.queue.workloads.append(kept)
            entry.queue.add(attempt.usage)
            entry.queue.remove(freed)
            line.leave(entry.workload)
            return True
        preempted += entry.targets
        reserve(entry.queue, attempt.usage)
        return self._preempt(line, entry)

    def _preempt(self, line: _Line, entry: Entry) -> bool:
        is_new = line.preempting is not entry.workload
        line.preempting = entry.workload
        for target in entry.targets:
            leaving = self._outcome.preempt(entry.queue, entry.workload, target)
            target.queue.workloads.remove(target.workload)
            target.queue.workloads.append(leaving)
        pending = f". Pending the preemption of {len(entry.targets)} workload(s)"
        self._outcome.refuse(
            entry.workload, "WaitingForPreemptedWorkloads", entry.attempt.message + pending
        )
        return is_new

    def _give_up(self, line: _Line, entry: Entry, reason: str) -> bool:
        self._outcome.refuse(entry.workload, reason, entry.attempt.message)
        line.give_up(entry)
        return True

    def _skip(self, entry: Entry, message: str) -> bool:
        """It is tried again in the next cycle, which another change must bring."""
        self._outcome.refuse(entry.workload, "WaitingForQuota", message)
        return False


def _reserve(stack: ExitStack, queue: Queue, usage: Usage) -> None:
    """Keeps quota from the others until the end of the cycle."""
    stack.enter_context(queue.holding(usage))


def _reservable(entry: Entry) -> Usage:
    """What a queue that cannot reclaim everything keeps for its first Workload."""
    queue, found = entry.queue, Usage()
    for cell, amount in entry.attempt.usage.items():
        limits = queue.limits.get(cell)
        room = (limits.nominal if limits else _ZERO) - queue.used[cell]
        if entry.attempt.borrowing and limits and limits.borrowing is None:
            found[cell] = amount
        elif entry.attempt.borrowing and limits and limits.borrowing is not None:
            found[cell] = min(amount, room + limits.borrowing)
        else:
            found[cell] = max(_ZERO, min(amount, room))
    return found
