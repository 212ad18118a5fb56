"""The card of the GPUs now: how many are allocated, and how busy those are. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from bot.charts.values import percent
from bot.durations import format_duration
from bot.gpus.amounts import WHOLE, Amounts
from bot.gpus.samples.usage import Now, SeriesUsage, grouped, together
from bot.slack.card import Card, Progress, Table
from bot.slack.markup import Markup, bold, join, plain
from bot.slack.text import progress_text
from bot.training.wording import gpus as gpus_words

UNKNOWN = "unknown"
_NOBODY = "no team"
_MOST_KINDS = 20
_BUSY = "Busy share of allocated GPUs"
_HEADER = ("Team", "Allocated", "Quota", "Borrowed", "Busy", "Waiting", "Longest wait")


@dataclass(frozen=True)
class Waits:
    """A workload that waits for GPUs; `since` is None and `why` empty if unknown."""

    name: str
    team: str
    gpus: Decimal
    since: datetime | None
    why: str


@dataclass(frozen=True)
class ClusterStatus:
    """A cluster as it was last sampled; `waits` is what waits in it, the longest first.

    `is_asked` says whether the cluster has a source of GPU metrics.
    """

    now: Now
    waits: Sequence[Waits]
    is_asked: bool


def status_card(clusters: Sequence[ClusterStatus], moment: datetime) -> Card:
    """The card of all clusters; allocation and usage are two figures, each with its age."""
    return Card(
        "GPUs",
        state=_headline(clusters),
        lines=tuple(line for each in clusters for line in _lines(each, moment)),
        facts=tuple(fact for each in clusters for fact in _kinds(each))[:_MOST_KINDS],
        table=_teams(clusters, moment),
    )


def allocation_line(status: ClusterStatus) -> Markup:
    """A cluster in one line: how many of its GPUs are allocated, and how many workloads wait."""
    name, now = bold(status.now.cluster), status.now
    if now.sampled_at is None:
        return join(name, ": its GPUs have not been sampled yet.")
    held, there = together(now.parts).allocated / WHOLE, together(now.nodes).allocated / WHOLE
    wait = "workload waits" if len(status.waits) == 1 else "workloads wait"
    waiting = f" · {len(status.waits)} {wait}" if status.waits else ""
    said = progress_text(Progress(held, there, "GPUs allocated"))
    return join(name, plain(f"  {said}{waiting}"))


def gpus(amount: int) -> str:
    """Thousandths of a GPU as people write them: 2, 0.5."""
    return f"{(Decimal(amount) / WHOLE).normalize():f}"


def busy(amounts: Amounts) -> str:
    """The busy share, with the number of measured GPUs if not all are: `43 % (10 measured)`."""
    if amounts.efficiency is None:
        return UNKNOWN if amounts.allocated else "-"
    known = "" if amounts.measured == amounts.allocated else f" ({gpus(amounts.measured)} measured)"
    return f"{percent(amounts.efficiency)}{known}"


def kind(part: SeriesUsage) -> str:
    """The type of GPUs and the pool of their nodes."""
    return ", ".join(each for each in (part.series.gpu_type, part.series.pool) if each) or UNKNOWN


def _headline(clusters: Sequence[ClusterStatus]) -> str:
    seen = [each.now for each in clusters if each.now.sampled_at is not None]
    if not seen:
        return "no samples yet"
    held = sum(together(each.parts).allocated for each in seen)
    there = sum(together(each.nodes).allocated for each in seen)
    return f"{gpus(held)} of {gpus(there)} allocated"


def _lines(status: ClusterStatus, moment: datetime) -> Iterator[Markup]:
    now = status.now
    name = bold(now.cluster)
    if now.sampled_at is None:
        yield join(name, ": unknown. The first sample is taken within a minute or two.")
        return
    there, held = together(now.nodes).allocated, together(now.parts).allocated
    share = f" ({percent(held / there)})" if there else ""
    not_ready = there - together(now.ready).allocated
    lacking = (
        f", {gpus(not_ready)} on nodes that are not schedulable" if now.ready and not_ready else ""
    )
    said = f": {gpus(held)} of {gpus(there)} GPUs allocated{share}{lacking}; sampled "
    yield join(name, plain(f"{said}{_age(now.sampled_at, moment)}."))
    yield plain(_use(status, moment))
    yield plain(_queue(status.waits, moment))


def _use(status: ClusterStatus, moment: datetime) -> str:
    now = status.now
    if now.measured_at is not None:
        use = together(now.measured)
        late = f" {now.trouble}" if now.trouble else ""
        return f"{_BUSY}: {busy(use)}, as of {_age(now.measured_at, moment)}.{late}"
    if not status.is_asked:
        return f"{_BUSY}: unknown. This cluster has no source of GPU metrics."
    return f"{_BUSY}: unknown. {now.trouble or 'The metrics have not been queried yet.'}"


def _queue(waits: Sequence[Waits], moment: datetime) -> str:
    if not waits:
        return "Nothing is known to be waiting."
    first, wanted = waits[0], gpus_words(sum((each.gpus for each in waits), Decimal(0)))
    since = f", waiting for {format_duration(moment - first.since)}" if first.since else ""
    why = f": {first.why}" if first.why else "."
    count = "1 workload is" if len(waits) == 1 else f"{len(waits)} workloads are"
    longest = f"The longest wait is {first.name} of {first.team}"
    return f"{count} waiting for {wanted}. {longest}{since}{why}"


def _kinds(status: ClusterStatus) -> Iterator[tuple[str, Markup]]:
    """Allocation and usage by GPU type and node pool."""
    now = status.now
    there = {kind(each): each.amounts.allocated for each in now.nodes}
    held, measured = _by_kind(now.parts), _by_kind(now.measured)
    for name in dict.fromkeys((*sorted(there), *sorted(held))):
        mine, use = held.get(name, Amounts()), measured.get(name, Amounts())
        whole = gpus(there[name]) if name in there else UNKNOWN
        worked = f", busy {busy(use)}" if use.allocated else ""
        yield name, plain(f"{gpus(mine.allocated)} of {whole} allocated{worked}")


def _by_kind(parts: Sequence[SeriesUsage]) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for each in parts:
        found[kind(each)] = found.get(kind(each), Amounts()) + each.amounts
    return found


def _teams(clusters: Sequence[ClusterStatus], moment: datetime) -> Table | None:
    held, measured, quota, borrowed = (
        grouped(parts, lambda series: series.team)
        for parts in (
            [part for each in clusters for part in each.now.parts],
            [part for each in clusters for part in each.now.measured],
            [part for each in clusters for part in each.now.quota],
            [part for each in clusters for part in each.now.borrowed],
        )
    )
    waits = [each for status in clusters for each in status.waits]
    names = sorted({*held, *quota, *(each.team for each in waits)} - {""})
    rows = []
    for name in (*names, *(("",) if "" in held else ())):
        mine = [each for each in waits if each.team == name]
        oldest = min((each.since for each in mine if each.since), default=None)
        rows.append(
            (
                name or _NOBODY,
                gpus(held[name].allocated) if name in held else "0",
                gpus(quota[name].allocated) if name in quota else UNKNOWN if name else "-",
                gpus(borrowed[name].allocated) if name in borrowed else UNKNOWN if name else "-",
                busy(measured[name]) if name in measured else busy(held.get(name, Amounts())),
                f"{len(mine)} ({gpus_words(sum((each.gpus for each in mine), Decimal(0)))})"
                if mine
                else "0",
                format_duration(moment - oldest) if oldest else "-",
            )
        )
    return Table(_HEADER, tuple(rows)) if rows else None


def _age(seen: datetime, moment: datetime) -> str:
    """How long ago; samples are of whole minutes."""
    age = moment - seen
    return f"{format_duration(age)} ago" if age >= timedelta(minutes=1) else "this minute"
