"""Lists the objects below a prefix, in the store's order."""

from collections.abc import Iterator

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.xml import objects_page, versioning, versions_page
from bot.datasets.worker.stores.settings import Address


def is_versioned(requests: Requests) -> bool | None:
    """Whether the bucket keeps versions; None if the store does not report it."""
    try:
        status = versioning(requests.get(query={"versioning": ""}).body)
    except RefusedError as refusal:
        # Not every store knows the request, and not every key may make it.
        if refusal.reason in {"no_access", "wrong_input"}:
            return None
        raise
    return status in {"Enabled", "Suspended"}


def listed(
    requests: Requests, source: Address, *, versioned: bool, page_objects: int = 1000
) -> Iterator[Entry]:
    """Every object in the store's order; keys are relative to the prefix."""
    cut = len(source.prefix)
    pages = objects = 0
    for page in _pages(requests, source, page_objects, versioned=versioned):
        pages += 1
        objects += len(page)
        for entry in page:
            yield Entry(entry.key[cut:], entry.size, entry.etag, entry.version_id)
    if versioned and pages > 1:
        _check_that_none_is_left_out(requests, source, objects)


def _pages(
    requests: Requests, source: Address, page_objects: int, *, versioned: bool
) -> Iterator[list[Entry]]:
    question = {
        "prefix": source.prefix,
        "encoding-type": "url",
        "max-keys": str(page_objects),
        **({"versions": ""} if versioned else {"list-type": "2"}),
    }
    read, following = (versions_page if versioned else objects_page), dict[str, str]()
    while True:
        page = read(requests.get(query=question | following).body)
        yield page.entries
        if not page.following:
            return
        if page.following == following:
            raise WorkError("wrong_input", "The store returned the same page of its listing twice.")
        following = page.following


def _check_that_none_is_left_out(requests: Requests, source: Address, objects: int) -> None:
    """Detects stores that omit keys between two pages of versions, such as SeaweedFS 4.48."""
    counted = sum(map(len, _pages(requests, source, 1000, versioned=False)))
    if counted != objects:
        raise WorkError(
            "wrong_input",
            f"The store lists {counted} objects below {source}, but {objects} when it lists their"
            " versions.",
            "Survey it again while nothing writes to it. If the numbers stay, this store omits"
            " objects when it lists versions: copy the data to a bucket without versions.",
        )
