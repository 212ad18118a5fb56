"""Runs `quartermaster copy`, with its exit codes."""

from collections.abc import Mapping
from typing import Any

from bot.datasets.worker.command import to_the_end, worker_count
from bot.datasets.worker.progress import CopyProgress, reported, say
from bot.datasets.worker.tree_copy.copying import CopyOrder, copy_tree


def run_copy(options: Mapping[str, Any]) -> None:
    """Copies a volume to another one; on failure exits with 65 or 75."""

    def work() -> None:
        count = worker_count(options["workers"])
        order = CopyOrder(options["source"], options["target"], count, live=options["live"])
        progress = CopyProgress("listing")
        with reported(progress):
            result = copy_tree(order, progress)
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "objects": result.files,
                "bytes": result.bytes,
                "seconds": progress.seconds,
                "copied_files": result.copied_files,
                "copied_bytes": result.copied_bytes,
                "verified_by": {"checksum": result.copied_files},
                "verified_bytes": {"checksum": result.copied_bytes},
                "counts": dict(result.counts),
                "others": result.others,
                "changed": result.changed,
            }
        )

    to_the_end(work)
