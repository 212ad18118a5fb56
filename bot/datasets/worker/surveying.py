"""`quartermaster survey --copies`: lists a source, then copies what it listed."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.datasets.manifest import Index
from bot.datasets.worker.copies import CopyFolder, CopyOrder, VersionCopier
from bot.datasets.worker.copying import Ways
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.survey import Shelf, survey
from bot.datasets.worker.verifying import Verifier

_LISTINGS = 3
MADE, NOT_NEEDED = "made", "not_needed"


@dataclass(frozen=True)
class SurveyOrder:
    """What to list and where to copy it, and how long to retry."""

    client: StoreClient
    source: Address
    shelf: Shelf
    folder: CopyFolder
    workers: int
    patience_seconds: float


def survey_and_copy(
    order: SurveyOrder, progress: CopyProgress
) -> tuple[Index, Mapping[str, object]]:
    """Lists and copies; starts over if an object changes in between, at most twice.

    Returns the index, and what was copied, as fields for the bot. A bucket that keeps versions
    needs no copies: the manifest names the version of each object.
    """
    for left in reversed(range(_LISTINGS)):
        progress.phase = "listing"
        progress.files_total = progress.bytes_total = None
        progress.set(0, 0)
        index = survey(order.client, order.source, order.shelf, progress)
        if index.findings.versioned:
            return index, {"copy": NOT_NEEDED}
        try:
            return index, _copied(order, index, progress)
        except WorkError as error:
            if error.reason != "changed":
                raise
            if not left:
                raise _always_changing(error) from error
    raise AssertionError


def _copied(order: SurveyOrder, index: Index, progress: CopyProgress) -> Mapping[str, object]:
    engine = order.client.engine("auto", order.source.prefix, order.workers)
    ways = Ways(engine, Verifier(order.client, order.source.prefix))
    what = CopyOrder(index, order.shelf, order.workers, order.patience_seconds)
    copier = VersionCopier(what, order.folder, ways, progress)
    copier.run()
    return {
        "copy": MADE,
        "copied_files": copier.copied_files,
        "copied_bytes": copier.copied_bytes,
        "verified_by": dict(copier.verified_by),
        "verified_bytes": dict(copier.verified_bytes),
    }


def _always_changing(error: WorkError) -> WorkError:
    key = error.keys[0] if error.keys else "An object"
    return WorkError(
        "changed",
        f"{key} was overwritten or deleted between listing and copying it. The source was listed"
        f" {_LISTINGS} times.",
        "Record the version when nothing writes to the source. Copied objects are kept.",
        error.keys,
    )
