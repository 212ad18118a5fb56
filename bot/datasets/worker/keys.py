"""Finds keys that cannot be files, in one pass over sorted keys with bounded memory."""

from collections.abc import Callable, Iterable, Iterator

from bot.datasets.manifest import Remark, Remarks

_NAME_BYTES = 255
_SHOWN = 100
# One bit for each hash of a folded path: with 12 million, 3 % are checked a second time.
_BITS = 1 << 28
# If more paths than this may clash, the ones after them are not checked.
_REMEMBERED = 500_000


def problem(key: str) -> str:
    """Why a key cannot be the path of a file below a folder; empty when it can."""
    if key.startswith("/"):
        return "starts with /"
    if key.endswith("/"):
        return "ends with / but has content"
    if "\0" in key:
        return "has a NUL character"
    for name in key.split("/"):
        if name in {"", ".", ".."}:
            return f"has the part {name!r} in its path" if name else "has // in its path"
        # Only a long name needs to be counted in bytes.
        if len(name) * 4 > _NAME_BYTES and len(name.encode()) > _NAME_BYTES:
            return f"has a name of {len(name.encode())} bytes; file systems allow {_NAME_BYTES}"
    return ""


class Remarked:
    """Counts remarks and keeps the first hundred."""

    def __init__(self) -> None:
        self._count = 0
        self._first: list[Remark] = []

    def add(self, key: str, words: str) -> None:
        """Adds a remark."""
        self._count += 1
        if len(self._first) < _SHOWN:
            self._first.append(Remark(key, words))

    def remarks(self) -> Remarks:
        """The remarks so far."""
        return Remarks(self._count, tuple(self._first))


class FilesAsFolders:
    """Finds keys such as `a` beside `a/b`, given all keys in order.

    Keys that start with `a` are adjacent, so only the few keys that the current key starts with can
    still clash as folders.
    """

    def __init__(self) -> None:
        self._open: list[str] = []

    def folder_that_is_a_file(self, key: str) -> str:
        """The earlier key that would have to be a folder for this one; empty without one."""
        while self._open and not key.startswith(self._open[-1]):
            self._open.pop()
        clash = next((file for file in self._open if key[len(file)] == "/"), "")
        self._open.append(key)
        return clash


class FoldedPaths:
    """Finds paths that differ only in case, which a case-insensitive volume stores as one file.

    The first pass collects the hashes that occur more than once. The second pass tells equal paths
    from equal hashes.
    """

    def __init__(self) -> None:
        self._seen = bytearray()
        self._twice: set[int] = set()
        self._folders: list[str] = []

    def note(self, key: str) -> None:
        """First pass: takes every key, in order."""
        self._seen = self._seen or bytearray(_BITS // 8)
        for path in self._new_paths(key):
            place = _place(path.casefold())
            byte, bit = place >> 3, 1 << (place & 7)
            if self._seen[byte] & bit and len(self._twice) < _REMEMBERED:
                self._twice.add(place)
            self._seen[byte] |= bit

    def clashes(self, keys: Callable[[], Iterable[str]]) -> Iterator[Remark]:
        """Second pass: the clashes among the same keys; reads none if the first pass found none."""
        self._folders = []
        if not self._twice:
            return
        known: dict[str, list[str]] = {}
        for key in keys():
            for path in self._new_paths(key):
                folded = path.casefold()
                if _place(folded) not in self._twice:
                    continue
                alike = known.setdefault(folded, [])
                if path not in alike:
                    alike.append(path)
                    if len(alike) > 1:
                        yield Remark(path, f"differs from {alike[0]} only in case")

    def _new_paths(self, key: str) -> Iterator[str]:
        """The key, and those of its folders that the previous key was not in."""
        *folders, _ = key.split("/")
        shared = 0
        for ours, theirs in zip(folders, self._folders, strict=False):
            if ours != theirs:
                break
            shared += 1
        for depth in range(shared + 1, len(folders) + 1):
            yield "/".join(folders[:depth])
        self._folders = folders
        yield key


def _place(folded: str) -> int:
    return hash(folded) % _BITS
