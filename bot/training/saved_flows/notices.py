"""Thread replies of flows on a schedule: why a slot started nothing."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from bot.slack.markup import FormatCommand, Markup, code, join, person, sentence, when
from bot.slack.messages import ThreadMessage, post_once
from bot.training.saved_flows.tables import Flow


def skipped(
    session: Session, flow: Flow, slot: datetime, format_command: FormatCommand, now: datetime
) -> None:
    """Posts that a slot was skipped, as the last runs are live; the card counts further ones."""
    stop = code(format_command(f"train flow unschedule {flow.name}"))
    lines = [
        join("Flow ", code(flow.name), " was not started at ", when(slot), ": ",
             sentence(flow.reason)),
        join("It is skipped until they have ended. ", stop, " stops its schedule."),
    ]  # fmt: skip
    _post(session, flow, f"skipped-{slot.isoformat()}", lines, now)


def refused(
    session: Session, flow: Flow, slot: datetime, format_command: FormatCommand, now: datetime
) -> None:
    """Notifies who scheduled the flow why a slot started nothing."""
    run = code(format_command(f"train flow run {flow.name}"))
    lines = [
        join(person(flow.scheduler or flow.person), " Flow ", code(flow.name),
             " was not started at ", when(slot), ". ", sentence(flow.reason)),
    ]  # fmt: skip
    lines += [sentence(flow.unblock)] if flow.unblock else []
    if flow.next_at is not None:
        lines.append(join("Its next start is ", when(flow.next_at), "; ", run, " starts it now."))
    _post(session, flow, f"refused-{slot.isoformat()}", lines, now, is_notice=True)


def paused(session: Session, flow: Flow, now: datetime) -> None:
    """Posts that a schedule is paused because its owner may not submit runs."""
    lines = [
        join("The schedule of flow ", code(flow.name), " is paused. ", sentence(flow.reason)),
        sentence(flow.unblock),
    ]
    _post(session, flow, f"paused-{now.isoformat()}", lines, now, is_notice=True)


def _post(
    session: Session,
    flow: Flow,
    purpose: str,
    lines: Sequence[Markup],
    now: datetime,
    *,
    is_notice: bool = False,
) -> None:
    owner = (flow.scheduler or flow.person) if is_notice else None
    note = ThreadMessage(purpose, tuple(lines), broadcast=True, owner=owner)
    post_once(session, flow.subject, flow.channel, note, now)
