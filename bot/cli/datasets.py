"""What people run on their own computers: `quartermaster dataset push`."""

from pathlib import Path
from typing import Any

import click

from bot.cli.group import examples, main


@main.group()
def dataset() -> None:
    """Push a folder of this computer to a dataset, with a grant from Slack."""


@dataset.command(
    epilog=examples(
        "dataset push chest-xray/", "dataset push chest-xray/ --workers 4 --ca-file ca.crt"
    )
)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=64),
    default=8,
    show_default=True,
    help="Files read and uploaded in parallel.",
)
@click.option(
    "--ca-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Certificates of a CA to trust besides those of this computer.",
)
def push(**options: Any) -> None:
    """Upload the files below FOLDER to the dataset of a grant.

    Type `/dataset put DATASET` in Slack, click *Get the command* on its card, and paste the grant
    when asked, or set QUARTERMASTER_GRANT to it. Never pass it as an argument: other users of this
    computer could read it. Files that the dataset has already are not uploaded, so the command can
    be repeated. Symbolic links are skipped. Progress goes to standard error.
    """
    from bot.cli.pushing import run_push

    run_push(**options)
