"""Whether a tree has the names of a manifest, in any order and without holding them in memory."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

# Copies of the whole that ONTAP and Azure NetApp Files show in each folder.
_SNAPSHOTS = b".snapshot"
_HASH_BYTES = 16


@dataclass(frozen=True)
class Names:
    """So many names, and the sum of their hashes, which tells sets of them apart."""

    count: int = 0
    total: int = 0

    @classmethod
    def of(cls, keys: Iterable[bytes]) -> "Names":
        """Those of all keys but of copies that a volume shows by itself."""
        count = total = 0
        for key in keys:
            if _SNAPSHOTS not in key or _SNAPSHOTS not in key.split(b"/"):
                count += 1
                total += int.from_bytes(blake2b(key, digest_size=_HASH_BYTES).digest(), "big")
        return cls(count, total % (1 << 8 * _HASH_BYTES))


def below(folder: bytes) -> Iterator[bytes]:
    """The paths of all files below a folder, which ends with a slash, as they are listed."""
    left = [b""]
    while left:
        inner = left.pop()
        with os.scandir(folder + inner) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield inner + entry.name
                elif entry.name != _SNAPSHOTS:
                    left.append(inner + entry.name + b"/")
