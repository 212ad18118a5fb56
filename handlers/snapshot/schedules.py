"""/snapshot schedule: take snapshots of PVCs on a schedule."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import WholeNumber
from bot.slack.grammar.schedule_parameters import Cron
from bot.snapshots.schedules import replies as answers
from bot.snapshots.schedules.card import UNSCHEDULE
from bot.snapshots.schedules.service import ScheduleRequest, following
from handlers.snapshot.snapshots import ClaimName, KeepTime

snapshot = Part("snapshot")


@snapshot.verb(
    "schedule",
    "Take snapshots of a PVC on a schedule, or change the schedule",
    right=Right.SNAPSHOT_CREATE,
    mutates=True,
    repeats=True,
    into=ScheduleRequest,
    examples=(
        'schedule imagenet "0 2 * * *" --keep 7d --max 14',
        'schedule imagenet "0 */6 * * *" --max 28',
    ),
    team=TEAM,
    cluster=CLUSTER,
)
@snapshot.argument("claim", ClaimName(), help="PVC of the team")
@snapshot.argument("cron", Cron(), help="Cron pattern in the team's time zone, in quotes")
@snapshot.option("--keep", KeepTime(), help="How long to keep each snapshot")
@snapshot.option("--max", "most", WholeNumber(1, 1000), help="How many to keep (14 without --keep)")
def schedule(ctx: Context, asked: ScheduleRequest) -> Reply:
    """Answers when they are taken; one card shows all of them."""
    ctx.team()
    row = ctx.snapshots.schedules.schedule(ctx.session, ctx.caller, asked, ctx.now)
    return answers.scheduled(row, following(row), ctx.format_command)


@snapshot.verb(
    "unschedule",
    "Stop taking snapshots of a PVC on a schedule",
    right=Right.SNAPSHOT_CREATE,
    mutates=True,
    repeats=True,
    examples=("unschedule imagenet",),
    team=TEAM,
    cluster=CLUSTER,
)
@snapshot.argument("claim", ClaimName(), help="PVC of the team")
def unschedule(ctx: Context, claim: str, cluster: str | None) -> Reply:
    """Answers what stays, and how to start the schedule again."""
    ctx.team()
    row = ctx.snapshots.schedules.find(ctx.session, ctx.caller, claim, cluster)
    return answers.unscheduled(
        ctx.snapshots.schedules.unschedule(ctx.session, ctx.caller, row, ctx.now),
        ctx.format_command,
    )


def _of_schedule(ctx: Context, row_id: str) -> str:
    return ctx.snapshots.schedules.get(ctx.session, row_id).team


@snapshot.button(UNSCHEDULE, right=Right.SNAPSHOT_CREATE, team=_of_schedule, repeats=True)
def click_unschedule(ctx: Context, row_id: str) -> Reply:
    """Stops the schedule of a card."""
    row = ctx.snapshots.schedules.get(ctx.session, row_id)
    return answers.unscheduled(
        ctx.snapshots.schedules.unschedule(ctx.session, ctx.caller, row, ctx.now),
        ctx.format_command,
    )


@snapshot.verb(
    "schedules",
    "The team's snapshot schedules",
    right=Right.SNAPSHOT_READ,
    examples=("schedules",),
    team=TEAM,
)
def schedules(ctx: Context) -> Reply:
    """Answers with a table; schedules of snapscheduler are listed below it."""
    name, _ = ctx.team()
    rows = ctx.snapshots.schedules.listing(ctx.session, name)
    return answers.schedules(name, rows, ctx.snapshots.schedules.foreign(name), ctx.format_command)
