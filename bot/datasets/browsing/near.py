"""Suggests what a person meant by a path that a version does not have."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bot.datasets.folders import Manifest
from bot.slack.grammar.reading import closest

_MOST_NAMES = 1_000


class Nearest(NamedTuple):
    """The deepest folder of a path that exists, and the file or folder there that may be meant.

    Folders end with a slash; the top of the version is empty, and so is `path` if nothing is near.
    """

    folder: str
    path: str = ""


def nearest(manifest: Manifest, path: str) -> Nearest:
    """What a version has in place of a path."""
    folder, rest, name = "", path, path
    while rest:
        name, _, rest = rest.partition("/")
        if not manifest.has_folder(f"{folder}{name}/"):
            break
        folder = f"{folder}{name}/"
    names = {each.rstrip("/").casefold(): each for each in _names(manifest, folder, name)}
    near = closest(name, names)
    return Nearest(folder, folder + names[near] if near else "")


def _names(manifest: Manifest, folder: str, name: str) -> Iterator[str]:
    """The first names in a folder, and those that begin as `name` does."""
    yield from (row.name for row in islice(manifest.rows(folder), _MOST_NAMES))
    for length in range(len(name), 0, -1):
        found = manifest.at(folder + name[:length])
        if found is not None and found.key.startswith(folder):
            child, slash, _ = found.key[len(folder) :].partition("/")
            yield child + slash
