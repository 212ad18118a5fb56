"""/gpu status, nodes, top, idle and show: who uses the GPUs, and how busy they are."""

import shlex
from collections.abc import Iterator
from datetime import timedelta
from zoneinfo import ZoneInfo

from bot.commands.context import Context
from bot.errors import NotAllowedError
from bot.gpus.minutes import Window
from bot.gpus.node_list import age_of, nodes_card
from bot.gpus.reports.ranking import By
from bot.gpus.reports.ranking_card import MINE, SNOOZE, idle_card, life_card, top_card
from bot.gpus.status import status_card
from bot.people.access import Right, Role
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Choice, Duration, Reference, RunReference
from bot.slack.markup import code, join, plain, when
from handlers.train.runs import of_run

gpu = Part("gpu")


@gpu.verb(
    "status",
    "How many GPUs are allocated, how busy they are, and what is waiting",
    right=Right.GPU_READ,
    examples=("status",),
)
def status(ctx: Context) -> Reply:
    """Allocation and usage of the clusters and of every team, each figure with its age."""
    return Reply(card=status_card(ctx.gpus.usage.status(ctx.session), ctx.now))


@gpu.verb(
    "nodes",
    "Nodes with GPUs: how full each is, and which teams use it",
    right=Right.GPU_READ,
    examples=("nodes",),
)
def nodes(ctx: Context) -> Reply:
    """The nodes with GPUs, from the watch cache."""
    found, clusters = ctx.gpus.usage.nodes(ctx.session)
    return Reply(card=nodes_card(found, age_of(clusters)))


@gpu.verb(
    "top",
    "Runs by GPU-hours: allocated, busy or idle",
    right=Right.GPU_READ,
    examples=("top", "top --by idle --for 1d", "top --all"),
    team=TEAM,
)
@gpu.option("--by", Choice(*By), default=By.HOURS, help="What to rank by")
@gpu.option(
    "--for",
    "length",
    Duration(timedelta(hours=1), timedelta(days=90)),
    default=timedelta(days=7),
    help="How far back",
)
@gpu.option("--all", "everybody", flag=True, help="Every team (admins only)")
def top(ctx: Context, *, by: str, length: timedelta, everybody: bool, team: str | None) -> Reply:
    """The top runs of the team, or of all teams for admins."""
    mine = whose(ctx, everybody=everybody)
    found = ctx.gpus.usage.top(ctx.session, mine, By(by), Window(ctx.now - length, ctx.now))
    whole = ctx.format_command(
        shlex.join(_whole(ctx, mine, length, everybody=everybody, team=team))
    )
    return Reply(card=top_card(found, f"GPU-hours of {mine or 'all teams'}", length, whole))


@gpu.verb(
    "idle",
    "Runs whose GPUs are idle: since when, the owner, and the GPU-hours lost",
    right=Right.GPU_READ,
    examples=("idle", "idle --all"),
    team=TEAM,
)
@gpu.option("--all", "everybody", flag=True, help="Every team (admins only)")
def idle(ctx: Context, *, everybody: bool) -> Reply:
    """The idle runs of the team, or of all teams for admins."""
    found = ctx.gpus.usage.idle(ctx.session, whose(ctx, everybody=everybody), ctx.now)
    asked = any(each.measures_gpus for each in ctx.settings.clusters.values())
    unknown = "GPU activity is unknown: no cluster has a source of GPU metrics."
    return Reply(card=idle_card(found, "" if asked else unknown, ctx.now))


@gpu.verb(
    "show",
    "GPU usage of a run over its lifetime",
    right=Right.RUN_READ,
    examples=("show lane", "show lane#2"),
    team=TEAM,
)
@gpu.argument("run", RunReference(), help="The run")
def show(ctx: Context, run: Reference) -> Reply:
    """GPU-hours, usage and memory of one run."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    return Reply(card=life_card(ctx.gpus.usage.life(ctx.session, found, ctx.now)))


@gpu.button(SNOOZE, right=Right.RUN_STOP, team=of_run, anywhere=True)
def click_snooze(ctx: Context, run_id: str) -> Reply:
    """Snoozes the notices and the stop of an idle run for four hours."""
    run = ctx.training.runs.get(ctx.session, run_id)
    until = ctx.training.idling.keep(ctx.session, ctx.caller, run, ctx.now)
    said = plain(". It is left alone and not listed as idle until ")
    return Reply((join("Snoozed ", code(run.reference), said, when(until), "."),))


def _of_series(ctx: Context, series_id: str) -> str | None:
    return ctx.gpus.usage.team_of(ctx.session, series_id)


@gpu.button(MINE, right=Right.RUN_SUBMIT, team=_of_series, anywhere=True, repeats=True)
def click_mine(ctx: Context, series_id: str) -> Reply:
    """Records the caller as the owner of a workload that was not started by the bot."""
    series = ctx.gpus.usage.claim(ctx.session, ctx.caller, series_id, ctx.now)
    return Reply((join("Recorded you as the owner of ", code(series.name), "."),))


def whose(ctx: Context, *, everybody: bool, what: str = "runs") -> str | None:
    """The team that the command is about; None means every team, for admins only."""
    if not everybody and not (ctx.caller.team is None and Role.ADMIN in ctx.caller.roles):
        return ctx.team()[0]
    if Role.ADMIN not in ctx.caller.roles:
        raise NotAllowedError(
            f"Only admins can see the {what} of every team.",
            f"Leave out `--all` to see your team's {what}.",
        )
    return None


def _whole(
    ctx: Context, mine: str | None, length: timedelta, *, everybody: bool, team: str | None
) -> Iterator[str]:
    """The words of the `/gpu report` command that lists every run of the same time and teams."""
    zone = ctx.settings.teams[mine].time_zone if mine else "UTC"
    first = (ctx.now - length).astimezone(ZoneInfo(zone)).date()
    yield from ("gpu", "report", "--by", "run", "--from", str(first))
    yield from ("--all",) if everybody else ()
    yield from ("--team", team) if team else ()
    yield "--csv"
