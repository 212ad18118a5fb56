"""Compares the names of a tree and a manifest, in any order and with constant memory."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

# Folders of snapshots that ONTAP and Azure NetApp Files show in each folder.
_SNAPSHOTS = b".snapshot"
_HASH_BYTES = 16


@dataclass(frozen=True)
class Names:
    """The number of names, and the sum of their hashes; equal for equal sets of names."""

    count: int = 0
    total: int = 0

    @classmethod
    def of(cls, keys: Iterable[bytes]) -> "Names":
        """The names of all keys, except in folders of snapshots."""
        count = total = 0
        for key in keys:
            if _SNAPSHOTS not in key or _SNAPSHOTS not in key.split(b"/"):
                count += 1
                total += int.from_bytes(blake2b(key, digest_size=_HASH_BYTES).digest(), "big")
        return cls(count, total % (1 << 8 * _HASH_BYTES))


def below(folder: bytes) -> Iterator[bytes]:
    """The paths of all files below a folder, in no order; `folder` ends with a slash."""
    left = [b""]
    while left:
        inner = left.pop()
        with os.scandir(folder + inner) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield inner + entry.name
                elif entry.name != _SNAPSHOTS:
                    left.append(inner + entry.name + b"/")
