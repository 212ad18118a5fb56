"""A change of a volume as its card, and as the question before it. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import structs

from bot.approvals.deciding import Deciding
from bot.config import Anf, AnfChanges
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.volumes.changes.acts import Grow, Move, Shrink, TellTrident, Throttle, acts
from bot.volumes.changes.notes import change_of
from bot.volumes.changes.plan import Plan, goes_down
from bot.volumes.changes.service import Asked, written
from bot.volumes.changes.tables import Kind, Leg, Phase, VolumeChange
from bot.volumes.wording import UNKNOWN, capacity, money, throughput

GO, GIVE_BACK = "anf.go", "anf.give-back"
_MIB = 1024**2
_MANUAL = "Manual"
_TRIDENT = (
    "Trident made this volume, and a move gives it another Azure id. So Trident's record is"
    " rewritten after each move, and its controller starts anew: for about a minute nothing is"
    " mounted on further nodes, made, grown, snapshotted or deleted on Trident in the whole"
    " cluster. That is approved together with the move."
)
_STATES = {
    Phase.CHECKING: ("asking Azure", Tone.WORKING),
    Phase.ASKED: ("waits for approval", Tone.WAITING),
    Phase.APPROVED: ("about to begin", Tone.WORKING),
    Phase.HELD: ("in force", Tone.GOOD),
    Phase.DONE: ("done", Tone.GOOD),
    Phase.RETURNED: ("put back", Tone.QUIET),
    Phase.FAILED: ("failed", Tone.BAD),
    Phase.REFUSED: ("cannot be done", Tone.BAD),
    Phase.DENIED: ("denied", Tone.BAD),
    Phase.EXPIRED: ("nobody decided", Tone.STOPPED),
    Phase.WITHDRAWN: ("withdrawn", Tone.STOPPED),
}


@dataclass(frozen=True)
class Fill:
    """What is being filled on a volume, and how much of it is missing."""

    what: str
    left_bytes: int


def question(asked: Asked, plan: Plan, anf: Anf, fills: Iterable[Fill] = ()) -> Card:
    """What a change would do, before anybody does it; the button has it done."""
    changes = anf.changes
    lines = [*_consequences(asked, plan), *(_rest(each, plan) for each in fills)]
    if changes is not None and asked.seconds is not None:
        lines += _way_back(timedelta(seconds=asked.seconds), plan, changes)
    if plan.is_trident:
        lines.append(plain(_TRIDENT))
    if plan.needs_approval:
        lines.append(plain("Somebody else has to approve it."))
    label = "Ask for it" if plan.needs_approval else "Do it"
    growing = structs.replace(asked, growth_bytes=plan.growth_bytes)
    return Card(
        title=f"{asked.claim}: {_wanted(asked)}?",
        lines=tuple(lines),
        facts=tuple(_plan_facts(plan)),
        buttons=(Button(GO, label, written(growing), "primary"),),
    )


def change_card(row: VolumeChange, asker: str, deciding: Deciding) -> Card:
    """The card of a change; `asker` is a name, so that nobody is notified."""
    is_hindered = row.is_live and bool(row.trouble or row.is_late)
    left = row.phase in {Phase.DONE, Phase.RETURNED, Phase.HELD} and bool(row.remains)
    state, tone = _STATES.get(Phase(row.phase), (_work(row), Tone.WORKING))
    return Card(
        title=f"{row.namespace}/{change_of(row)}",
        state=state,
        tone=Tone.WARNING if is_hindered or left else tone,
        lines=(*deciding.lines, *_called(deciding), *_lines(row)),
        facts=tuple(_facts(row, asker)),
        buttons=(*deciding.buttons, *_buttons(row, deciding)),
        footer=(join("Change ", code(row.number)),),
    )


def _wanted(asked: Asked) -> str:
    what = throughput(asked.mibps) if asked.kind == Kind.THROUGHPUT else asked.level
    if asked.seconds is None:
        return what
    return f"{what} for {format_duration(timedelta(seconds=asked.seconds))}"


def _consequences(asked: Asked, plan: Plan) -> Iterator[Markup]:
    if plan.grow_to is not None:
        yield plain(f"Pool {plan.target.name} grows from {capacity(plan.target.size_bytes)} to"
                    f" {capacity(plan.grow_to)} first.")  # fmt: skip
    if plan.shrink_to is not None:
        yield plain(f"Pool {plan.source.name} is made smaller afterwards: from"
                    f" {capacity(plan.source.size_bytes)} to"
                    f" {capacity(plan.shrink_to)}.")  # fmt: skip
    if asked.kind == Kind.LEVEL:
        yield plain(f"Whoever mounts the volume goes on meanwhile. {_fill(plan)}")
        if plan.target.qos == _MANUAL and plan.source is not plan.target:
            yield plain("That pool has manual QoS: the volume keeps its throughput until it is set"
                        f" by `/anf throughput {asked.claim} MIB-PER-SECOND`.")  # fmt: skip
        if plan.shrink_to is None and asked.seconds is None:
            yield plain(f"Pool {plan.source.name} stays as large, and is billed as before"
                        + (": it cannot be made smaller." if asked.is_shrinking
                           else "; --shrink makes it smaller."))  # fmt: skip


def _way_back(length: timedelta, plan: Plan, changes: AnfChanges) -> Iterator[Markup]:
    """What may put off its end."""
    wait, is_down = changes.wait_before_down, goes_down(plan.target.level, plan.source.level)
    if is_down and length < wait:
        yield plain(f"Azure lets a volume go down {format_duration(wait)} after it went up, not"
                    f" sooner: it is put back after {format_duration(wait)}.")  # fmt: skip
    longest = format_duration(changes.longest)
    yield plain("Where a run or a fill uses the volume at that time, it is put back once that has"
                f" ended, {longest} later at most.")  # fmt: skip


def _fill(plan: Plan) -> str:
    """What it means for a fill: writing is bound by the throughput."""
    size = plan.volume.quota_bytes
    times = _times_to_write(size, plan)
    return f"Filling all of its {capacity(size)} takes at least {times}." if times else ""


def _rest(fill: Fill, plan: Plan) -> Markup:
    """What it means for a fill that goes on."""
    times = _times_to_write(fill.left_bytes, plan)
    takes = f", which takes at least {times}" if times else ""
    return plain(f"{fill.what} is being filled on it: {capacity(fill.left_bytes)} are missing"
                 f"{takes}. The fill goes on meanwhile.")  # fmt: skip


def _times_to_write(size: int, plan: Plan) -> str:
    """`4h now, and 1h then`; empty where a throughput is unknown."""
    both = plan.volume.throughput_mibps, plan.mibps_after
    if not both[0] or not both[1]:
        return ""
    now, then = (format_duration(timedelta(seconds=size / _MIB / each)) for each in both if each)
    return f"{now} now, and {then} then"


def _plan_facts(plan: Plan) -> Iterator[tuple[str, Markup]]:
    if plan.target is not plan.source:
        yield "Now", plain(f"{plan.source.level}, pool {plan.source.name}")
        yield "Then", plain(f"{plan.target.level}, pool {plan.target.name}")
    about = "" if plan.target.qos == _MANUAL else "about "
    before = throughput(plan.volume.throughput_mibps)
    yield "Throughput", plain(f"{before} → {about}{throughput(plan.mibps_after)}")
    yield "Bill", plain(_bill(plan.cost_delta))


def _bill(delta: float | None) -> str:
    if delta is None:
        return f"{UNKNOWN}: a price is missing in anf.price_per_gib_month"
    if not delta:
        return "as before: no pool changes its size"
    return f"{money(abs(delta))} {'more' if delta > 0 else 'less'} a month"


def _work(row: VolumeChange) -> str:
    """What is done now, in words."""
    way = acts(row)
    act = way[row.position] if row.position < len(way) else None
    prefix = {Leg.BACK: "being put back: ", Leg.UNDO: "being undone: "}.get(Leg(row.leg), "")
    match act:
        case Grow(pool):
            return f"{prefix}growing pool {pool}"
        case Move(_, target):
            return f"{prefix}moving to pool {target}"
        case Throttle(_, mibps):
            return f"{prefix}setting {throughput(mibps)}"
        case Shrink(pool):
            return f"{prefix}shrinking pool {pool}"
        case TellTrident():
            return f"{prefix}telling Trident where it is"
        case None:
            return f"{prefix}nearly done"


def _called(deciding: Deciding) -> Iterator[Markup]:
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide it.")


def _lines(row: VolumeChange) -> Iterator[Markup]:
    if row.is_trident and row.phase == Phase.ASKED:
        yield plain(_TRIDENT)
    if row.is_live and row.trouble:
        tried = row.phase == Phase.WORKING and row.not_before is not None
        again = join(" It is tried again ", _moment(row.not_before), ".") if tried else Markup("")
        yield join("*Late*: ", sentence(row.trouble), again)
    elif row.is_live and row.is_late:
        yield join("*Late*: Azure is at it since ", when(row.since), ". It is followed further.")
    for line in (row.outcome, row.hint, row.remains):
        if line:
            yield sentence(line)


def _moment(moment: datetime | None) -> Markup:
    return when(moment) if moment is not None else Markup("soon")


def _facts(row: VolumeChange, asker: str) -> Iterator[tuple[str, Markup]]:
    if row.kind == Kind.LEVEL and row.source_pool:
        yield "From", plain(f"{row.source_level}, pool {row.source_pool}")
        yield "To", plain(f"{row.target_level}, pool {row.target_pool}")
    if row.source_pool:
        yield "Throughput", plain(_change_of_throughput(row))
        yield "Bill", plain(_bill(row.cost_delta))
    yield from _pools(row)
    yield from _times(row)
    yield "Asked by", join(plain(asker), " in ", channel(row.channel))
    if row.reason:
        yield "Why", plain(row.reason)
    if row.returned_by:
        word = "Withdrawn by" if row.phase == Phase.WITHDRAWN else "Put back by"
        yield word, person(row.returned_by)


def _change_of_throughput(row: VolumeChange) -> str:
    after = row.mibps_seen if row.mibps_seen is not None else row.mibps_after
    is_told = row.mibps_seen is not None or row.kind == Kind.THROUGHPUT
    return f"{throughput(row.mibps_before)} → {'' if is_told else 'about '}{throughput(after)}"


def _pools(row: VolumeChange) -> Iterator[tuple[str, Markup]]:
    if row.grow_to is not None:
        before = capacity(row.grow_to - row.grow_by)
        grown = " (grown)" if row.grown_from is not None else ""
        yield "Target pool", plain(f"{row.target_pool}: {before} → {capacity(row.grow_to)}{grown}")
    if row.shrink_to is not None:
        smaller = capacity(row.shrink_to)
        done = " (smaller)" if row.shrunk_from is not None else ""
        yield "Source pool", plain(f"{row.source_pool}: to {smaller}{done}")


def _times(row: VolumeChange) -> Iterator[tuple[str, Markup]]:
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)
    elif row.ends_at is not None:
        yield "Until", when(row.ends_at)
        later = row.not_before or row.ends_at
        if row.phase == Phase.HELD and row.kept_for:
            yield "Put back", _after_use(row)
        elif row.phase == Phase.HELD and later > row.ends_at:
            yield "Put back", join(when(later), ", when Azure lets it go down again")
    elif row.duration_seconds is not None:
        length = format_duration(timedelta(seconds=row.duration_seconds))
        yield "Until", plain(f"{length} after it takes effect; later where a run uses it then")


def _after_use(row: VolumeChange) -> Markup:
    """When what somebody uses is put back."""
    latest = join(", ", when(row.kept_until), " at the latest") if row.kept_until else Markup("")
    return join("after ", sentence(row.kept_for), latest)


def _buttons(row: VolumeChange, deciding: Deciding) -> Iterator[Button]:
    if deciding.is_there:
        return
    match row.phase:
        case Phase.ASKED | Phase.APPROVED:
            yield Button(GIVE_BACK, "Withdraw", row.id)
        case Phase.HELD if row.returned_by is None:
            ask = Confirm("Put it back now?", f"{change_of(row)} ends now.", "Put back")
            yield Button(GIVE_BACK, "Put back now", row.id, confirm=ask)
        case _:
            pass
