"""Turns a request into the row of an override, or says why it is not possible."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from bot.config import OverrideMode, Settings
from bot.durations import format_duration
from bot.errors import ConflictError, LimitError, NotFoundError, UsageError
from bot.people.access import Caller
from bot.quotas.engines.engine import Figures, Queue, Queues
from bot.quotas.engines.quota import NOMINAL, QuotaField
from bot.quotas.tables import Mode, Override
from bot.quotas.wording import amount as figure
from bot.quotas.wording import gpus
from bot.slack.grammar.parameters import Amount

MOST_GPUS = 1024


@dataclass(frozen=True)
class OverrideRequest:
    """A request for quota; `gpu_type` is optional if the team has only one."""

    team: str
    amount: Amount
    reason: str
    length: timedelta | None = None
    gpu_type: str | None = None
    donor: str | None = None
    break_glass: bool = False
    cluster: str | None = None


@dataclass(frozen=True)
class Facts:
    """What requests are checked against: settings, queues, and bases of changed quotas.

    With `is_written` somebody else applies the change, so an engine whose quotas the bot leaves
    alone is no obstacle.
    """

    settings: Settings
    cluster: str
    queues: Queues
    base_of: Callable[[QuotaField], Decimal | None]
    is_written: bool = False


def override_row(facts: Facts, request: OverrideRequest, asker: Caller, now: datetime) -> Override:
    """The requested override; UserError if it is not possible."""
    mode = _mode(facts.settings, request)
    target = _target(facts, request)
    before = _before(facts, target, mode)
    delta = request.amount.value - (Decimal(0) if request.amount.relative else before)
    length = _length(facts.settings, request)
    _refuse_senseless(target, before, delta, request, mode)
    row = _row(facts, target, request, asker, now)
    row.mode, row.amount, row.shown_from = mode, delta, Decimal(before)
    row.duration_seconds = int(length.total_seconds())
    if request.donor is not None:
        row.donor_team = request.donor
        row.donor_queue = _donor_queue(facts, request, target, delta)
    return row


def base_row(facts: Facts, request: OverrideRequest, asker: Caller, now: datetime) -> Override:
    """The requested change of a team's base quota; UserError if it is not possible."""
    target = _target(facts, request)
    row = _row(facts, target, request, asker, now)
    known = facts.base_of(QuotaField(row.queue, row.flavor, row.resource, NOMINAL))
    before = _base(facts, target) if known is None else known
    total = request.amount.value + (before if request.amount.relative else Decimal(0))
    _refuse_senseless(target, before, total - before, request, Mode.BASE)
    row.mode, row.amount, row.shown_from = Mode.BASE, total, before
    return row


def _mode(settings: Settings, request: OverrideRequest) -> Mode:
    if request.donor is not None:
        return Mode.TRANSFER
    if settings.quotas.override is OverrideMode.TRANSFER:
        others = ", ".join(name for name in settings.teams if name != request.team)
        raise UsageError(
            "Here, quota is lent from team to team, so a lending team is required.",
            f"Add `--from` with one of: {others}.",
        )
    return Mode(settings.quotas.override)


def _length(settings: Settings, request: OverrideRequest) -> timedelta:
    longest = settings.quotas.longest
    length = request.length or longest
    if length > longest:
        raise LimitError(
            f"An override lasts at most {format_duration(longest)}, not {format_duration(length)}.",
            f"Request less time, for example `--for {format_duration(longest)}`.",
        )
    return length


def _target(facts: Facts, request: OverrideRequest) -> Figures:
    queue = _queue(facts, request.team)
    flavors = {each.flavor: each for each in queue.figures}
    if not flavors:
        raise ConflictError(
            f"{facts.queues.words.queue} {queue.name} has no quota of {facts.queues.resource}.",
            "Ask a platform admin to add one in the cluster.",
        )
    names = ", ".join(flavors)
    if request.gpu_type is None and len(flavors) > 1:
        raise UsageError(
            f"{request.team} has {len(flavors)} GPU types.", f"Add `--type` with one of: {names}."
        )
    flavor = request.gpu_type or next(iter(flavors))
    if flavor not in flavors:
        raise NotFoundError(
            f"{request.team} has no GPU type {flavor} in cluster {facts.cluster}.",
            f"It has: {names}.",
        )
    return flavors[flavor]


def _queue(facts: Facts, team: str) -> Queue:
    found, words = facts.settings.teams[team], facts.queues.words
    if words.unchangeable and not facts.is_written:
        raise ConflictError(
            f"Cluster {facts.cluster} has {words.unchangeable}.",
            f"A platform admin can change the ResourceQuota of namespace {found.namespace} there.",
        )
    queue = facts.queues.behind(found.namespace, found.queue)
    if queue is not None:
        return queue
    if facts.queues.is_absent:
        raise ConflictError(
            f"Cluster {facts.cluster} has no {words.engine}, so its quotas cannot be changed here.",
            f"Ask a platform admin to install {words.engine} there.",
        )
    raise NotFoundError(
        words.unseen(found.queue, found.namespace, facts.cluster),
        "Try again in a minute. If the problem persists, ask a platform admin to check the team's"
        f" `{words.setting}`.",
    )


def _before(facts: Facts, target: Figures, mode: Mode) -> Decimal:
    if mode is not Mode.BORROWING_LIMIT:
        return _base(facts, target)
    if not target.cohort:
        raise ConflictError(
            f"{facts.queues.words.queue} {target.queue} is in no cohort, so it cannot borrow.",
            "Ask a platform admin to change its base quota instead.",
        )
    limit = target.borrowing_limit
    if limit is None:
        raise ConflictError(
            f"{facts.queues.words.queue} {target.queue} can already borrow {target.flavor} without"
            " limit.",
            "More becomes available as soon as other teams leave GPUs idle.",
        )
    return limit


def _base(facts: Facts, target: Figures) -> Decimal:
    if target.is_unlimited:
        raise ConflictError(
            f"{facts.queues.words.queue} {target.queue} already has an unlimited quota of"
            f" {target.flavor}.",
            "Nothing would change.",
        )
    return target.nominal


def _refuse_senseless(
    target: Figures, before: Decimal, delta: Decimal, request: OverrideRequest, mode: Mode
) -> None:
    after, is_limit = before + delta, mode is Mode.BORROWING_LIMIT
    if not delta:
        has = "can already borrow up to" if is_limit else "already has"
        raise ConflictError(
            f"{request.team} {has} {gpus(before)} of {target.flavor}.",
            "Nothing would change.",
        )
    if after < 0:
        has, less = ("can borrow up to", "borrow") if is_limit else ("has", "have")
        raise LimitError(
            f"{request.team} {has} {gpus(before)} of {target.flavor}, so it cannot {less}"
            f" {gpus(-delta)} fewer.",
            f"The maximum is {figure(before)}.",
        )
    if abs(delta) > MOST_GPUS:
        raise LimitError(
            f"A change of {gpus(abs(delta))} is too large for one request.",
            f"The maximum is {MOST_GPUS}.",
        )


def _donor_queue(facts: Facts, request: OverrideRequest, target: Figures, delta: Decimal) -> str:
    donor, teams = request.donor or "", facts.settings.teams
    if donor not in teams or donor == request.team:
        others = ", ".join(name for name in teams if name != request.team)
        raise UsageError(f"`--from {donor}` is not another team.", f"Use one of: {others}.")
    if facts.cluster not in teams[donor].reach:
        raise ConflictError(
            f"{donor} is in cluster {', '.join(teams[donor].reach)}, {request.team} in "
            f"{facts.cluster}.",
            "Only teams in the same cluster can lend to each other.",
        )
    queue = _queue(facts, donor)
    figures = queue.of(target.flavor)
    has = figures.nominal if figures else Decimal(0)
    if delta < 0 or has < delta or queue.name == target.queue:
        raise LimitError(
            f"{donor} has {gpus(has)} of {target.flavor} to lend, not {figure(delta)}.",
            f"For example `+{figure(has)}`." if has > 0 else "Ask another team.",
        )
    return queue.name


def _row(
    facts: Facts, target: Figures, request: OverrideRequest, asker: Caller, now: datetime
) -> Override:
    return Override(
        workspace_id=asker.workspace_id,
        cluster=facts.cluster,
        team=request.team,
        queue=target.queue,
        flavor=target.flavor,
        resource=facts.queues.resource,
        mode=Mode.NOMINAL_QUOTA,
        amount=Decimal(0),
        shown_from=Decimal(0),
        reason=request.reason,
        requester=asker.person,
        channel=asker.channel,
        asked_at=now,
    )
