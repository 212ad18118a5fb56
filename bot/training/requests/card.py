"""The card of a request to submit a run above a cost limit. Only the renderer reads rows."""

import shlex
from collections.abc import Callable, Iterator
from decimal import Decimal

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Settings
from bot.durations import format_duration
from bot.masking import mask
from bot.people.people import name_of
from bot.slack.card import Button, Card, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.training.placing.limits import CostlyRun, ExcessCost
from bot.training.requests.tables import RUN_REQUEST, RequestPhase, RunRequest, asked_run
from bot.training.submission.sweep_terms import SweepTerms
from bot.training.tables import Run
from bot.training.templates.wording import order_words
from bot.training.wording import amounts_of

WITHDRAW = "train.withdraw"
_HOUR = 3600
_STATES = {
    RequestPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    RequestPhase.SUBMITTED: ("Approved and submitted", Tone.GOOD),
    RequestPhase.REFUSED: ("Not submitted", Tone.BAD),
    RequestPhase.DENIED: ("Denied", Tone.BAD),
    RequestPhase.EXPIRED: ("Expired", Tone.STOPPED),
    RequestPhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}


def request_card(
    row: RunRequest, asker: str, run: str, deciding: RequestView, shown_in: str
) -> Card:
    """The card of a request; in the channel where it was made it can be withdrawn.

    `asker` is the name of the requester, and `run` the reference of the submitted run.
    """
    state, tone = _STATES[RequestPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    can_withdraw = row.is_live and row.channel == shown_in
    own = (Button(WITHDRAW, "Withdraw", row.id),) if can_withdraw else ()
    return Card(
        title=f"{row.what.capitalize()} {row.name} of {row.team}, above a cost limit",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, asker, run)),
        buttons=(*deciding.buttons, *own),
    )


def _lines(row: RunRequest, deciding: RequestView) -> Iterator[Markup]:
    asked = asked_run(row)
    if row.is_live:
        yield plain("It is submitted once its cost is approved. Until then it has no place in a"
                    " queue, and its name stays free.")  # fmt: skip
        what = "Each run" if asked.sweep else "It"
        yield from (plain(each) for each in order_words(asked.places, what))
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: RunRequest, asker: str, run: str) -> Iterator[tuple[str, Markup]]:
    asked = asked_run(row)
    spec = asked.places[0].spec
    if run:
        yield "Run", code(run)
    for each in asked.costs:
        yield f"Cost on {each.template}", plain(_cost(asked, each))
    if asked.sweep is not None:
        yield from _sweep_facts(asked.sweep)
    yield "Uses", plain(f"{amounts_of(spec)}{' for each run' if asked.sweep else ''}")
    yield "Image", code(spec.image)
    if spec.command:
        yield "Command", code(mask(shlex.join(spec.command)))
    if spec.data:
        yield "Data", plain(", ".join(each.reference for each in spec.data))
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _sweep_facts(sweep: SweepTerms) -> Iterator[tuple[str, Markup]]:
    values = "; ".join(f"{each.name}={','.join(each.values)}" for each in sweep.parameters)
    yield "Cells", plain(f"{sweep.cells}: {mask(values)}")
    yield "At once", plain(f"{sweep.at_once} at most")


def _cost(asked: CostlyRun, excess: ExcessCost) -> str:
    """What it costs on a template, in total if it has a time limit, and the limit."""
    spec = next(each.spec for each in asked.places if each.template == excess.template)
    limit, most = spec.time_limit_seconds, ""
    if excess.hourly is not None and limit and spec.time_limit is not None:
        total = excess.hourly / (excess.at_once or 1) * limit / _HOUR
        within = format_duration(spec.time_limit)
        most = f", {_total(asked, total, excess.currency)} of {within}"
    elif excess.hourly is not None:
        most = ", without a time limit"
    product = f" ({excess.product})" if excess.product else ""
    return f"{excess.cost}{product}{most}; the limit is {excess.limit_words}"


def _total(asked: CostlyRun, of_one: Decimal, currency: str) -> str:
    """The most that it costs in all, where `of_one` is that of a run."""
    if asked.sweep is None:
        return f"at most {of_one:,.2f} {currency} within its time limit"
    cells = asked.sweep.cells
    return (
        f"at most {of_one * cells:,.2f} {currency} in all ({cells} cells x {of_one:,.2f}) within"
        " their time limit"
    )


class RunRequestRenderer:
    """Renders requests; the buttons to decide are only on the approvers' card."""

    kind = RUN_REQUEST

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a request in this channel; None if there is no such request."""
        row = session.get(RunRequest, subject_id)
        if row is None:
            return None
        run = session.get(Run, row.run_id) if row.run_id and not row.sweep else None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(RUN_REQUEST, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return request_card(row, asker, run.reference if run else "", found, channel)
