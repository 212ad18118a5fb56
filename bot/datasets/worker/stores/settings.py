"""The settings of an object store as the worker's options have them, without secrets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from typing_extensions import override

from bot.datasets.worker.failures import WorkError


class StoreSettings(Protocol):
    """What every type of store has; endpoint None is the cloud's own.

    `credentials` is a folder with the files of the store's Secret; None stands for the pod's own
    identity.
    """

    @property
    def endpoint(self) -> str | None: ...  # noqa: D102 - see above

    @property
    def ca_file(self) -> str | None: ...  # noqa: D102 - see above

    @property
    def credentials(self) -> str | None: ...  # noqa: D102 - see above


@dataclass(frozen=True)
class Address:
    """A bucket and a prefix that is empty or ends with /."""

    bucket: str
    prefix: str
    scheme: str = "s3"

    @override
    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.prefix}"


class UnreadableError(WorkError):
    """A file of the store's Secret, or its CA, cannot be read; `why` is the system's reason."""

    why: str = ""


class NoIdentityError(WorkError):
    """The store's settings name no credentials, and the process has no identity of its own."""


def authority(where: StoreSettings) -> str | None:
    """The certificates of the store's own CA; None for those of the system."""
    if where.ca_file is None:
        return None
    hint = "Mount the store's Secret there, with the file ca.crt."
    return content(Path(where.ca_file), "The CA file", hint)


def content(path: Path, what: str, hint: str) -> str:
    """The text of a file; UnreadableError if it cannot be read, WorkError if it is empty."""
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        unreadable = UnreadableError(
            "no_access", f"{what} cannot be read from {path}: {why}.", hint
        )
        unreadable.why = why
        raise unreadable from None
    if not found:
        raise WorkError("no_access", f"{path} is empty.", "Put the key into the store's Secret.")
    return found
