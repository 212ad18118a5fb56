"""Runs `quartermaster dataset push`: asks for the grant, and shows the progress in a terminal."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from bot.config import upload_grant
from bot.datasets.wording import files, size
from bot.datasets.worker.presigned.messages import Grant, read_grant
from bot.datasets.worker.presigned.sending import SendOrder, send
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.tree import Tree

_EVERY_SECONDS = 5.0
_INTERRUPTED = 130


def run_push(folder: Path, workers: int, ca_file: Path | None) -> None:
    """Pushes a folder, and prints what was pushed; WorkError if it could not be."""
    grant = _grant()
    # Otherwise Ctrl-C waits for the threads, which first upload what is left.
    signal.signal(signal.SIGINT, _interrupted)
    tree = Tree(folder.resolve())
    order = SendOrder(tree, grant, workers, ca_file=str(ca_file) if ca_file else None)
    progress = CopyProgress("listing")
    with _shown(progress):
        sent = send(order, progress)
    links = f" {sent.links:,} symbolic links were skipped." if sent.links else ""
    click.echo(
        f"{files(sent.files)}, {size(sent.bytes)}, are in {grant.target} and verified;"
        f" {size(sent.uploaded_bytes)} of them were uploaded now.{links}"
    )


def _interrupted(*_: object) -> None:
    os.write(sys.stderr.fileno(), b"\nInterrupted. Repeat the command to push the rest.\n")
    os._exit(_INTERRUPTED)


def _grant() -> Grant:
    """From the environment, else from what the person pastes, which is not shown."""
    given = upload_grant()
    return read_grant(given or (_pasted() if sys.stdin.isatty() else sys.stdin.readline()))


def _pasted() -> str:
    """A line from the terminal without echo; terminals cut lines of over 1,024 letters by default.

    So it is read letter by letter.
    """
    import termios  # only where there is a terminal

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    quiet = termios.tcgetattr(descriptor)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    quiet[6][termios.VMIN] = 1
    try:
        # Before the question, so that nothing that is pasted at once is shown or cut.
        termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
        click.echo("Paste the grant, then press Enter (it is not shown): ", nl=False, err=True)
        return sys.stdin.readline()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        click.echo(err=True)


@contextmanager
def _shown(progress: CopyProgress) -> Iterator[None]:
    """Prints a line every few seconds while the block runs."""
    ended = threading.Event()

    def show() -> None:
        while not ended.wait(_EVERY_SECONDS):
            click.echo(_line(progress), err=True)

    shower = threading.Thread(target=show, name="progress", daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join()


def _line(progress: CopyProgress) -> str:
    told = progress.line()
    what = "Reading" if told["phase"] == "listing" else "Uploading"
    total = progress.bytes_total or 0
    rate = size(int(float(str(told["bytes_per_second"]))))
    return (
        f"{what}: {progress.files_done:,} of {files(progress.files_total or 0)},"
        f" {size(progress.bytes_done)} of {size(total)}, {rate}/s"
    )
