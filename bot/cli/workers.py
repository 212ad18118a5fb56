"""What the bot runs in Jobs: work on datasets, and copies of PVCs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bot.cli.group import examples, main

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


_COPIES = "Folder of the dataset's copies: s3://BUCKET/PREFIX/."
_COPIES_STORE = "The store of the copies, as JSON."


@main.command(
    epilog=examples("survey --source s3://lake/chest-xray/ --manifest s3://state/manifests/1/ ...")
)
@_stores
@click.option("--copies", default="", help=f"{_COPIES} Copies each object there.")
@click.option("--copies-store", default="", help=_COPIES_STORE)
def survey(**stores: Any) -> None:
    """List a dataset and write its manifest; run by the bot in a Job.

    With --copies it also copies the objects, unless their bucket keeps versions. When restarted, it
    lists again, and copies what is missing.

    Progress goes to standard output, one JSON object per line. Exits 65 when a retry cannot help,
    75 when it may.
    """
    from bot.datasets.worker.command import run_survey

    run_survey(stores)


@main.command(
    epilog=examples(
        "select --of s3://state/manifests/1/ --manifest s3://state/manifests/2/ --path train/ ..."
    )
)
@_stores
@click.option("--of", required=True, help="Manifest of the whole version, in the same store.")
@click.option("--digest", required=True, help="The digest of the whole version: sha256:HEX.")
@click.option("--path", "paths", multiple=True, help="Pattern of paths, such as train/*.jpg.")
@click.option("--labels", default="", help="File of the version that has labels.")
@click.option("--label", "where", multiple=True, help="COLUMN=VALUE,VALUE that its rows have.")
@click.option("--copies", default="", help=f"{_COPIES} Read for what is gone from the source.")
@click.option("--copies-store", default="", help=_COPIES_STORE)
def select(**options: Any) -> None:
    """Write the manifest of some files of a version; run by the bot in a Job.

    Files must match one of the patterns, and have all labels. Safe to repeat. Progress goes to
    standard output, one JSON object per line. Exits 65 when a retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.select_command import run_select

    run_select(options)


@main.command(
    epilog=examples(
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
@click.option("--copies", default="", help=f"{_COPIES} Read for what is gone from the source.")
@click.option("--copies-store", default="", help=_COPIES_STORE)
@click.option("--keep-open", is_flag=True, help="Skip the last rename; see finish.")
@click.option(
    "--only",
    multiple=True,
    help="Folder of the version, such as train/; copies these only. The digest is theirs.",
)
def fill(**options: Any) -> None:
    """Copy the objects of a manifest onto a volume, verified; run by the bot in a Job.

    When restarted, it copies what is missing. Progress goes to standard output, one JSON object
    per line. Exits 65 when a retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.command import run_fill

    run_fill(options)


@main.command(
    epilog=examples(
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


@main.command(
    epilog=examples("sweep --copies s3://state/copies/1/ --keep s3://state/manifests/2/ ...")
)
@click.option("--copies", required=True, help=_COPIES)
@click.option("--copies-store", required=True, help=_COPIES_STORE)
@click.option(
    "--keep", multiple=True, help="Manifest of a version that keeps its copies, in that store."
)
@_PATIENCE
def sweep(**options: Any) -> None:
    """Delete a dataset's copies that no version needs; run by the bot in a Job.

    Safe to repeat. Progress goes to standard output, one JSON object per line. Exits 65 when a
    retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.command import run_sweep

    run_sweep(options)


@main.command(epilog=examples("finish --target /data --digest sha256:..."))
@click.option("--target", required=True, type=click.Path(path_type=Path), help="The volume.")
@click.option("--digest", required=True, help="The version's digest: sha256:HEX.")
def finish(**options: Any) -> None:
    """Complete a volume that `fill --keep-open` filled; run by the bot in a Job.

    Between the two, a layout may rearrange the files. Safe to repeat. Exits 65 when a retry cannot
    help, 75 when it may.
    """
    from bot.datasets.worker.command import run_finish

    run_finish(options)


@main.command(epilog=examples("push --source /data/results --target s3://lake/results/ ..."))
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


@main.command(epilog=examples("receive --target s3://lake/xray/ --box s3://state/uploads/1/ ..."))
@click.option("--target", required=True, help="Destination of the objects: s3://BUCKET/PREFIX/.")
@click.option("--target-store", required=True, help="The target's store, as JSON.")
@click.option("--box", required=True, help="Folder of the bot for grant, listing and answer.")
@click.option("--box-store", required=True, help="The store of that folder, as JSON.")
@click.option(
    "--lasts",
    "lasts_seconds",
    type=click.FloatRange(min=1),
    default=43_200.0,
    show_default=True,
    help="Seconds in which all files have to arrive.",
)
@click.option("--overwrite", is_flag=True, help="Replace objects whose content differs.")
@_PATIENCE
def receive(**options: Any) -> None:
    """Let a person's computer push a folder, and verify what arrives; run by the bot in a Job.

    It signs requests for the files that `quartermaster dataset push` lists. Progress goes to
    standard output, one JSON object per line. Exits 65 when a retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.command import run_receive

    run_receive(options)


@main.command(epilog=examples("copy --source /source --target /target"))
@click.option(
    "--source", required=True, type=click.Path(path_type=Path), help="The volume to copy."
)
@click.option("--target", required=True, type=click.Path(path_type=Path), help="The new volume.")
@click.option("--live", is_flag=True, help="Accept that files change while they are copied.")
@click.option("--workers", default="auto", show_default=True, help="Files copied in parallel.")
def copy(**options: Any) -> None:
    """Copy all of a volume to another one, and compare it; run by the bot in a Job.

    Owners, modes, times, links, holes and extended attributes are kept. When restarted, it copies
    what is missing. Progress goes to standard output, one JSON object per line. Exits 65 when a
    retry cannot help, 75 when it may.
    """
    from bot.datasets.worker.tree_copy.command import run_copy

    run_copy(options)
