"""Cards of growths: the question before one, and its progress."""

from collections.abc import Callable, Iterator

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject as Requested
from bot.approvals.deciding import RequestView, deciding
from bot.config import Settings
from bot.people.people import name_of
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.volumes.growths.plan import SMALLEST, GrowthPlan, GrowthRequest, written
from bot.volumes.growths.tables import GROWTH, Growth, GrowthPhase
from bot.volumes.wording import capacity, money, throughput

GO, WITHDRAW = "anf.grow", "anf.grow-withdraw"
_FOR_GOOD = "This is permanent: PVCs cannot shrink."
_STATES = {
    GrowthPhase.CHECKING: ("Checking", Tone.WORKING),
    GrowthPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    GrowthPhase.PATCHING: ("Pending", Tone.WORKING),
    GrowthPhase.WAITING: ("Growing", Tone.WORKING),
    GrowthPhase.DONE: ("Grown", Tone.GOOD),
    GrowthPhase.FAILED: ("Failed", Tone.BAD),
    GrowthPhase.DENIED: ("Denied", Tone.BAD),
    GrowthPhase.EXPIRED: ("Expired", Tone.STOPPED),
    GrowthPhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}


def question(asked: GrowthRequest, plan: GrowthPlan) -> Reply:
    """What a growth does and costs, with the button that requests it."""
    lines = [plain(_FOR_GOOD)]
    if asked.size_bytes < SMALLEST:
        lines.append(plain(f"Azure creates and bills at least {capacity(SMALLEST)}."))
    if plan.needs_approval:
        lines.append(plain("An approver other than you has to approve it."))
    facts = (
        ("Size", plain(f"{capacity(plan.from_bytes)} → {capacity(plan.size_bytes)}")),
        ("Pool", plain(f"{plan.pool}: {capacity(plan.free_after_bytes)} free afterwards")),
        ("Throughput", plain(_throughput(plan.mibps_before, plan.mibps_after))),
        ("Cost", plain(_bill(plan.cost))),
    )
    label = "Request it" if plan.needs_approval else "Grow it"
    button = Button(GO, label, written(asked), "primary")
    title = f"Grow {asked.claim} to {capacity(asked.size_bytes)}?"
    return Reply(
        card=Card(title, lines=tuple(lines), facts=facts, buttons=(button,)), is_question=True
    )


def growth_card(row: Growth, asker: str, deciding: RequestView, shown_in: str) -> Card:
    """The card of a growth; in the channel of the request it can be withdrawn."""
    state, tone = _STATES[GrowthPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    return Card(
        title=f"Grow {row.claim_name} to {capacity(row.size_bytes)}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, asker)),
        buttons=(*deciding.buttons, *_buttons(row, shown_in)),
    )


def _buttons(row: Growth, shown_in: str) -> Iterator[Button]:
    if row.is_waiting and row.channel == shown_in:
        yield Button(WITHDRAW, "Withdraw", row.id)


def _lines(row: Growth, deciding: RequestView) -> Iterator[Markup]:
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    if row.phase == GrowthPhase.ASKED:
        yield plain(_FOR_GOOD)
    if row.is_live and row.obstacle:
        yield join("Kubernetes reports: ", sentence(row.obstacle))
    if row.is_live and row.trouble:
        yield join("*Late*: ", sentence(row.trouble), " Retrying.")
    for line in (row.reason, row.unblock):
        if line:
            yield sentence(line)


def _facts(row: Growth, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Size", plain(f"{capacity(row.from_bytes)} → {capacity(row.size_bytes)}")
    if row.pool:
        yield "Pool", plain(row.pool)
        yield "Throughput", plain(_throughput(row.mibps_before, row.mibps_after))
        yield "Cost", plain(_bill(row.cost))
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _throughput(before: float | None, after: float | None) -> str:
    if before == after:
        return f"{throughput(before)}, unchanged"
    return f"{throughput(before)} → about {throughput(after)}"


def _bill(cost: float | None) -> str:
    return f"{money(cost)} a month more of what the pool already costs"


class GrowthRenderer:
    """Renders growths; the buttons to decide are only on the approvers' card."""

    kind = GROWTH

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a growth in this channel; None if there is no such growth."""
        row = session.get(Growth, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = Requested(GROWTH, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return growth_card(row, asker, found, channel)
