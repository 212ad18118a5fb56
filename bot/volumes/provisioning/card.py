"""Cards of pools that are created or deleted: the question before, and the progress."""

from collections.abc import Callable, Iterator

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Settings
from bot.people.people import name_of
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.volumes.provisioning.plan import NamedAccount, PoolOrder, PoolPlan, written
from bot.volumes.provisioning.tables import POOL_REQUEST, PoolPhase, PoolRequest, PoolVerb
from bot.volumes.wording import UNKNOWN, capacity, money, throughput

GO, ASK, WITHDRAW = "anf.pool", "anf.pool-ask", "anf.pool-withdraw"
_STATES = {
    PoolPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    PoolPhase.WORKING: ("In progress", Tone.WORKING),
    PoolPhase.DONE: ("Done", Tone.GOOD),
    PoolPhase.FAILED: ("Failed", Tone.BAD),
    PoolPhase.DENIED: ("Denied", Tone.BAD),
    PoolPhase.EXPIRED: ("Expired", Tone.STOPPED),
    PoolPhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}
_BILLED = "Azure bills the whole pool from its creation, whatever it holds."
_EMPTY = (
    "It has no volumes, which is checked again before. Storage classes and backends of Trident that"
    " name the pool can create no volumes afterwards."
)
_OTHERS = "It was not created by Quartermaster: check that it is not reserved for later."


def question(plan: PoolPlan) -> Reply:
    """What an order does and costs, with the button that requests it."""
    order = plan.order
    is_new = order.verb is PoolVerb.CREATE
    lines = [plain(_BILLED if is_new else _EMPTY)]
    if not order.is_own:
        lines.append(plain(_OTHERS))
    lines.append(plain("An approver other than you has to approve it."))
    facts = (
        *((("Subscription", code(order.subscription)),) if plan.is_wide else ()),
        ("Account", code(order.account)),
        ("Level", plain(order.level)),
        ("QoS", plain(_qos(order.qos, order.mibps))),
        ("Size", plain(capacity(order.size_bytes))),
        ("Monthly cost", plain(_bill(order.verb, plan.cost))),
    )
    button = Button(GO, "Request it", written(order), "primary" if is_new else "danger")
    title = f"{order.verb.capitalize()} capacity pool {order.pool}?"
    card = Card(title, lines=tuple(lines), facts=facts, buttons=(button,))
    return Reply(card=card, is_question=True)


def ask_button(at: NamedAccount, pool: str) -> Button:
    """The button that asks whether to delete a pool."""
    order = PoolOrder(
        verb=PoolVerb.DELETE, subscription=at.subscription, account=at.account, pool=pool
    )
    return Button(ASK, f"Delete {pool} ...", written(order))


def pool_card(
    row: PoolRequest, asker: str, deciding: RequestView, shown_in: str, *, is_wide: bool
) -> Card:
    """The card of a request; in the channel where it was made it can be withdrawn.

    `is_wide` names the subscription, if there are several.
    """
    state, tone = _STATES[PoolPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    can_withdraw = row.phase == PoolPhase.ASKED and row.channel == shown_in
    own = (Button(WITHDRAW, "Withdraw", row.id),) if can_withdraw else ()
    return Card(
        title=f"{row.verb.capitalize()} capacity pool {row.pool}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, asker, is_wide=is_wide)),
        buttons=(*deciding.buttons, *own),
    )


def _lines(row: PoolRequest, deciding: RequestView) -> Iterator[Markup]:
    if row.phase == PoolPhase.ASKED:
        yield plain(_BILLED if row.verb == PoolVerb.CREATE else _EMPTY)
        if not row.is_own:
            yield plain(_OTHERS)
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: PoolRequest, asker: str, *, is_wide: bool) -> Iterator[tuple[str, Markup]]:
    if is_wide:
        yield "Subscription", code(row.subscription)
    yield "Account", code(f"{row.resource_group}/{row.account}")
    yield "Level", plain(row.level)
    yield "QoS", plain(_qos(row.qos, row.mibps))
    yield "Size", plain(capacity(row.size_bytes))
    yield "Monthly cost", plain(_bill(PoolVerb(row.verb), row.cost))
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _qos(qos: str, mibps: int | None) -> str:
    return qos if mibps is None else f"{qos}, {throughput(float(mibps))}"


def _bill(verb: PoolVerb, cost: float | None) -> str:
    if cost is None:
        return f"{UNKNOWN}: anf.price_per_gib_month has no price of its level"
    return f"{money(cost)} {'more' if verb is PoolVerb.CREATE else 'less'}"


class PoolRequestRenderer:
    """Renders requests; the buttons to decide are only on the approvers' card."""

    kind = POOL_REQUEST

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a request in this channel; None if there is no such request."""
        row = session.get(PoolRequest, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(POOL_REQUEST, row.id, row.channel)
        settings = self._settings()
        found = deciding(session, self._approvals, settings, asked, channel)
        is_wide = settings.anf is not None and settings.anf.has_several
        return pool_card(row, asker, found, channel, is_wide=is_wide)
