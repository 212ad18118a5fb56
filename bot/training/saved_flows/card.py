"""The card of a saved flow: its runs, its schedule, its last start."""

from collections.abc import Iterator, Sequence

from sqlmodel import Session

from bot.slack.card import Card, Table, Tone
from bot.slack.markup import FormatCommand, Markup, code, join, plain, sentence, when
from bot.training.flows.awaited import Awaited
from bot.training.kinds import gpus_of
from bot.training.saved_flows.record import previous_of
from bot.training.saved_flows.service import FlowCosts
from bot.training.saved_flows.steps import FlowStep, steps_of
from bot.training.saved_flows.tables import FLOW, Flow, FlowPhase
from bot.training.wording import gpus, name_of

_STATES = {
    FlowPhase.SAVED: ("Saved", Tone.QUIET),
    FlowPhase.SCHEDULED: ("Scheduled", Tone.GOOD),
    FlowPhase.PAUSED: ("Schedule paused", Tone.WARNING),
    FlowPhase.DELETED: ("Deleted", Tone.STOPPED),
}


class FlowRenderer:
    """Renders saved flows; `format_command` writes a command as people type it."""

    kind = FLOW

    def __init__(self, format_command: FormatCommand) -> None:
        self._format_command = format_command

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The flow's card; the same in every channel."""
        del channel
        flow = session.get(Flow, subject_id)
        if flow is None or flow.phase not in _STATES:
            return None
        return flow_card(session, flow, self._format_command)


def flow_card(
    session: Session, flow: Flow, format_command: FormatCommand, costs: FlowCosts | None = None
) -> Card:
    """The card of a flow, with what it costs if that is given."""
    state, tone = _STATES[FlowPhase(flow.phase)]
    is_hindered = bool(flow.obstacle or flow.trouble or flow.reason)
    return Card(
        title=f"Flow {flow.name}",
        state=state,
        tone=Tone.WARNING if tone is Tone.GOOD and is_hindered else tone,
        lines=tuple(_lines(flow)),
        facts=tuple(_facts(session, flow, costs)),
        table=_table(steps_of(flow.steps), costs),
        footer=tuple(_footer(flow, format_command)),
    )


def last_words(runs: Sequence[Awaited]) -> str:
    """The runs of the last start, with those that have ended or live, in numbers."""
    live = sum(each.is_live for each in runs)
    names = ", ".join(each.reference for each in runs if each.run is not None)
    return f"{names} ({live} of {len(runs)} live)" if live else names


def _lines(flow: Flow) -> Iterator[Markup]:
    if flow.reason:
        yield sentence(flow.reason)
    if flow.skipped > 1:
        yield plain(f"{flow.skipped} starts in a row were skipped.")
    if flow.unblock:
        yield sentence(flow.unblock)
    if flow.obstacle:
        yield sentence(flow.obstacle)
    if flow.trouble:
        yield sentence(f"{flow.trouble} Retrying.")


def _facts(session: Session, flow: Flow, costs: FlowCosts | None) -> Iterator[tuple[str, Markup]]:
    if flow.cron:
        yield "Schedule", join(code(flow.cron), plain(f" in {flow.time_zone}"))
    if flow.next_at is not None:
        yield "Next", when(flow.next_at)
    if flow.scheduler is not None:
        yield "Runs for", plain(name_of(session, flow.workspace_id, flow.scheduler))
    if flow.last_at is not None:
        last = last_words(previous_of(session, flow))
        yield "Last", join(when(flow.last_at), plain(f": {last}" if last else ""))
    if costs is not None:
        yield from _costs(costs)
    yield "Saved", join(plain(f"{name_of(session, flow.workspace_id, flow.person)}, "),
                        when(flow.asked_at))  # fmt: skip
    if flow.ended_at is not None:
        yield "Deleted", when(flow.ended_at)


def _costs(costs: FlowCosts) -> Iterator[tuple[str, Markup]]:
    known = [each for each in costs.hourly.values() if each]
    if not known:
        return
    if costs.most is not None:
        yield "Costs", plain(f"at most {costs.most:,.2f} {costs.currency} within its time limits")
        return
    unknown = sum(each is None for each in costs.hourly.values())
    lacks = f"; of {unknown} unknown" if unknown else ""
    yield "Costs", plain(f"{sum(known):,.2f} {costs.currency} for an hour of each run{lacks}")


def _table(steps: Sequence[FlowStep], costs: FlowCosts | None) -> Table:
    has_costs = costs is not None and any(costs.hourly.values())
    header = ("Run", "After", "Image", "GPUs", *(("An hour",) if has_costs else ()))
    return Table(header, tuple(_row(each, costs if has_costs else None) for each in steps))


def _row(step: FlowStep, costs: FlowCosts | None) -> tuple[str, ...]:
    after = ", ".join(each.spelled for each in step.after)
    amount = gpus_of(step.spec)
    cells = (step.name, after, step.spec.image, gpus(amount) if amount else "")
    if costs is None:
        return cells
    price = costs.hourly.get(step.name)
    known = "unknown" if price is None else f"{price:,.2f} {costs.currency}" if price else ""
    return (*cells, known)


def _footer(flow: Flow, format_command: FormatCommand) -> Iterator[Markup]:
    if not flow.is_live:
        return
    run = code(format_command(f"train flow run {flow.name}"))
    stop = code(format_command(f"train flow unschedule {flow.name}"))
    also = join("; ", stop, " stops its schedule.") if flow.cron else plain(".")
    yield join(run, " starts it now", also)
