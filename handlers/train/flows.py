"""/train flow: flows saved under a name, started by hand or on a schedule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.commands.context import Context
from bot.errors import UsageError
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Choice, Reference, RunReference, ShortName
from bot.slack.grammar.schedule_parameters import Cron, ZoneName
from bot.training.saved_flows import replies as answers
from bot.training.saved_flows.card import flow_card
from bot.training.saved_flows.tables import Flow

train = Part("train")

_OPTIONS = {"run": "save", "suffix": "run", "cron": "schedule", "zone": "schedule", "argo": "show"}
_READING = frozenset({"list", "show"})


class FlowName(ShortName):
    """The name of a saved flow."""

    word = "FLOW"
    example = "nightly"


class Suffix(ShortName):
    """What stands behind the names of runs."""

    word = "SUFFIX"
    example = "lr2"


@dataclass(frozen=True)
class FlowAsked:
    """The arguments and options of `/train flow`."""

    what: str
    name: str | None
    run: Reference | None
    suffix: str | None
    cron: str | None
    zone: str | None
    argo: bool


@train.verb(
    "flow",
    "Runs that wait for each other, saved under a name: start them together, or on a schedule",
    right=Right.RUN_READ,
    mutates=True,
    repeats=True,
    into=FlowAsked,
    examples=(
        "flow list",
        "flow save nightly lane",
        "flow show nightly",
        "flow show nightly --argo",
        "flow run nightly",
        "flow run nightly --suffix lr2",
        'flow schedule nightly --cron "0 2 * * *" --zone Europe/Berlin',
        "flow unschedule nightly",
        "flow delete nightly",
    ),
    team=TEAM,
)
@train.argument(
    "what",
    Choice("list", "save", "show", "run", "schedule", "unschedule", "delete"),
    default="list",
    help="What to do",
)
@train.argument("name", FlowName(), required=False, help="Name of the flow")
@train.argument("run", RunReference(), required=False, help="save: one of its runs")
@train.option("--suffix", Suffix(), help="run: what stands behind the names of its runs")
@train.option("--cron", Cron(), help="schedule: when it starts, in quotes")
@train.option("--zone", ZoneName(), help="schedule: time zone (default: the team's)")
@train.option("--argo", flag=True, help="show: as a Workflow of Argo, in YAML")
def flow(ctx: Context, asked: FlowAsked) -> Reply:
    """Lists, saves, shows, starts, schedules or deletes a flow of the team."""
    team = ctx.team()[0]
    _refuse_misplaced(ctx, asked)
    if asked.what not in _READING:
        ctx.require(Right.RUN_SUBMIT)
    if asked.what == "list":
        rows = ctx.training.saved_flows.listing(ctx.session, team)
        return answers.flows(team, rows, ctx.format_command)
    if asked.what == "save":
        return _save(ctx, asked)
    found = ctx.training.saved_flows.find(ctx.session, team, _needed(ctx, asked))
    return _ACTIONS[asked.what](ctx, found, asked)


def _save(ctx: Context, asked: FlowAsked) -> Reply:
    name = _needed(ctx, asked)
    if asked.run is None:
        raise UsageError(
            "`save` needs a run: the flow is that run with all that it waits for, and all that"
            " waits for it.",
            f"For example: `{ctx.format_command(f'train flow save {name} train')}`.",
        )
    run = ctx.training.runs.find(ctx.session, ctx.team()[0], asked.run)
    made = ctx.training.saved_flows.save(ctx.session, ctx.caller, name, run, ctx.now)
    return answers.saved(made, ctx.format_command)


def _show(ctx: Context, found: Flow, asked: FlowAsked) -> Reply:
    if asked.argo:
        text = ctx.training.saved_flows.argo(ctx.session, ctx.caller, found)
        return answers.argo(found, text)
    costs = ctx.training.saved_flows.costs(ctx.session, ctx.caller, found)
    return Reply(card=flow_card(ctx.session, found, ctx.format_command, costs))


def _run(ctx: Context, found: Flow, asked: FlowAsked) -> Reply:
    start = ctx.training.saved_flows.start
    made = start(ctx.session, ctx.caller, found, asked.suffix or "", ctx.now)
    return answers.started(made, ctx.format_command)


def _schedule(ctx: Context, found: Flow, asked: FlowAsked) -> Reply:
    if asked.cron is None:
        example = f'train flow schedule {found.name} --cron "0 2 * * *"'
        raise UsageError(
            "`schedule` needs `--cron`: when the flow starts.",
            f"Every night at 2: `{ctx.format_command(example)}`.",
        )
    pattern = (asked.cron, asked.zone)
    schedule = ctx.training.saved_flows.schedule
    second = schedule(ctx.session, ctx.caller, found, pattern, ctx.now)
    return answers.scheduled(found, second, ctx.format_command)


def _unschedule(ctx: Context, found: Flow, asked: FlowAsked) -> Reply:
    del asked
    options = ctx.training.saved_flows.unschedule(ctx.session, ctx.caller, found, ctx.now)
    return answers.unscheduled(found, options, ctx.format_command)


def _delete(ctx: Context, found: Flow, asked: FlowAsked) -> Reply:
    del asked
    ctx.training.saved_flows.delete(ctx.session, ctx.caller, found, ctx.now)
    return answers.deleted(found)


_ACTIONS: Mapping[str, Callable[[Context, Flow, FlowAsked], Reply]] = {
    "show": _show,
    "run": _run,
    "schedule": _schedule,
    "unschedule": _unschedule,
    "delete": _delete,
}


_EXAMPLES = {"save": " train", "schedule": ' --cron "0 2 * * *"'}


def _needed(ctx: Context, asked: FlowAsked) -> str:
    """The name of the flow; UsageError if it was left out."""
    if asked.name is None:
        example = f"train flow {asked.what} nightly{_EXAMPLES.get(asked.what, '')}"
        listing = ctx.format_command("train flow list")
        raise UsageError(
            f"`{asked.what}` needs the name of a flow.",
            f"For example `{ctx.format_command(example)}`. `{listing}` lists the team's flows.",
        )
    return asked.name


def _refuse_misplaced(ctx: Context, asked: FlowAsked) -> None:
    """UsageError for an option of another action."""
    for option, action in _OPTIONS.items():
        if getattr(asked, option) not in {None, False} and asked.what != action:
            spelled = "A run" if option == "run" else f"`--{option}`"
            usage = ctx.format_command("train help flow")
            raise UsageError(
                f"{spelled} only works with `{action}`, not with `{asked.what}`.",
                f"`{usage}` shows how each is written.",
            )
