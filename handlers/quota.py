"""/quota: status, requests for overrides and base quotas, history, and revoking."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.commands.context import Context
from bot.durations import format_duration
from bot.people.access import Right
from bot.quotas.overrides.effect import Effect
from bot.quotas.overrides.request import OverrideRequest
from bot.quotas.replies import Past, history_card, status_card
from bot.quotas.steps.notices import DECLINE, REQUEST
from bot.quotas.tables import Override
from bot.quotas.wording import change, title
from bot.quotas.wording import number as row_number
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import FlavorName
from bot.slack.grammar.declarations import CLUSTER, TEAM, Command, Verb, of_no_team
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.grammar.parameters import Amount, Duration, GpuAmount, Pattern, TeamName
from bot.slack.markup import Markup, channel, code, join, plain, when


class OverrideNumber(Pattern):
    """The number of an override."""

    word = "NUMBER"
    rule = re.compile(r"[0-9a-f]{6,32}")
    form = "an override number of 6 letters and digits, as shown on its card"
    example = "4f09ab"


quota = Command("quota", "GPU quota: what your team may use, is using and has pending")


@quota.verb(
    "status",
    "Show the quota by GPU type",
    right=Right.QUOTA_READ,
    examples=("status", "status --all"),
    team=TEAM,
    shares=True,
)
@quota.option("--all", "everybody", flag=True, help="All teams side by side")
def status(ctx: Context, *, everybody: bool, team: str | None) -> Reply:
    """The figures of the caller's team, or of all teams if there is none."""
    own = team or ctx.caller.team
    teams = ctx.settings.teams if everybody or own is None else (own,)
    return Reply(card=status_card(ctx.quotas.status(ctx.session, teams)))


@dataclass(frozen=True)
class OverrideOptions:
    """The options of `/quota request`."""

    amount: Amount
    length: timedelta
    reason: str
    gpu_type: str | None
    donor: str | None
    break_glass: bool
    cluster: str | None


def _request(ctx: Context, options: OverrideOptions) -> OverrideRequest:
    return OverrideRequest(
        team=ctx.team()[0],
        amount=options.amount,
        reason=options.reason,
        length=options.length,
        gpu_type=options.gpu_type,
        donor=options.donor,
        break_glass=options.break_glass,
        cluster=options.cluster,
    )


def _foresee(ctx: Context, _verb: Verb, options: OverrideOptions) -> Sequence[Markup]:
    return _foreseen(*ctx.quotas.outlook(ctx.session, _request(ctx, options), ctx.caller, ctx.now))


def _foreseen(row: Override, effect: Effect | None) -> Sequence[Markup]:
    if effect is None:
        return (plain(f"What it would change for {row.team} is unknown at the moment."),)
    before, after = (f"{each.nominal.normalize():f}" for each in effect.taker)
    now = f"{row.team} has a nominal quota of {before} GPUs of {row.flavor}"
    return (join(plain(f"{now}. It would be {after}"), _length(row), "."),)


@quota.verb(
    "request",
    "Request more GPUs for a limited time; another person approves it",
    right=Right.QUOTA_REQUEST,
    mutates=True,
    into=OverrideOptions,
    examples=(
        'request +8 --for 3d --reason "CVPR deadline"',
        'request 12 --for 8h --reason "last ablations" --type h100',
        'request +4 --for 1d --reason "swap" --from team-b',
    ),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(
        fields=("length", "reason", "gpu_type", "donor"),
        watched=("amount", "length", "gpu_type", "donor"),
        foresee=_foresee,
    ),
)
@quota.argument("amount", GpuAmount(), help="A change such as +8, or the new total")
@quota.option("--for", "length", Duration(), default=timedelta(days=1), help="How long it lasts")
@quota.option("--reason", required=True, help="Reason, shown to the approvers")
@quota.option("--type", "gpu_type", FlavorName(), help="GPU type, if the team has more than one")
@quota.option("--from", "donor", TeamName(), help="Team that lends the GPUs")
@quota.option("--break-glass", flag=True, help="Admins only: approve immediately and post an alert")
def request(ctx: Context, options: OverrideOptions) -> Reply:
    """The receipt: what was requested, where it is decided, and until when."""
    request = _request(ctx, options)
    return receipt(ctx, ctx.quotas.request(ctx.session, request, ctx.caller, ctx.now))


@dataclass(frozen=True)
class BaseOptions:
    """The options of `/quota set`."""

    amount: Amount
    reason: str
    gpu_type: str | None
    cluster: str | None
    team: str | None


def _base_request(ctx: Context, options: BaseOptions) -> OverrideRequest:
    return OverrideRequest(
        team=options.team or ctx.team()[0],
        amount=options.amount,
        reason=options.reason,
        gpu_type=options.gpu_type,
        cluster=options.cluster,
    )


def _foresee_base(ctx: Context, _verb: Verb, options: BaseOptions) -> Sequence[Markup]:
    request = _base_request(ctx, options)
    return _foreseen(*ctx.quotas.base_outlook(ctx.session, request, ctx.caller, ctx.now))


@quota.verb(
    "set",
    "Change a team's base quota permanently; another person approves it",
    right=Right.QUOTA_SET,
    mutates=True,
    into=BaseOptions,
    examples=("set 8 --team team-a",),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(
        fields=("reason", "gpu_type"), watched=("amount", "gpu_type"), foresee=_foresee_base
    ),
)
@quota.argument("amount", GpuAmount(), help="The new nominal quota, or a change to it")
@quota.option("--reason", default="change of the base quota", help="Reason, shown to the approvers")
@quota.option("--type", "gpu_type", FlavorName(), help="GPU type, if the team has more than one")
def set_base(ctx: Context, options: BaseOptions) -> Reply:
    """The receipt: what was requested, where it is decided, and until when."""
    request = _base_request(ctx, options)
    return receipt(ctx, ctx.quotas.set_base(ctx.session, request, ctx.caller, ctx.now))


@quota.verb(
    "history",
    "Show past requests: requester, approvers and outcome",
    right=Right.QUOTA_READ,
    examples=("history",),
    team=TEAM,
)
def history(ctx: Context, team: str | None) -> Reply:
    """The newest overrides of the caller's team, or of all teams if there is none."""
    whose = team or ctx.caller.team
    rows = ctx.quotas.history(ctx.session, whose)
    entries = [Past(row, ctx.quotas.decision(ctx.session, row).people) for row in rows]
    return Reply(card=history_card(entries, whose))


@quota.verb(
    "revoke",
    "End an override early: the newest, or the one with this number",
    right=Right.QUOTA_READ,
    mutates=True,
    examples=("revoke",),
    team=TEAM,
)
@quota.argument("number", OverrideNumber(), required=False, help="From the card or the history")
def revoke(ctx: Context, number: str | None) -> Reply:
    """Ends an override early."""
    row = ctx.quotas.revoke(ctx.session, number, ctx.caller, ctx.now)
    effect = "It had not started" if row.starts_at is None else "Restoring the quota"
    return Reply((plain(f"Revoked: {title(row)}. {effect}."),))


@quota.button("quota.adopt", right=Right.QUOTA_SET, team=of_no_team)
def adopt(ctx: Context, value: str) -> Reply:
    """Makes the external value the base."""
    taken = ctx.quotas.take_over(ctx.session, value, ctx.caller, ctx.now, theirs=True)
    kind = ctx.quotas.words(taken.cluster).queue
    return Reply((plain(f"The base of {kind} {taken.queue} is now the external value."),))


@quota.button("quota.rewrite", right=Right.QUOTA_SET, team=of_no_team)
def rewrite(ctx: Context, value: str) -> Reply:
    """Overwrites the external value."""
    taken = ctx.quotas.take_over(ctx.session, value, ctx.caller, ctx.now, theirs=False)
    kind = ctx.quotas.words(taken.cluster).queue
    return Reply((plain(f"Setting {kind} {taken.queue} back to the expected value."),))


def _of_step(ctx: Context, step_id: str) -> str:
    return ctx.services.quotas.steps.get(ctx.session, step_id).team


@quota.button(REQUEST, right=Right.QUOTA_REQUEST, team=_of_step)
def click_step(ctx: Context, step_id: str) -> Reply:
    """Makes the request for which a workflow asked."""
    steps = ctx.services.quotas.steps
    row = steps.get(ctx.session, step_id)
    return receipt(ctx, steps.request(ctx.session, ctx.caller, row, ctx.now))


@quota.button(DECLINE, right=Right.QUOTA_READ, team=_of_step)
def click_unstep(ctx: Context, step_id: str) -> Reply:
    """Declines what a workflow asked for."""
    steps = ctx.services.quotas.steps
    steps.decline(ctx.session, ctx.caller, steps.get(ctx.session, step_id), ctx.now)
    return Reply((plain("Declined. Nothing was requested, and the workflow ends there."),))


def _length(row: Override) -> Markup:
    if row.duration_seconds is None:
        return Markup(", permanently")
    return plain(f", for {format_duration(timedelta(seconds=row.duration_seconds))}")


def receipt(ctx: Context, row: Override) -> Reply:
    """What was requested, where it is decided, and until when."""
    until = ctx.quotas.decision(ctx.session, row).open_until
    where = ctx.settings.approvals.channel
    place = join(" in ", channel(where)) if where else Markup("")
    lines = [join(plain(f"Requested for {row.team}: {change(row)}"), _length(row), ".")]
    if until is not None:
        lines.append(join("Approvers can decide", place, " until ", when(until), "."))
    undo = code(ctx.format_command(f"quota revoke {row_number(row)}"))
    return Reply((*lines, join("Use ", undo, " to withdraw it.")))
