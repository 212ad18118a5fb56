"""What an engineer types: start, try out, check, migrate."""

import gc
import importlib.util
import json
import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot import DISTRIBUTION
from bot.cli.group import FAILED, examples, main
from bot.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from bot.config.first import Question

_CONFIG = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("quartermaster.yaml"),
    show_default=True,
    help="The configuration file.",
)


@main.command(epilog=examples("serve", "serve --config /etc/quartermaster/quartermaster.yaml"))
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
    epilog=examples("playground --list", "playground --headless --scenario first-run"),
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
    epilog=examples(
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
    epilog=examples(
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
        f"3. Type /invite @Quartermaster in each channel that {path.name} names.\n"
        f"4. quartermaster migrate{config}\n"
        f"5. quartermaster doctor{config}\n"
        f"6. quartermaster serve{config}"
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


@main.command(epilog=examples("doctor", "doctor --json"))
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
        sys.exit(FAILED)


@main.command(
    name="support-bundle",
    epilog=examples("support-bundle", "support-bundle --log bot.log --out bundle.tar.gz"),
)
@_CONFIG
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("quartermaster-support.tar.gz"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with the bot's log; its last 4 MiB are taken.",
)
@click.option("--with-ids", is_flag=True, help="Keep Slack ids instead of replacing them.")
def support_bundle(path: Path, out: Path, log: Path | None, *, with_ids: bool) -> None:
    """Write what an engineer needs to see in an issue, without secrets.

    It has the configuration, the findings of the doctor, counts from the database, the state and
    metrics of the running bot, and versions. Read it before you share it: names of teams, runs and
    images are in it.
    """
    from bot.support import bundle

    click.echo(f"Wrote {bundle(path, out, log, with_ids=with_ids)}. Read it before you share it.")


@main.command(epilog=examples("migrate"))
@_CONFIG
def migrate(path: Path) -> None:
    """Upgrade the database schema; safe to run twice, and concurrently."""
    from bot.app import migrate as run

    if run(path):
        click.echo("The database schema is up to date.")
    else:
        click.echo("The database schema is of a newer release. Nothing was changed.")


_FILE = click.Path(path_type=Path, dir_okay=False)


@main.command(epilog=examples("backup /var/lib/quartermaster/backup.db"))
@_CONFIG
@click.argument("file", type=_FILE)
def backup(path: Path, file: Path) -> None:
    """Copy a SQLite database to a new FILE, beside a running server.

    A PostgreSQL is backed up with pg_dump.
    """
    from bot.backups import backup as run

    size = run(path, file)
    click.echo(f"Wrote {file} ({size:,} bytes). It has been checked.")


@main.command(epilog=examples("restore /var/lib/quartermaster/backup.db", "restore"))
@_CONFIG
@click.argument("file", type=_FILE, required=False)
def restore(path: Path, file: Path | None) -> None:
    """Replace a SQLite database by the backup FILE; stop the server first.

    Everything is then looked at again: messages that were not posted at the time of the backup are
    looked for in Slack first. Without FILE, prepares a database that was restored otherwise, such
    as a PostgreSQL after pg_restore.
    """
    from bot.backups import restore as run

    replaced = run(path, file)
    if replaced is not None:
        click.echo(f"The database before is {replaced}.")
    click.echo("The database is ready. Start the server.")


@main.command(epilog=examples("adopt", "adopt --yes", "adopt --installation ID --yes"))
@_CONFIG
@click.option("--installation", metavar="ID", help="Whose objects; needed if there are several.")
@click.option("--yes", "is_meant", is_flag=True, help="Write; without it, only shows what would.")
def adopt(path: Path, installation: str | None, *, is_meant: bool) -> None:
    """Give a new database back what lives in the clusters after the old one was lost.

    Stop the server and run `quartermaster migrate` first. The database continues the installation
    that created the objects: its quota overrides end as they should, its runs get a row and a card
    again, and its teams of Slack, caches, snapshots and their schedules are known again. Nothing is
    changed in the clusters, and a second run adopts nothing twice.
    """
    from bot.adopting.adopting import adopt_all

    report = adopt_all(path, installation, is_trial=not is_meant)
    for line in report.lines():
        click.echo(line)
    if is_meant:
        click.echo("The database is ready. Start the server.")
    else:
        click.echo("Nothing was written. Make sure that no other bot is of this installation, then")
        click.echo("run it again with --yes.")


@main.command(
    epilog=examples(
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


@main.command(name="commands", hidden=True)
def list_commands() -> None:
    """Print docs/commands.md, written from the declarations."""
    from bot.app import commands
    from bot.slack.grammar.command_docs import commands_page

    click.echo(commands_page(commands()), nl=False)


@main.command(name="version")
def show_version() -> None:
    """Print the version."""
    click.echo(installed_version(DISTRIBUTION))
