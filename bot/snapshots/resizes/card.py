"""Cards of resizes: the question before one, and its progress. Only the renderer reads rows."""

from collections.abc import Callable, Iterator, Sequence

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Settings
from bot.people.people import name_of
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.snapshots.resizes.plan import ResizePlan, ResizeRequest, written
from bot.snapshots.resizes.record import MOUNT_IT
from bot.snapshots.resizes.tables import RESIZE, Resize, ResizePhase
from bot.volumes.wording import capacity, money

GO, WITHDRAW = "pvc.resize", "pvc.resize-withdraw"
_FOR_GOOD = "This is permanent: PVCs cannot shrink."
_STATES = {
    ResizePhase.ASKED: ("Waiting for approval", Tone.WAITING),
    ResizePhase.PATCHING: ("Pending", Tone.WORKING),
    ResizePhase.GROWING: ("Growing", Tone.WORKING),
    ResizePhase.MOUNTING: ("Waiting for a pod to mount it", Tone.WAITING),
    ResizePhase.DONE: ("Grown", Tone.GOOD),
    ResizePhase.FAILED: ("Failed", Tone.BAD),
    ResizePhase.DENIED: ("Denied", Tone.BAD),
    ResizePhase.EXPIRED: ("Expired", Tone.STOPPED),
    ResizePhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}


def question(asked: ResizeRequest, plan: ResizePlan) -> Reply:
    """What a resize does and costs, with the button that requests it."""
    lines = [plain(_FOR_GOOD)]
    if plan.needs_approval:
        lines.append(plain("An approver other than you has to approve it."))
    facts = (
        ("Size", plain(f"{capacity(plan.from_bytes)} → {capacity(asked.size_bytes)}")),
        ("Class", plain(plan.claim.spec.storage_class_name or "none")),
        ("Monthly cost", plain(_offered(plan))),
    )
    label = "Request it" if plan.needs_approval else "Grow it"
    button = Button(GO, label, written(asked), "primary")
    title = f"Grow {asked.claim} to {capacity(asked.size_bytes)}?"
    return Reply(
        card=Card(title, lines=tuple(lines), facts=facts, buttons=(button,)), is_question=True
    )


def resize_card(row: Resize, asker: str, deciding: RequestView, shown_in: str) -> Card:
    """The card of a resize; in the channel of the request it can be withdrawn."""
    state, tone = _STATES[ResizePhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    own = () if row.channel != shown_in else tuple(_buttons(row))
    return Card(
        title=f"Resize PVC {row.claim_name} to {capacity(row.size_bytes)}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, asker)),
        buttons=(*deciding.buttons, *own),
    )


def waiting(rows: Sequence[Resize]) -> tuple[Markup, ...]:
    """Lines of the resizes that wait for a decision."""
    return tuple(
        join(code(row.claim_name), plain(f" of {row.team}: grow to {capacity(row.size_bytes)},"
             " requested "), when(row.asked_at))
        for row in rows
    )  # fmt: skip


def _buttons(row: Resize) -> Iterator[Button]:
    if row.phase == ResizePhase.ASKED:
        yield Button(WITHDRAW, "Withdraw", row.id)


def _lines(row: Resize, deciding: RequestView) -> Iterator[Markup]:
    if row.phase == ResizePhase.ASKED:
        yield plain(_FOR_GOOD)
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    if row.phase == ResizePhase.MOUNTING:
        yield plain(MOUNT_IT)
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: Resize, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Size", plain(f"{capacity(row.from_bytes)} → {capacity(row.size_bytes)}")
    yield "Class", plain(row.storage_class or "none")
    yield "Monthly cost", plain(_more(row.cost))
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _offered(plan: ResizePlan) -> str:
    if plan.cost is None or plan.cost_before is None:
        return _more(plan.cost)
    return (
        f"{money(plan.cost_before)} → {money(plan.cost_before + plan.cost)}"
        f" ({money(plan.cost)} more)"
    )


def _more(cost: float | None) -> str:
    return "unknown: its class has no price" if cost is None else f"{money(cost)} more"


class ResizeRenderer:
    """Renders resizes; the buttons to decide are only on the approvers' card."""

    kind = RESIZE

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a resize in this channel; None if there is no such resize."""
        row = session.get(Resize, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(RESIZE, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return resize_card(row, asker, found, channel)
