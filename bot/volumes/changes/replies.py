"""The question before a change: what it does and costs. Pure: no I/O."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from msgspec import structs

from bot.config import Anf, AnfChanges
from bot.durations import format_duration
from bot.slack.card import Button, Card
from bot.slack.markup import Markup, code, plain
from bot.volumes.changes.plan import MANUAL, ChangePlan, goes_down
from bot.volumes.changes.service import ChangeButton, written
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.wording import UNKNOWN, capacity, money, throughput

GO = "anf.go"
_MIB = 1024**2
TRIDENT = (
    "Trident created this volume, and a move changes its Azure id. Trident's record is rewritten"
    " after each move, and its controller restarts. For about a minute, no Trident volume in the"
    " whole cluster is mounted on more nodes, created, grown, snapshotted or deleted. Approving the"
    " move approves this too."
)


@dataclass(frozen=True)
class Fill:
    """A fill of a volume, and the bytes that are left to write."""

    what: str
    left_bytes: int


def question(asked: ChangeButton, plan: ChangePlan, anf: Anf, fills: Iterable[Fill] = ()) -> Card:
    """What a change does and costs, with the button that requests it."""
    changes = anf.changes
    lines = [*_consequences(asked, plan), *(_rest(each, plan) for each in fills)]
    if changes is not None and asked.seconds is not None:
        lines += _way_back(timedelta(seconds=asked.seconds), plan, changes)
    if plan.is_trident:
        lines.append(plain(TRIDENT))
    if plan.needs_approval:
        lines.append(plain("Another person has to approve it."))
    label = "Request it" if plan.needs_approval else "Apply"
    growing = structs.replace(asked, growth_bytes=plan.growth_bytes)
    return Card(
        title=f"{asked.claim}: {_wanted(asked)}?",
        lines=tuple(lines),
        facts=tuple(_plan_facts(plan, anf)),
        buttons=(Button(GO, label, written(growing), "primary"),),
    )


def _wanted(asked: ChangeButton) -> str:
    what = throughput(asked.mibps) if asked.kind == ChangeKind.THROUGHPUT else asked.level
    if asked.seconds is None:
        return what
    return f"{what} for {format_duration(timedelta(seconds=asked.seconds))}"


def _consequences(asked: ChangeButton, plan: ChangePlan) -> Iterator[Markup]:
    if plan.grow_to is not None:
        yield plain(f"Pool {plan.target.name} grows from {capacity(plan.target.size_bytes)} to"
                    f" {capacity(plan.grow_to)} first.")  # fmt: skip
    if plan.shrink_to is not None:
        yield plain(f"Pool {plan.source.name} then shrinks from"
                    f" {capacity(plan.source.size_bytes)} to"
                    f" {capacity(plan.shrink_to)}.")  # fmt: skip
    if asked.kind == ChangeKind.LEVEL:
        yield plain(f"Pods that mount the volume keep running. {_fill(plan)}")
        if plan.target.qos == MANUAL and plan.source is not plan.target:
            yield plain("That pool has manual QoS: the volume keeps its throughput until you set it"
                        f" with `/anf throughput {asked.claim} MIB-PER-SECOND`.")  # fmt: skip
        if plan.shrink_to is None and asked.seconds is None:
            yield plain(f"Pool {plan.source.name} keeps its size and its cost"
                        + (": it cannot shrink." if asked.is_shrinking
                           else "; --shrink makes it smaller."))  # fmt: skip


def _way_back(length: timedelta, plan: ChangePlan, changes: AnfChanges) -> Iterator[Markup]:
    """Lines on what may delay the revert."""
    wait, is_down = changes.wait_before_down, goes_down(plan.target.level, plan.source.level)
    if is_down and length < wait:
        yield plain(f"Azure allows a lower level no sooner than {format_duration(wait)} after a"
                    f" volume went up: it is reverted after {format_duration(wait)}.")  # fmt: skip
    longest = format_duration(changes.longest)
    yield plain("If a run or a fill uses the volume at that time, it is reverted when that ends,"
                f" at most {longest} later.")  # fmt: skip


def _fill(plan: ChangePlan) -> str:
    """How long filling the whole volume takes, before and after."""
    size = plan.volume.quota_bytes
    times = _times_to_write(size, plan)
    return f"Filling all of its {capacity(size)} takes at least {times}." if times else ""


def _rest(fill: Fill, plan: ChangePlan) -> Markup:
    """How long the rest of a running fill takes, before and after."""
    times = _times_to_write(fill.left_bytes, plan)
    takes = f", which takes at least {times}" if times else ""
    return plain(f"{fill.what} is being filled on it: {capacity(fill.left_bytes)} is left"
                 f"{takes}. The fill continues.")  # fmt: skip


def _times_to_write(size: int, plan: ChangePlan) -> str:
    """`4h now and 1h afterwards`; empty if a throughput is unknown."""
    both = plan.volume.throughput_mibps, plan.mibps_after
    if not both[0] or not both[1]:
        return ""
    now, then = (format_duration(timedelta(seconds=size / _MIB / each)) for each in both if each)
    return f"{now} now and {then} afterwards"


def _plan_facts(plan: ChangePlan, anf: Anf) -> Iterator[tuple[str, Markup]]:
    if anf.has_several:
        yield "Subscription", code(plan.source.place.subscription)
    if plan.target is not plan.source:
        yield "From", plain(f"{plan.source.level}, pool {plan.source.name}")
        yield "To", plain(f"{plan.target.level}, pool {plan.target.name}")
    about = "" if plan.target.qos == MANUAL else "about "
    before = throughput(plan.volume.throughput_mibps)
    yield "Throughput", plain(f"{before} → {about}{throughput(plan.mibps_after)}")
    yield "Cost", plain(bill(plan.cost_delta))


def bill(delta: float | None) -> str:
    """The effect on the monthly cost, in words."""
    if delta is None:
        return f"{UNKNOWN}: a price is missing in anf.price_per_gib_month"
    if not delta:
        return "unchanged: no pool changes its size"
    return f"{money(abs(delta))} {'more' if delta > 0 else 'less'} a month"
