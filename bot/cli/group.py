"""The program `quartermaster`: what its commands share."""

import sys
from typing import Any

import click
from typing_extensions import override

from bot.errors import ConfigurationError, QuartermasterError

FAILED = 1
"""The exit code of a command that failed."""
_MISUSED = 2


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
            sys.exit(_MISUSED if isinstance(error, ConfigurationError) else FAILED)


def examples(*lines: str) -> str:
    """The epilog of a command with these examples."""
    return "\b\nExamples:\n" + "\n".join(f"  quartermaster {line}" for line in lines)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Quartermaster: training, datasets, snapshots and GPU quota from a team's Slack channel.

    Try it without Slack and Kubernetes: quartermaster playground --headless --scenario first-run
    """
