"""The command line: start, try out, check, migrate."""

import gc
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from typing_extensions import override

from bot.errors import ConfigurationError, QuartermasterError, UsageError

if TYPE_CHECKING:
    from bot.config.first import Question

Handler = TypeVar("Handler", bound=Callable[..., Any])

_CONFIG = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("quartermaster.yaml"),
    show_default=True,
    help="The configuration file.",
)
_PATIENCE = click.option(
    "--patience",
    "patience_seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds to keep retrying when a store does not respond.",
)
_WORKERS = click.option(
    "--workers", default="auto", show_default=True, help="Objects copied in parallel."
)
_FAILED, _MISUSED = 1, 2


class Commands(click.Group):
    """Shows our errors as a sentence and a hint, never as a traceback."""

    @override
    def invoke(self, ctx: click.Context) -> Any:
        """What the command returns; exits 1 or 2 with words when it cannot."""
        try:
            return super().invoke(ctx)
        except QuartermasterError as error:
            click.echo(f"quartermaster: {error.message}", err=True)
            if error.hint:
                click.echo(error.hint, err=True)
            sys.exit(_MISUSED if isinstance(error, ConfigurationError) else _FAILED)


def _examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  quartermaster {line}" for line in lines)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Quartermaster: training, datasets, snapshots and GPU quota from a team's Slack channel.

    Try it without Slack and Kubernetes: quartermaster playground --headless --scenario first-run
    """


@main.command(epilog=_examples("serve", "serve --config /etc/quartermaster/quartermaster.yaml"))
@_CONFIG
def serve(path: Path) -> None:
    """Run the bot until SIGTERM or Ctrl-C, then finish the work in progress."""
    # What a start makes stays: looking for garbage in it would take a sixth of the time.
    gc.disable()
    from bot.serving.starting import serve as run

    run(path)


@main.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
    epilog=_examples("playground --list", "playground --headless --scenario first-run"),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def playground(arguments: tuple[str, ...]) -> None:
    """Try the bot in an embedded Slack workspace and cluster."""
    if importlib.util.find_spec("playground") is None:
        raise ConfigurationError(
            "The playground is not installed.",
            "Install it: pip install quartermaster-playground",
        )
    os.execv(sys.executable, [sys.executable, "-m", "playground", *arguments])  # noqa: S606  # our own module


@main.command(
    epilog=_examples(
        "console --as U0ALICE --in C0TEAMA", "console --as U0ALICE --in C0TEAMA train list"
    )
)
@_CONFIG
@click.option("--as", "person", required=True, metavar="USER", help="The Slack id to act as.")
@click.option("--in", "channel", required=True, metavar="CHANNEL", help="The channel to act in.")
@click.argument("words", nargs=-1)
def console(path: Path, person: str, channel: str, words: tuple[str, ...]) -> None:
    """Run Slack commands in a terminal, beside a running server.

    Without a command, reads commands from standard input, one per line.
    """
    from bot.console import talk

    talk(path, person, channel, words)


@main.command(
    epilog=_examples(
        "init",
        "init --workspace T012ABCDEF --admin U012CAROL --team team-a --channel C012TEAMA ...",
    )
)
@_CONFIG
@click.option("--workspace", help="The Slack workspace.")
@click.option("--admin", help="Your Slack user: admin, approver, and member of the first team.")
@click.option("--team", help="Name of the first team.")
@click.option("--channel", help="Slack channel of the team.")
@click.option("--namespace", help="Kubernetes namespace of the team (default: its name).")
@click.option("--queue", help="Queue of the team (default: its name).")
@click.option("--approvals", help="Slack channel for requests of GPUs (default: the team's).")
@click.option(
    "--engine",
    type=click.Choice(["kueue", "kai", "none"]),
    default="kueue",
    show_default=True,
    help="What manages queues in the cluster.",
)
def init(path: Path, engine: str, **given: str | None) -> None:
    """Write a first quartermaster.yaml; asks for what no option says."""
    from bot.config.first import answered, refuse_existing, text_of, write

    refuse_existing(path)
    write(path, text_of(answered(given, engine, _asked), engine))
    config = "" if path == Path("quartermaster.yaml") else f" --config {path}"
    click.echo(
        f"Wrote {path}. Next:\n"
        "1. quartermaster manifest > manifest.json\n"
        "   Create a Slack app from it on https://api.slack.com/apps, and install it.\n"
        "2. export SLACK_BOT_TOKEN=xoxb-... SLACK_APP_TOKEN=xapp-...\n"
        f"3. quartermaster migrate{config}\n"
        f"4. quartermaster doctor{config}\n"
        f"5. quartermaster serve{config}"
    )


def _asked(question: "Question", usual: str) -> str:
    """What the person in the terminal answers; asks again after a wrong answer."""

    def read(answer: str) -> str:
        try:
            return question.read(answer)
        except UsageError as error:
            raise click.UsageError(f"{error.message} {error.hint}") from None

    click.echo(question.where)
    try:
        answer: str = click.prompt(question.asks, default=usual or None, value_proc=read)
    except click.Abort:
        click.echo()
        if usual and not sys.stdin.isatty():
            return usual
        raise UsageError(
            f"--{question.key} was not answered. Nothing was written.",
            f"Answer the question, or add --{question.key}.",
        ) from None
    return answer


@main.command(epilog=_examples("doctor", "doctor --json"))
@_CONFIG
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
def doctor(path: Path, *, as_json: bool) -> None:
    """Check Slack, clusters, database and clock, and suggest fixes; exits 1 on a failure."""
    from bot.doctor import examine

    findings = examine(path)
    if as_json:
        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(finding.as_line())
    if any(finding.failed for finding in findings):
        sys.exit(_FAILED)


@main.command(epilog=_examples("migrate"))
@_CONFIG
def migrate(path: Path) -> None:
    """Upgrade the database schema; safe to run twice, and concurrently."""
    from bot.app import migrate as run

    run(path)
    click.echo("The database schema is up to date.")


@main.command(
    epilog=_examples(
        "manifest > manifest.json", "manifest --url https://bot.example.com/slack/events"
    )
)
@click.option("--prefix", default="", help="Prefix of every slash command: qm makes /qm-train.")
@click.option("--url", default="", help="URL for Slack's requests, instead of Socket Mode.")
@click.option("--org-wide", is_flag=True, help="For a whole Enterprise Grid organisation.")
@click.option("--agent-view", is_flag=True, help="Add Slack's agent view (on paid plans only).")
@click.option("--workflow-step", is_flag=True, help="Add a step to Slack's Workflow Builder.")
def manifest(
    prefix: str, url: str, *, org_wide: bool, agent_view: bool, workflow_step: bool
) -> None:
    """Print the Slack app manifest for the declared commands, as JSON."""
    from bot.app import commands
    from bot.slack.grammar.manifest import manifest as build

    document = build(
        commands(prefix),
        "http" if url else "socket",
        url,
        org_wide=org_wide,
        agent_view=agent_view,
        workflow_steps=workflow_step,
    )
    click.echo(json.dumps(document, indent=2))


def _stores(command: Callable[..., None]) -> Callable[..., None]:
    """The options that both workers take; the stores are JSON without secrets."""
    for name, words in (
        ("--source", "Location of the objects: s3://BUCKET/PREFIX/."),
        ("--source-store", "The source's store, as JSON."),
        ("--manifest", "Location of the manifest: s3://BUCKET/PREFIX/."),
        ("--manifest-store", "The manifest's store, as JSON."),
    ):
        command = click.option(name, required=True, help=words)(command)
    return _PATIENCE(command)


@main.command(
    epilog=_examples("survey --source s3://lake/chest-xray/ --manifest s3://state/manifests/1/ ...")
)
@_stores
def survey(**stores: Any) -> None:
    """List a dataset and write its manifest; run by the bot in a Job.

    Progress goes to standard output, one JSON object per line. Exits 65 when a retry cannot help,
    75 when it may.
    """
    from bot.datasets.worker.command import run_survey

    run_survey(stores)


@main.command(
    epilog=_examples(
        "fill --manifest s3://state/manifests/1/ --digest sha256:... --target /data ..."
    )
)
@_stores
@click.option("--digest", required=True, help="The version's digest: sha256:HEX.")
@click.option(
    "--target",
    required=True,
    type=click.Path(path_type=Path),
    help="The volume; the files appear in TARGET/ready/files.",
)
@click.option(
    "--shards", type=click.IntRange(min=1), default=1, help="Number of pods that share this."
)
@click.option(
    "--shard",
    type=int,
    default=0,
    envvar="JOB_COMPLETION_INDEX",
    show_envvar=True,
    help="Number of this pod, from 0.",
)
@click.option("--uid", type=int, help="Owner of the files (default: of the process).")
@click.option("--gid", type=int, help="Group of the files (default: of the process).")
@click.option("--umask", default="0022", show_default=True, help="Octal.")
@_WORKERS
@click.option(
    "--engine",
    type=click.Choice(["auto", "obstore", "boto3"]),
    default="auto",
    show_default=True,
    help="auto uses obstore, and boto3 for what obstore cannot read.",
)
@click.option("--keep-open", is_flag=True, help="Skip the last rename; see finish.")
def fill(**options: Any) -> None:
    """Copy the objects of a manifest onto a volume, verified; run by the bot in a Job.

    When restarted, it copies what is missing. Progress goes to standard output, one JSON object
    per line. Exits 65 when a retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.command import run_fill

    run_fill(options)


@main.command(
    epilog=_examples(
        "verify --manifest s3://state/manifests/1/ --digest sha256:... --target /data/files ..."
    )
)
@_stores
@click.option("--digest", required=True, help="The version's digest: sha256:HEX.")
@click.option("--target", required=True, type=click.Path(path_type=Path), help="The folder.")
@_WORKERS
def verify(**options: Any) -> None:
    """Read every file of a version and compare it; run by the bot in a Job.

    For files that `fill` did not copy, such as those of FSx, which are loaded when first read.
    Nothing is written. Progress goes to standard output, one JSON object per line. Exits 65 when a
    retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.command import run_verify

    run_verify(options)


@main.command(epilog=_examples("finish --target /data --digest sha256:..."))
@click.option("--target", required=True, type=click.Path(path_type=Path), help="The volume.")
@click.option("--digest", required=True, help="The version's digest: sha256:HEX.")
def finish(**options: Any) -> None:
    """Complete a volume that `fill --keep-open` filled; run by the bot in a Job.

    Between the two, a layout may rearrange the files. Safe to repeat. Exits 65 when a retry cannot
    help, 75 when it may.
    """
    from bot.datasets.worker.command import run_finish

    run_finish(options)


@main.command(epilog=_examples("push --source /data/results --target s3://lake/results/ ..."))
@click.option(
    "--source", required=True, type=click.Path(path_type=Path), help="The folder on the volume."
)
@click.option("--target", required=True, help="Destination of the objects: s3://BUCKET/PREFIX/.")
@click.option("--target-store", required=True, help="The target's store, as JSON.")
@click.option("--overwrite", is_flag=True, help="Replace objects whose content differs.")
@_WORKERS
@_PATIENCE
def push(**options: Any) -> None:
    """Copy a volume's folder into an object store and compare it; run by the bot in a Job.

    When restarted, it copies what is missing. Progress goes to standard output, one JSON object
    per line. Exits 65 when a retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.command import run_push

    run_push(options)


@main.command(name="commands", hidden=True)
def list_commands() -> None:
    """Print docs/commands.md, written from the declarations."""
    from bot.app import commands
    from bot.slack.grammar.command_docs import commands_page

    click.echo(commands_page(commands()), nl=False)


@main.command(name="version")
def show_version() -> None:
    """Print the version."""
    click.echo(installed_version("quartermaster"))
