"""/team: what a team has; create, change and remove teams, with approval."""

from dataclasses import dataclass

from bot.commands.context import Context
from bot.people.access import Right
from bot.quotas.overrides.request import OverrideRequest
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import FlavorName
from bot.slack.grammar.declarations import CLUSTER, Command, of_no_team
from bot.slack.grammar.parameters import Amount, GpuAmount, TeamName, WholeNumber
from bot.slack.grammar.slack_parameters import ChannelId, People
from bot.slack.markup import code, join, plain
from bot.teams.card import REMOVE, WITHDRAW, question
from bot.teams.service import TeamRequest
from handlers.quota import receipt

team = Command("team", "Teams: what a team has; create, change and remove teams")


class ObjectName(TeamName):
    """The name of an object in the cluster."""

    word = "NAME"
    form = "a name of lower-case letters, digits and hyphens, at most 63"
    example = "vision"


@team.verb(
    "show",
    "A team's namespace, queue, quota, people, and what its cluster lacks",
    right=Right.TEAM_READ,
    writing=("as_patch",),
    repeats=True,
    examples=("show", "show team-a"),
)
@team.argument("name", TeamName(), required=False, help="Team (default: the channel's)")
@team.option("--as-patch", flag=True, help="Write what hands a team of Slack over to GitOps")
def show(ctx: Context, name: str | None, *, as_patch: bool) -> Reply:
    """Its settings at once; what its cluster lacks follows."""
    reads, team_name = ctx.services.teams.reads, name or ctx.team()[0]
    if as_patch:
        return reads.handover(ctx.session, ctx.caller, team_name, ctx.now)
    return reads.show(ctx.session, ctx.caller, team_name)


@dataclass(frozen=True)
class TeamOptions:
    """The options of `/team create`."""

    name: str
    gpus: int
    namespace: str | None
    queue: str | None
    gpu_type: str | None
    cohort: str | None
    interactive_gpus: int | None
    interactive_type: str | None
    channel: str | None
    members: tuple[str, ...] | None
    leads: tuple[str, ...] | None
    as_patch: bool
    cluster: str | None


@team.verb(
    "create",
    "Create a team: namespace, role binding, queue and quota; another person approves it",
    right=Right.TEAM_CHANGE,
    mutates=True,
    into=TeamOptions,
    examples=(
        "create vision --gpus 8 --cohort gpus",
        "create speech --gpus 4 --interactive-gpus 2",
        "create speech --gpus 4 --as-patch",
    ),
    cluster=CLUSTER,
)
@team.argument("name", ObjectName(), help="Name of the new team")
@team.option("--gpus", WholeNumber(0, 1024), required=True, help="Nominal quota in GPUs")
@team.option("--namespace", ObjectName(), help="Its namespace (default: the team's name)")
@team.option("--queue", ObjectName(), help="Its queue (default: the team's name)")
@team.option("--type", "gpu_type", FlavorName(), help="GPU type, if the cluster has several")
@team.option("--cohort", ObjectName(), help="Cohort, KAI's parent Queue, or Run:ai's department")
@team.option("--interactive-gpus", WholeNumber(1, 1024), help="GPUs for its sessions alone")
@team.option("--interactive-type", FlavorName(), help="GPU type of these (default: the same)")
@team.option("--channel", ChannelId(), help="Its channel")
@team.option("--members", People(), help="People and user groups")
@team.option("--leads", People(), help="People and user groups who lead it")
@team.option("--as-patch", flag=True, help="Only write the manifests, for GitOps")
def create(ctx: Context, options: TeamOptions) -> Reply:
    """The receipt; the card shows the dry run, the approval and the progress."""
    asked = TeamRequest(
        team=options.name,
        gpus=options.gpus,
        namespace=options.namespace,
        queue=options.queue,
        gpu_type=options.gpu_type,
        above=options.cohort,
        interactive_gpus=options.interactive_gpus or 0,
        interactive_type=options.interactive_type,
        cluster=options.cluster,
        channel=options.channel,
        members=options.members or (),
        leads=options.leads or (),
    )
    teams = ctx.services.teams
    plan = teams.service.plan(ctx.session, asked)
    if options.as_patch:
        return teams.reads.patch(ctx.session, ctx.caller, plan, ctx.now)
    teams.service.create(ctx.session, ctx.caller, plan, ctx.now)
    said = f"Checking team {plan.team} by a dry run. Its card shows what would be created; an"
    return Reply((plain(f"{said} approver other than you decides then."),))


@dataclass(frozen=True)
class QuotaOptions:
    """The options of `/team set`."""

    name: str
    gpus: Amount
    reason: str
    gpu_type: str | None
    as_patch: bool
    cluster: str | None


@team.verb(
    "set",
    "Change a team's base quota permanently; another person approves it",
    right=Right.QUOTA_SET,
    mutates=True,
    into=QuotaOptions,
    examples=("set team-a --gpus 12", "set team-a --gpus 12 --as-patch"),
    cluster=CLUSTER,
)
@team.argument("name", TeamName(), help="The team")
@team.option("--gpus", GpuAmount(), required=True, help="New nominal quota, or a change such as +4")
@team.option("--reason", default="change of the base quota", help="Reason, shown to the approvers")
@team.option("--type", "gpu_type", FlavorName(), help="GPU type, if the team has more than one")
@team.option("--as-patch", flag=True, help="Only write the changed manifest, for GitOps")
def set_quota(ctx: Context, options: QuotaOptions) -> Reply:
    """The receipt: what was requested, where it is decided, and until when."""
    ctx.services.access.refuse_unknown(options.name)
    request = OverrideRequest(
        team=options.name,
        amount=options.gpus,
        reason=options.reason,
        gpu_type=options.gpu_type,
        cluster=options.cluster,
    )
    if options.as_patch:
        return ctx.services.teams.reads.quota_patch(ctx.session, ctx.caller, request, ctx.now)
    return receipt(ctx, ctx.quotas.set_base(ctx.session, request, ctx.caller, ctx.now))


@team.verb(
    "remove",
    "Remove a team that was created here and that nothing uses; another person approves it",
    right=Right.TEAM_CHANGE,
    mutates=True,
    repeats=True,
    examples=("remove vision", "remove team-a --as-patch"),
)
@team.argument("name", TeamName(), help="The team")
@team.option("--as-patch", flag=True, help="Only list the objects to delete, for GitOps")
def remove(ctx: Context, name: str, *, as_patch: bool) -> Reply:
    """Answers with what is deleted, and a button."""
    if as_patch:
        return ctx.services.teams.reads.removal_patch(ctx.session, ctx.caller, name, ctx.now)
    return question(ctx.services.teams.service.removable(ctx.session, name))


@team.button(REMOVE, right=Right.TEAM_CHANGE, team=of_no_team, once=True)
def click_remove(ctx: Context, name: str) -> Reply:
    """Requests the removal; its card shows the approval and the progress."""
    ctx.services.teams.service.remove(ctx.session, ctx.caller, name, ctx.now)
    return Reply(
        (join("Requested. Its card in this channel shows the progress of ", code(name), "."),)
    )


@team.button(WITHDRAW, right=Right.TEAM_CHANGE, team=of_no_team)
def click_withdraw(ctx: Context, row_id: str) -> Reply:
    """Withdraws a change that has not deleted anything."""
    service = ctx.services.teams.service
    row = service.get(ctx.session, row_id)
    service.withdraw(ctx.session, ctx.caller, row, ctx.now)
    ends = "Nothing was changed." if not row.is_live else "Its card will show what was created."
    return Reply((plain(f"Withdrawn. {ends}"),))
