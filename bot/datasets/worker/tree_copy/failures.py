"""What a failure of the operating system means for a copy."""

import errno
import os
from pathlib import Path

from bot.datasets.worker.failures import WorkError

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NAMES = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})


def is_gone(error: OSError) -> bool:
    """Whether an entry of the source has disappeared, or has become another kind of entry."""
    return error.errno in _GONE


def failure(error: OSError, source: Path, target: Path, path: tuple[str, ...] = ()) -> WorkError:
    """The failure in words; what may be over soon is worth repeating."""
    name = "/".join(path) or str(error.filename or target)
    keys = ("/".join(path),) if path else ()
    if error.errno in _FULL:
        hint = LARGER
        return WorkError("no_room", f"The new volume is full at {name}.", hint, keys)
    if error.errno in _REFUSED:
        return WorkError("no_access", f"{name}: {error.strerror}, as uid {os.geteuid()}.",
                         _ROOT, keys)  # fmt: skip
    if error.errno in _NAMES:
        said = f"The new volume cannot hold {name}: {error.strerror}."
        return WorkError("bad_keys", said, "Rename it, or copy to another storage class.", keys)
    if is_gone(error):
        said = f"{name} disappeared while {source} was copied."
        return WorkError("changed", said, "Copy again when nothing writes to the PVC.", keys)
    words = f"{name}: {error.strerror or error}."
    return WorkError("store_down", words, "Copied files are kept. The next attempt goes on.", keys)


LARGER = "Make the new PVC larger, then copy again: it goes on from there. Or copy to another one."
_ROOT = (
    "The copy keeps owners, so it runs as root. The export of the new volume must let root in"
    " (no_root_squash), and the old PVC must let root read."
)
