"""What `quartermaster survey` and `quartermaster fill` do with their options, and how they end."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from bot.datasets.worker.failures import WORTH_REPEATING, WorkError
from bot.datasets.worker.progress import Progress, reported, say, say_failure
from bot.datasets.worker.requests import Requests
from bot.datasets.worker.store import address, store
from bot.datasets.worker.survey import Shelf, survey


@dataclass(frozen=True)
class Stores:
    """The options that name the source and the manifest, as they were typed."""

    source: str
    source_store: str
    manifest: str
    manifest_store: str
    patience_seconds: float


def run_survey(stores: Stores) -> None:
    """Lists the source and writes its manifest; ends the process with 65 or 75 when it cannot."""

    def work() -> None:
        source = address(stores.source, "--source")
        requests = Requests(
            store(stores.source_store, "--source-store"), source.bucket, stores.patience_seconds
        )
        progress = Progress("listing")
        with reported(progress):
            index = survey(requests, source, _shelf(stores), progress)
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "digest": index.digest,
                "objects": index.objects,
                "bytes": index.bytes,
                "seconds": progress.seconds,
                "problems": index.findings.problems.count,
                "warnings": index.findings.warnings.count,
            }
        )

    _to_the_end(work)


def _shelf(stores: Stores) -> Shelf:
    place = address(stores.manifest, "--manifest")
    where = store(stores.manifest_store, "--manifest-store")
    return Shelf(Requests(where, place.bucket, stores.patience_seconds), place.prefix)


def _to_the_end(work: Callable[[], None]) -> None:
    # As the first process of a container we would not even be ended by SIGTERM without this; to be
    # killed at any moment is what the work is made for.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(WORTH_REPEATING))
    try:
        work()
    except WorkError as error:
        say_failure(error)
        sys.exit(error.exit_code)
