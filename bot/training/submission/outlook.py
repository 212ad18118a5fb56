"""What would happen to a run that is about to be submitted: resources, start and price."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from bot.config import Prices, Team
from bot.quotas import Engine
from bot.slack.markup import FormatCommand, Markup, code, join, plain, when
from bot.training.expecting import capacity, expected_start, figures_for, releases, room
from bot.training.kinds import gpus_of
from bot.training.queueing import queue_for
from bot.training.spec import RunSpec
from bot.training.templates.candidates import Candidate
from bot.training.templates.wording import order_words
from bot.training.wording import amounts_of, start_words
from bot.training.wording import gpus as gpus_words

ZERO, HOUR = Decimal(0), 3600


@dataclass(frozen=True)
class Start:
    """The GPUs of a flavor that a new run could get; None if unknown.

    `free` of them can be used now, `ahead` are requested by runs that wait already, and `most` is
    what the team can ever have. `by` is when they are free at the latest.
    """

    flavor: str
    nominal: Decimal
    free: Decimal | None
    most: Decimal
    ahead: Decimal
    by: datetime | None


@dataclass(frozen=True)
class Outlook:
    """What a run would use and when it could start; `hourly` is its price, None if unknown.

    `on` are the compute templates that it names; the rest is said of the first.
    """

    team: str
    spec: RunSpec
    start: Start | None
    hourly: Decimal | None
    currency: str
    warnings: tuple[str, ...]
    on: tuple[Candidate, ...] = ()


def start_of(spec: RunSpec, team: Team, engine: Engine) -> Start | None:
    """When a run could start, by what the queues show; None without GPUs or figures of them."""
    queues, wanted = engine.queues, gpus_of(spec)
    queue = queues.behind(team.namespace, queue_for(spec, team))
    if queue is None or not wanted or spec.gpu_resource not in spec.gpus_requested:
        return None
    own, pool = figures_for(queues, queue, spec.gpu_type)
    if own is None:
        return None
    waiting = queues.waiting(own.queue)
    ahead = waiting.gpus if waiting else ZERO
    by = expected_start(wanted + ahead, own, pool, list(releases(queues, own, pool)))
    return Start(own.flavor, own.nominal, room(own, pool), capacity(own, pool), ahead, by)


def hourly_price(spec: RunSpec, start: Start | None, prices: Prices) -> Decimal | None:
    """The price of an hour of its GPUs; None if the flavor has none."""
    flavor = start.flavor if start else spec.gpu_type
    price = prices.per_gpu_hour.get(flavor or "")
    return price * gpus_of(spec) if price is not None and gpus_of(spec) else None


def outlook_lines(
    outlook: Outlook, format_command: FormatCommand, what: str = "It"
) -> Sequence[Markup]:
    """What a form says before the run is submitted; `what` begins the first line."""
    return (
        plain(f"{what} would use {amounts_of(outlook.spec)}."),
        *(plain(each) for each in start_words(outlook.spec)),
        *_start_lines(outlook, format_command),
        *_price_lines(outlook),
        *(plain(each) for each in order_words(outlook.on)),
        *(plain(each) for each in outlook.warnings),
    )


def _start_lines(outlook: Outlook, format_command: FormatCommand) -> Iterator[Markup]:
    start, wanted = outlook.start, gpus_of(outlook.spec)
    if start is None:
        return
    if wanted > start.most:
        short = _number(wanted - start.most)
        more = format_command(f'quota request +{short} --for 1d --reason "..."')
        borrowed = _number(max(ZERO, start.most - start.nominal))
        limit = (
            f"{_gpus(wanted, start)} is more than {outlook.team} can ever have: a nominal quota of"
            f" {_number(start.nominal)}, and at most {borrowed} borrowed. "
        )
        yield join(plain(limit), code(more), plain(f" requests {short} more."))
    elif start.free is None:
        yield plain("How many GPUs can be used now is unknown.")
    elif start.free >= wanted + start.ahead:
        yield plain(f"{_gpus(start.free, start)} can be used now, so it can be admitted at once.")
    else:
        ahead = f", and runs that wait already request {_number(start.ahead)}"
        now = f"{_gpus(start.free, start)} can be used now{ahead if start.ahead else ''}"
        latest = join(plain(", at the latest "), when(start.by)) if start.by else plain("")
        yield join(plain(f"{now}. It starts when other runs end"), latest, plain("."))


def _price_lines(outlook: Outlook) -> Iterator[Markup]:
    hourly, limit = outlook.hourly, outlook.spec.time_limit_seconds
    if hourly is None:
        return
    most = f", and at most {hourly * limit / HOUR:,.2f} within its time limit" if limit else ""
    yield plain(f"It costs {hourly:,.2f} {outlook.currency} an hour{most}.")


def _gpus(amount: Decimal, start: Start) -> str:
    return f"{gpus_words(amount)} of {start.flavor}"


def _number(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
