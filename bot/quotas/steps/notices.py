"""The message that asks a person whether a workflow may request quota in their name."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot.durations import format_duration
from bot.quotas.steps.tables import QuotaStep
from bot.slack.card import Button
from bot.slack.markup import join, plain
from bot.slack.messages import ThreadMessage, post_once

REQUEST, DECLINE = "quota.step", "quota.unstep"


def offered(session: Session, row: QuotaStep, now: datetime) -> None:
    """Asks the person; nothing happens without their click."""
    gpus = f"{row.gpus} more GPU{'' if row.gpus == 1 else 's'}"
    gpus += f" of {row.gpu_type}" if row.gpu_type else ""
    length = format_duration(timedelta(seconds=row.seconds))
    lines = (
        plain(f"A workflow asks you to request {gpus} for {row.team}, for {length}."),
        join("Reason: ", plain(row.reason)),
        plain("Slack does not say who started it. Nothing is requested unless you click Request."),
    )
    note = ThreadMessage(
        "offer",
        lines,
        in_thread=False,
        to=row.person,
        team=row.team,
        buttons=(Button(REQUEST, "Request", row.id, "primary"), Button(DECLINE, "Decline", row.id)),
    )
    post_once(session, row.subject, row.person, note, now)
