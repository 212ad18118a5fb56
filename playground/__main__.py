"""`python -m playground`: try the bot in an embedded Slack workspace and cluster."""

import asyncio
import contextlib
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from playground import scenarios
from playground.bot_process import BotError
from playground.control.api import USAGE
from playground.loopback import Loopback
from playground.opening import opened
from playground.page.app import Page
from playground.page.browser import open_browser
from playground.page.stage import Stage
from playground.page.usual import usual_setup
from playground.settings import Addresses
from playground.slack.installed import ManifestError
from playground.slack.page import write_page
from playground.story.context import StoryError
from playground.story.scenario import Scenario, run_scenario
from playground.world import Options, World, WorldError

_FAILED = 1
_EXAMPLES = """\b
Examples:
  python -m playground --list
  python -m playground --headless --scenario first-run
  python -m playground --open
  python -m playground --open --agent-view --workflow-step"""


@dataclass(frozen=True)
class Arguments:
    """What the command line says."""

    scenario: Scenario | None
    is_headless: bool
    stays: bool
    html: Path
    opens: bool
    page_port: int


def _scenario(_context: object, _option: object, name: str | None) -> Scenario | None:
    try:
        return scenarios.named(name) if name else None
    except LookupError as error:
        raise click.BadParameter(f"{error}") from None


def _list(context: click.Context, _option: object, wanted: bool) -> None:  # noqa: FBT001  # click's way
    if wanted:
        for name, summary in scenarios.summaries().items():
            click.echo(f"{name:<26} {summary}")
        context.exit()


_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list,
              help="List the scenarios.")  # fmt: skip
@click.option("--scenario", metavar="NAME", callback=_scenario, help="Play this scenario.")
@click.option(
    "--headless", is_flag=True, help="Play it in the terminal, and exit: 0 if it passed, 1 if not."
)
@click.option(
    "--html",
    metavar="FILE",
    type=_FILE,
    help="Write the channels of a scenario to this page.  [default: DIR/channels.html]",
)
@click.option("--out", metavar="DIR", type=_FOLDER, default="playground-out", show_default=True,
              help="Folder for the bot's configuration, database and log.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep running after a headless scenario.")
@click.option("--seed", metavar="N", default=1, show_default=True, help="Random seed.")
@click.option(
    "--database-url", metavar="URL", default="", help="Use this database instead of SQLite."
)
@click.option("--port", metavar="N", default=0, help="Port of the control API.")
@click.option("--page-port", metavar="N", default=0, help="Port of the page.")
@click.option("--agent-view", is_flag=True,
              help="On the page, the Slack app has the agent view of paid plans.")  # fmt: skip
@click.option("--workflow-step", is_flag=True,
              help="On the page, the Slack app has the workflow step of paid plans.")  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser, if there is one.")
def main(  # one argument an option
    *,
    scenario: Scenario | None,
    headless: bool,
    html: Path | None,
    out: Path,
    keep: bool,
    seed: int,
    database_url: str,
    port: int,
    page_port: int,
    agent_view: bool,
    workflow_step: bool,
    opens: bool,
) -> None:
    """Try Quartermaster in an embedded Slack workspace and cluster."""
    if headless and scenario is None:
        raise click.UsageError("--headless needs a --scenario; --list names them.")
    wanted = {"--agent-view": agent_view, "--workflow-step": workflow_step}
    manifest = tuple(option for option, is_wanted in wanted.items() if is_wanted)
    if manifest and headless:
        raise click.UsageError(f"{manifest[0]} is for the page: omit --headless.")
    setup = scenario.setup if scenario and headless else usual_setup(manifest)
    options = Options(out, setup, database_url, seed=seed, ports=(port, 0, 0))
    html = html or out / "channels.html"
    arguments = Arguments(scenario, headless, keep, html, opens, page_port)
    try:
        sys.exit(asyncio.run(_run(options, arguments)))
    except (BotError, ManifestError, WorldError, OSError) as error:
        raise click.ClickException(str(error)) from None


async def _run(options: Options, arguments: Arguments) -> int:
    if arguments.is_headless and arguments.scenario is not None:
        return await _headless(options, arguments.scenario, arguments)
    await _shows_page(options, arguments)
    return 0


async def _headless(options: Options, scenario: Scenario, arguments: Arguments) -> int:
    """Plays a story in the terminal, and writes what its channels show."""
    async with opened(options) as world:
        world.slack.transcript.printer = click.echo
        await world.start_bots()
        code = await _play(world, scenario)
        write_page(world.slack, arguments.html)
        click.echo(f"The channels as an HTML page: {arguments.html}")
        if arguments.stays:
            _introduce(world.addresses, options.out)
            await _interrupted()
    return code


async def _shows_page(options: Options, arguments: Arguments) -> None:
    """Serves the page until Ctrl-C or SIGTERM."""
    stage, servers = Stage(options), Loopback()
    page = Page(stage)
    url = servers.serve(page.app, arguments.page_port) + page.path
    try:
        stage.begin(arguments.scenario)
        click.echo(f"The playground: {url}")
        if arguments.opens:
            open_browser(url)
        starting = asyncio.ensure_future(_tells_start(stage))
        await _interrupted()
        starting.cancel()
    finally:
        await page.close()
        await servers.close()
        await stage.close()


async def _tells_start(stage: Stage) -> None:
    """Says when the bot is there, or why it is not."""
    while stage.is_starting:
        await stage.wait(1)
    click.echo(f"Ctrl-C stops it. {stage.trouble or 'The bot is ready.'}")


async def _play(world: World, scenario: Scenario) -> int:
    try:
        await run_scenario(world, scenario)
    except StoryError as error:
        click.echo(f"\n{scenario.name} failed: {error}", err=True)
        return _FAILED
    ready = world.bot.started_in[0]
    click.echo(f"\n{scenario.name}: passed. The bot was ready after {ready:.1f} s.")
    return 0


def _introduce(at: Addresses, out: Path) -> None:
    click.echo(f"\nControl     {at.control}\nSlack       {at.slack}/api/")
    click.echo(f"Kubernetes  {at.kubernetes}  (kubectl --kubeconfig {out / 'kubeconfig'})")
    click.echo(f"The bot     {at.bot}  (log: {out / 'bot.log'})\n\n{USAGE}\nCtrl-C stops it.")


async def _interrupted() -> None:
    """Returns on Ctrl-C or SIGTERM."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told.set)
            stack.callback(loop.remove_signal_handler, number)
        await told.wait()


if __name__ == "__main__":
    main(prog_name="playground")
