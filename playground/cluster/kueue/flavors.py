"""Which flavors a Workload could have, and in Kueue's words why not."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from typing import Any

from playground.cluster.control.scheduler import tolerates
from playground.cluster.kueue.classical import borrowing_height
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.preemption import IN_QUEUE, Need, Victims
from playground.cluster.kueue.quota import Cell, Queue
from playground.cluster.kueue.workloads import Requests, Usage, held, requests
from playground.cluster.objects.kinds import FLAVOR, Object
from playground.cluster.objects.quantities import show_quantity
from playground.cluster.objects.store import Store

_ZERO = Decimal(0)


class Mode(IntEnum):
    """How well something fits; all but the first and the last need a preemption."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


_SEVERITY = {"": 0, "WaitingForQuota": 1, "ExceedsMaxQuota": 2, "NoMatchingFlavor": 3}


@dataclass
class Attempt:
    """One way to place what is asked for; `borrowing` is how far up its cohorts it borrows."""

    mode: Mode = Mode.FIT
    flavors: dict[str, dict[str, str]] = field(default_factory=dict)
    usage: Usage = field(default_factory=dict)
    short: set[Cell] = field(default_factory=set)
    borrowing: int = 0
    reason: str = ""
    told: list[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        """What the QuotaReserved condition says."""
        return "; ".join(self.told)

    def need(self, queue: Queue, workload: Object) -> Need:
        """What it takes that others would have to give."""
        return Need(queue, workload, self.usage, frozenset(self.short))


@dataclass
class _Choice:
    """One flavor for the resources of one group."""

    flavor: str = ""
    mode: Mode = Mode.NO_FIT
    borrowing: int = 0
    reasons: list[str] = field(default_factory=list)
    short: set[Cell] = field(default_factory=set)
    reason: str = ""

    def fail(self, reason: str) -> None:
        """Says that it cannot be, and why; the worst reason stays."""
        self.mode = Mode.NO_FIT
        self.reason = max(self.reason, reason, key=_SEVERITY.__getitem__)

    def beats(self, other: "_Choice", rules: dict[str, Any]) -> bool:
        """Whether this flavor is to be preferred."""
        if Mode.NO_FIT in {self.mode, other.mode}:
            return self.mode > other.mode
        hopeless = (self.mode is Mode.NO_CANDIDATES, other.mode is Mode.NO_CANDIDATES)
        if hopeless[0] != hopeless[1]:
            return hopeless[1]
        mine, theirs = (self.mode, -self.borrowing), (other.mode, -other.borrowing)
        if rules.get("preference") == "PreemptionOverBorrowing":
            return mine[::-1] > theirs[::-1]
        return mine > theirs

    def ends_search(self, rules: dict[str, Any]) -> bool:
        """Whether no further flavor is tried."""
        if self.mode in {Mode.NO_FIT, Mode.NO_CANDIDATES}:
            return False
        preempts = self.mode is not Mode.FIT
        if preempts and rules.get("whenCanPreempt", "TryNextFlavor") == "TryNextFlavor":
            return False
        return not (self.borrowing and rules.get("whenCanBorrow") == "TryNextFlavor")


class Assigner:
    """Finds flavors for Workloads; `victims` says whether a preemption would help."""

    def __init__(self, store: Store, configuration: Configuration, victims: Victims) -> None:
        self._store = store
        self._configuration = configuration
        self._victims = victims

    def assign(self, queue: Queue, workload: Object) -> Attempt:
        """The best placement of a Workload in its queue at this moment."""
        attempt = Attempt()
        for pods in workload["spec"]["podSets"]:
            if not self._place(queue, workload, pods, attempt):
                break
        return attempt

    def _place(
        self, queue: Queue, workload: Object, pods: dict[str, Any], attempt: Attempt
    ) -> bool:
        """Places one pod set; whether there is a flavor for everything it asks for."""
        wanted = self._counted(queue, requests(workload)[pods["name"]])
        reasons: list[str] = []
        chosen: dict[str, str] = {}
        for resource in sorted(wanted):
            if resource in chosen:
                continue
            best = self._best(queue, workload, pods, resource, (wanted, attempt.usage))
            reasons = [*reasons, *best.reasons] if best.mode else best.reasons
            if best.mode is Mode.NO_FIT:
                attempt.mode, attempt.reason = Mode.NO_FIT, best.reason
                break
            mine = set((queue.group_of(resource) or {})["coveredResources"]) & wanted.keys()
            chosen |= dict.fromkeys(mine, best.flavor)
            _merge(attempt, best, {name: wanted[name] for name in mine})
        attempt.flavors[pods["name"]] = chosen
        if reasons:
            told = ", ".join(sorted(reasons))
            attempt.told.append(f"couldn't assign flavors to pod set {pods['name']}: {told}")
        return attempt.mode is not Mode.NO_FIT

    def _counted(self, queue: Queue, wanted: Requests) -> Requests:
        """The requests that need quota."""
        rule = self._configuration
        return {
            name: amount
            for name, amount in wanted.items()
            if rule.counts(name) and not (rule.ignores_undeclared and not queue.group_of(name))
        }

    def _best(
        self,
        queue: Queue,
        workload: Object,
        pods: dict[str, Any],
        resource: str,
        amounts: tuple[Requests, Usage],
    ) -> _Choice:
        group = queue.group_of(resource)
        if group is None:
            told = [f"resource {resource} unavailable in ClusterQueue"]
            return _Choice(reasons=told, reason="NoMatchingFlavor")
        rules = queue.spec.get("flavorFungibility") or {}
        best = _Choice()
        tried: list[_Choice] = []
        asked, taken = amounts
        wanted = {name: asked[name] for name in group["coveredResources"] if name in asked}
        for row in group["flavors"]:
            choice = self._try(queue, workload, pods, row["name"], (wanted, taken))
            tried.append(choice)
            if choice.ends_search(rules) or choice.beats(best, rules):
                best = choice
            if choice.ends_search(rules):
                break
        if best.mode is Mode.FIT:
            best.reasons = []
            return best
        best.reasons = [reason for choice in tried for reason in choice.reasons]
        best.reason = min((choice.reason for choice in tried), key=_SEVERITY.__getitem__)
        return best

    def _try(
        self,
        queue: Queue,
        workload: Object,
        pods: dict[str, Any],
        name: str,
        amounts: tuple[Requests, Usage],
    ) -> _Choice:
        spec = pods["template"]["spec"]
        problem = _flavor_problem(self._store.get(FLAVOR, "", name), name, spec)
        if problem:
            return _Choice(name, reasons=[problem], reason="NoMatchingFlavor")
        choice = _Choice(name, Mode.FIT)
        wanted, taken = amounts
        for resource in sorted(wanted):
            cell = (name, resource)
            self._check(queue, workload, (cell, taken.get(cell, _ZERO), wanted[resource]), choice)
        return choice

    def _check(
        self, queue: Queue, workload: Object, row: tuple[Cell, Decimal, Decimal], choice: _Choice
    ) -> None:
        (flavor, resource), before, wanted = cell, *_ = row
        total, most, free = before + wanted, queue.potential(cell), queue.available(cell)
        if total > most:
            choice.fail("ExceedsMaxQuota")
            choice.reasons.append(
                f"insufficient quota for {resource} in flavor {flavor}, previously considered "
                f"podsets requests ({show_quantity(before, resource)}) + current podset request "
                f"({show_quantity(wanted, resource)}) > maximum capacity "
                f"({show_quantity(most, resource)})"
            )
            return
        height, can_reclaim = borrowing_height(queue, cell, total)
        if total <= free:
            choice.borrowing = max(choice.borrowing, height)
            return
        choice.reasons.append(
            f"insufficient unused quota for {resource} in flavor {flavor}, "
            f"{show_quantity(total - free, resource)} more needed"
        )
        within = total <= queue.quota.get(cell, _ZERO)
        if within or can_reclaim or self._preempts_while_borrowing(queue):
            choice.short.add(cell)
            self._by_preemption(Need(queue, workload, {cell: total}, frozenset({cell})), choice)
        else:
            choice.fail("WaitingForQuota")

    def _by_preemption(self, need: Need, choice: _Choice) -> None:
        targets = self._victims(need)
        with ExitStack() as gone:
            for target in targets:
                gone.enter_context(target.queue.lacking(held(target.workload)))
            for cell, amount in need.usage.items():
                height, _ = borrowing_height(need.queue, cell, amount)
                choice.borrowing = max(choice.borrowing, height)
        own = any(target.reason == IN_QUEUE for target in targets)
        mode = Mode.PREEMPT if own else Mode.RECLAIM
        choice.mode = min(choice.mode, mode if targets else Mode.NO_CANDIDATES)

    def _preempts_while_borrowing(self, queue: Queue) -> bool:
        rule = queue.policies.get("borrowWithinCohort") or {}
        fairly = self._configuration.fair_sharing is not None
        return rule.get("policy", "Never") != "Never" or (
            fairly and queue.policies.get("reclaimWithinCohort", "Never") != "Never"
        )


def _flavor_problem(flavor: Object | None, name: str, spec: dict[str, Any]) -> str:
    if flavor is None:
        return f"flavor {name} not found"
    own = flavor.get("spec") or {}
    both = {"tolerations": [*(spec.get("tolerations") or ()), *(own.get("tolerations") or ())]}
    for taint in own.get("nodeTaints") or ():
        if taint["effect"] != "PreferNoSchedule" and not tolerates(both, taint):
            shown = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
            return f"untolerated taint {{{shown}}} in flavor {name}"
    labels = own.get("nodeLabels") or {}
    selector = spec.get("nodeSelector") or {}
    if any(key in labels and labels[key] != value for key, value in selector.items()):
        return f"flavor {name} doesn't match node affinity"
    return ""


def _merge(attempt: Attempt, best: _Choice, wanted: Requests) -> None:
    attempt.mode = min(attempt.mode, best.mode)
    attempt.borrowing = max(attempt.borrowing, best.borrowing)
    attempt.short |= best.short
    for resource, amount in wanted.items():
        cell = (best.flavor, resource)
        attempt.usage[cell] = attempt.usage.get(cell, _ZERO) + amount
