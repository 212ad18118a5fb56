"""/train: submit training runs, follow them, read their logs, stop and resubmit them."""

from dataclasses import dataclass
from datetime import timedelta

from bot.commands.context import Context
from bot.errors import NotFoundError, UsageError
from bot.people.access import Caller, Right
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import (
    ArtifactPath,
    ClaimMount,
    CodeVersion,
    CpuQuantity,
    DatasetMount,
    EnvironmentPair,
    FlavorName,
    ImageReference,
    MemoryQuantity,
    SecretPair,
    ShellWords,
    SweptValues,
)
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import (
    Choice,
    Duration,
    GpuCount,
    NodeCount,
    Reference,
    RunEndReference,
    RunName,
    RunReference,
    WholeNumber,
)
from bot.slack.markup import code, join, plain
from bot.training.external.listing import ExternalWorkload
from bot.training.flows.awaited import dependent_on
from bot.training.follows.card import UNFOLLOW
from bot.training.kinds import NAMES
from bot.training.kinds.pods.launchers import LAUNCHERS
from bot.training.logs.reads import LogRequest
from bot.training.requests.wording import waiting_lines
from bot.training.runs.card import people_of
from bot.training.runs.replies import external_card, list_card, log_card, why_card
from bot.training.submission.building import Submission
from bot.training.submission.presets import presets_of, with_preset
from bot.training.sweeps.asking import refuse_lonely
from bot.training.sweeps.cells import MAX, MIN
from bot.training.sweeps.early import MEDIAN
from bot.training.tables import Run
from handlers.button_values import row_of
from handlers.snapshot.snapshots import KeepTime, SnapshotName
from handlers.train.curves import (
    CURVES_HELP,
    FILE_HELP,
    OVER,
    OVER_HELP,
    CurvesAsked,
    curves_of,
)
from handlers.train.following import follow_log
from handlers.train.forms import SUBMISSION
from handlers.train.parameters import (
    AnyRun,
    FormName,
    MetricName,
    MetricNames,
    PodName,
    PresetName,
    PriorityName,
    StateKept,
    TemplateNames,
)
from handlers.train.record_card import record_card
from handlers.train.starting import restarted, resubmitted, started, templates_for
from handlers.train.submissions import SUBMISSIONS
from handlers.train.sweeps import (
    ask_to_stop,
    curves_of_sweep,
    show_sweep,
    submit_sweep,
    sweep_named,
)

BUTTON_TAIL = 50
_WITH_IT = "Runs that wait for its success are stopped, too"


@dataclass(frozen=True)
class LogAsked:
    """The arguments of /train logs."""

    run: Reference
    tail: int
    pod: str | None
    previous: bool
    file: bool
    follow: bool

    @property
    def request(self) -> LogRequest:
        """The requested part of the log."""
        return LogRequest(self.tail, self.pod or "", self.previous, self.file)


train = Part("train")


@train.verb(
    "submit",
    "Start a training run",
    right=Right.RUN_SUBMIT,
    mutates=True,
    into=Submission,
    examples=SUBMISSIONS,
    team=TEAM,
    cluster=CLUSTER,
    form=SUBMISSION,
)
@train.argument("name", RunName(), help="Name of the run")
@train.option("--image", ImageReference(), help="Container image, if no preset sets it")
@train.option("--gpus", GpuCount(minimum=0), help="GPUs, e.g. 2 or 0.5 (default: none)")
@train.option("--gpu-type", FlavorName(), help="GPU type, as in /quota status (default: any)")
@train.option("--cpu", CpuQuantity(), help="CPU cores (default: the team's, per GPU)")
@train.option("--memory", MemoryQuantity(), help="Memory (default: the team's, per GPU)")
@train.option("--shm", MemoryQuantity(), help="Size of /dev/shm, added to the memory")
@train.option(
    "--env", EnvironmentPair(), multiple=True, help="Environment variable; never a secret"
)
@train.option("--secret", SecretPair(), multiple=True, help="Environment variable from a Secret")
@train.option("--pvc", ClaimMount(), multiple=True, help="PVC to mount or to create")
@train.option("--data", DatasetMount(), multiple=True, help="Dataset to read from its cache")
@train.option("--artifact", ArtifactPath(), multiple=True, help="Output on a PVC to record")
@train.option("--kind", Choice(*NAMES), help="Kind of run (default: job)")
@train.option("--form", FormName(), help="Another form of the kind")
@train.option("--nodes", NodeCount(), help="Nodes, or a range such as 1:3 if they can change")
@train.option("--processes", WholeNumber(1, 64), help="Processes per node, for kinds that use it")
@train.option("--launcher", Choice(*LAUNCHERS), help="What starts them, if your command does not")
@train.option("--worker-command", ShellWords(), help="What the other nodes run instead of sshd")
@train.option("--port", WholeNumber(1024, 65535), help="Port of a notebook (usually 8888)")
@train.option("--efa", WholeNumber(1, 32), help="EFA adapters per node, for kinds with nodes")
@train.option("--host-network", flag=True, help="Use the host network, if the team may")
@train.option("--privileged", flag=True, help="Privileged containers, if the team may")
@train.option("--time", Duration(), help="Time limit of the run")
@train.option("--priority", PriorityName(), help="Priority in the queue")
@train.option("--code", CodeVersion(), help="Version of the code, recorded with the run")
@train.option("--snapshot", StateKept(), help="PVC to take a snapshot of when the run ends")
@train.option(
    "--snapshot-on", Choice("success", "always"), help="When to take it (default: success)"
)
@train.option("--snapshot-keep", KeepTime(), help="How long to keep it, or off")
@train.option(
    "--after", RunEndReference(), multiple=True, help="Run that must succeed before this one starts"
)
@train.option("--sweep", SweptValues(), multiple=True, help="Parameter and its values; a run for"
              " each combination")  # fmt: skip
@train.option("--at-most", WholeNumber(1, 99), help="Runs of the sweep that are live at a time")
@train.option("--metric", MetricName(), help="Result by which runs of the sweep are compared")
@train.option("--best", Choice(MAX, MIN), help="Which value of the metric is best")
@train.option("--stop-early", Choice(MEDIAN), bare=MEDIAN, help="Stop the worst runs of the sweep")
@train.option("--warm-up", WholeNumber(0, 10**9), help="Step before which none is stopped early")
@train.option("--min-cells", WholeNumber(1, 99), help="Runs to compare with at least (default: 3)")
@train.option("--preset", PresetName(), help="Named set of options; see presets")
@train.option(
    "--on", "templates", TemplateNames(), default=(), help="Compute templates to wait on, in order"
)
@train.option("--fallback-after", Duration(), help="Time until it moves on to the next of --on")
@train.rest("command", help="Command to run in the container (default: the image's)")
def submit(ctx: Context, asked: Submission) -> Reply:
    """Submits a run; the card in the channel shows the rest."""
    presets = presets_of(ctx.settings, ctx.team()[1])
    whole = with_preset(asked, presets, train.verbs["submit"].parameters)
    refuse_lonely(whole)
    if whole.sweep:
        return submit_sweep(ctx, whole)
    ctx.training.sweeps.refuse_name(ctx.session, ctx.team()[0], whole.name)
    return started(
        ctx, ctx.caller, lambda: ctx.training.runs.submit(ctx.session, ctx.caller, whole, ctx.now)
    )


@train.verb(
    "list", "The team's runs, and other workloads in its queue", right=Right.RUN_READ,
    examples=("list",), team=TEAM,
)  # fmt: skip
def list_runs(ctx: Context) -> Reply:
    """Live runs, external workloads, and the runs that ended last."""
    name, found = ctx.team()
    runs = ctx.training.runs.listing(ctx.session, name)
    age = max(map(ctx.training.runs.view_age_seconds, found.reach))
    silent = ctx.training.runs.silent_clusters(name)
    card = list_card(name, runs, ctx.training.runs.external_workloads(name), ctx.now, age, silent)
    older = (plain(f"{runs.left_out} older live runs are not shown."),) if runs.left_out else ()
    waiting = waiting_lines(ctx.training.requests.waiting(ctx.session, name))
    return Reply((*waiting, *older), card)


@train.verb(
    "show", "One run: its configuration and its status", right=Right.RUN_READ,
    examples=("show lane", "show lane#2", "show lane --curves loss", "show wide --curves"),
    team=TEAM,
)  # fmt: skip
@train.argument("run", AnyRun(), help="Run")
@train.option("--curves", MetricNames(), bare="", help=CURVES_HELP)
@train.option("--over", OVER, help=OVER_HELP)
@train.option("--file", flag=True, help=FILE_HELP)
def show(
    ctx: Context, run: Reference, *, curves: str | None, over: str | None, file: bool
) -> Reply:
    """The run's card or its curves, visible only to the caller."""
    asked = CurvesAsked(curves, over, file)
    asked.refuse_alone(ctx.format_command("train show lane --curves"))
    if (sweep := sweep_named(ctx, run)) is not None:
        return show_sweep(ctx, sweep) if curves is None else curves_of_sweep(ctx, sweep, asked)
    found = _find(ctx, run)
    if isinstance(found, Run) and curves is not None:
        return curves_of(ctx, [found], asked)
    if isinstance(found, ExternalWorkload):
        return Reply(card=external_card(found, ctx.now))
    return Reply(card=record_card(ctx, found))


@train.verb(
    "logs", "The log of a run: its last lines, or all of it", right=Right.RUN_READ, into=LogAsked,
    examples=(
        "logs lane --tail 50", "logs lane#2", "logs wide --pod 1", "logs lane --previous",
        "logs lane --file", "logs lane --follow",
    ),
    writing=("follow",), repeats=True, team=TEAM,
)  # fmt: skip
@train.argument("run", AnyRun(), help="Run")
@train.option(
    "--tail",
    WholeNumber(1, 10_000),
    default=BUTTON_TAIL,
    help="Number of lines; many are sent as a file",
)
@train.option("--pod", PodName(), help="Which of its pods: 1, launcher, worker-1")
@train.option("--previous", flag=True, help="The log from before its last restart")
@train.option("--file", flag=True, help="The whole log, as a file if it is long")
@train.option("--follow", flag=True, help="Follow it in your direct messages for 10 minutes")
def logs(ctx: Context, asked: LogAsked) -> Reply:
    """The log as it is now, or its saved lines."""
    found, request = _find(ctx, asked.run), asked.request
    if asked.follow:
        return follow_log(ctx, found, request)
    if isinstance(found, Run):
        return _log_of(ctx, found, request)
    cluster, reads = found.cluster, ctx.training.reads
    return Reply(
        later=lambda: Reply(
            card=log_card(found.name, reads.external_log_tail(cluster, found, request), request)
        )
    )


@train.verb(
    "stop", "Stop a run; leads can stop anyone's", right=Right.RUN_STOP, mutates=True,
    repeats=True, examples=("stop lane",), team=TEAM,
)  # fmt: skip
@train.argument("run", AnyRun(), help="Run")
def stop(ctx: Context, run: Reference) -> Reply:
    """Stops a run; the answer says how to start it again. A sweep is stopped by a button."""
    if (sweep := sweep_named(ctx, run)) is not None:
        return ask_to_stop(ctx, sweep)
    found = _find(ctx, run)
    if isinstance(found, Run):
        return _stop(ctx, ctx.caller, found)
    removal = ctx.training.runs.stop_external(ctx.session, ctx.caller, found, ctx.now)
    owner = removal.owner
    whose = f"It belongs to {owner}." if owner else "Its labels name no owner."
    return Reply((join("Stopping ", code(removal.job_name), plain(f". {whose}")),))


@train.verb(
    "resubmit", "Start a run again, as it was or from a snapshot", right=Right.RUN_SUBMIT,
    mutates=True,
    examples=(
        "resubmit lane", "resubmit lane#2", "resubmit lane --from-snapshot",
        "resubmit lane --from-snapshot imagenet-3f9c01b22a", "resubmit lane --on dgx,burst",
    ), team=TEAM,
)  # fmt: skip
@train.argument("run", RunReference(), help="Run")
@train.option("--from-snapshot", SnapshotName(), bare="", help="Start from a snapshot (default:"
              " the one of its end)")  # fmt: skip
@train.option("--on", "templates", TemplateNames(), default=(), help="Compute templates to wait on"
              " (default: those of the run)")  # fmt: skip
@train.option("--fallback-after", Duration(), help="Time until it moves on to the next of --on")
def resubmit(
    ctx: Context,
    run: Reference,
    from_snapshot: str | None,
    templates: tuple[str, ...],
    fallback_after: timedelta | None,
) -> Reply:
    """Submits the run again."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    options = train.verbs["submit"].parameters
    on = templates_for(ctx, found, templates, fallback_after, options)
    if from_snapshot is None:
        return resubmitted(ctx, ctx.caller, found, on)
    if on is not None:
        raise UsageError(
            "`--on` and `--from-snapshot` contradict each other: from a snapshot, a run starts"
            " where it was.",
            "Leave one of them out.",
        )
    return restarted(ctx, ctx.caller, found, from_snapshot)


@train.verb(
    "why", "Why a run waits, and what would unblock it", right=Right.RUN_READ,
    examples=("why lane",), team=TEAM, shares=True,
)  # fmt: skip
@train.argument("run", AnyRun(), help="Run")
def why(ctx: Context, run: Reference) -> Reply:
    """What it waits for, since when, its position, and what would unblock it."""
    found = _find(ctx, run)
    if isinstance(found, ExternalWorkload):
        return Reply(card=external_card(found, ctx.now))
    return Reply(card=why_card(found, people_of(ctx.session, found), ctx.now))


def of_run(ctx: Context, value: str) -> str:
    """The team of the run whose id begins the value of a button."""
    return ctx.training.runs.get(ctx.session, row_of(value)).team


@train.button("train.logs", right=Right.RUN_READ, team=of_run, repeats=True)
def click_logs(ctx: Context, run_id: str) -> Reply:
    """The log of the card's run."""
    return _log_of(ctx, ctx.training.runs.get(ctx.session, run_id), LogRequest(BUTTON_TAIL))


def _of_follow(ctx: Context, follow_id: str) -> str:
    return ctx.training.follows.get(ctx.session, follow_id).team


@train.button(UNFOLLOW, right=Right.RUN_READ, team=_of_follow, repeats=True)
def click_unfollow(ctx: Context, follow_id: str) -> Reply:
    """Stops following the log of the message."""
    row = ctx.training.follows.get(ctx.session, follow_id)
    run = ctx.training.follows.stop(ctx.session, ctx.caller, row, ctx.now)
    return Reply((join("You no longer follow the log of ", code(run.reference), "."),))


@train.button("train.stop", right=Right.RUN_STOP, team=of_run, anywhere=True, repeats=True)
def click_stop(ctx: Context, run_id: str) -> Reply:
    """Stops the card's run, after Slack's confirmation."""
    return _stop(ctx, ctx.caller, ctx.training.runs.get(ctx.session, run_id))


@train.button("train.resubmit", right=Right.RUN_SUBMIT, team=of_run)
def click_resubmit(ctx: Context, run_id: str) -> Reply:
    """Starts the card's run again."""
    return resubmitted(ctx, ctx.caller, ctx.training.runs.get(ctx.session, run_id))


def _find(ctx: Context, reference: Reference) -> Run | ExternalWorkload:
    """A run of the team, else the external workload of that name."""
    team = ctx.team()[0]
    try:
        return ctx.training.runs.find(ctx.session, team, reference)
    except NotFoundError:
        external = ctx.training.runs.find_external(team, reference.name)
        if external is None or reference.number is not None:
            raise
        return external


def _stop(ctx: Context, caller: Caller, run: Run) -> Reply:
    stopped = ctx.training.runs.stop(ctx.session, caller, run, ctx.now)
    again = code(ctx.format_command(f"train resubmit {stopped.reference}"))
    said = plain(". Its last lines are kept. ")
    line = join("Stopping ", code(stopped.reference), said, again, " starts it again.")
    lost = ", ".join(dependent_on(ctx.session, stopped))
    return Reply((line, *((plain(f"{_WITH_IT}: {lost}."),) if lost else ())))


def _log_of(ctx: Context, run: Run, request: LogRequest) -> Reply:
    reads = ctx.training.reads
    return Reply(
        later=lambda: Reply(card=log_card(run.reference, reads.log_tail(run, request), request))
    )
