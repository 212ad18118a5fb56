"""Folders of a version, as references and caches name them: `train/`, or `train/,val/`."""

from collections.abc import Iterable, Sequence
from typing import Final

SEPARATOR: Final = ","


def outermost(folders: Iterable[str]) -> tuple[str, ...]:
    """The folders in order, each ending with a slash, without those inside another."""
    found: list[str] = []
    for each in sorted({f"{folder.strip('/')}/" for folder in folders}):
        if not found or not holds(found, [each]):
            found.append(each)
    return tuple(found)


def holds(folders: Sequence[str], wanted: Iterable[str]) -> bool:
    """Whether every wanted folder is one of the folders, or inside one."""
    return all(each.startswith(tuple(folders)) for each in wanted)


def written(folders: Iterable[str]) -> str:
    """The folders as text; empty without any."""
    return SEPARATOR.join(folders)


def read(text: str) -> tuple[str, ...]:
    """The folders in such a text."""
    return tuple(text.split(SEPARATOR)) if text else ()


def spelled(reference: str, folders: Iterable[str]) -> str:
    """A version, or these folders of it: `chest-xray@v3/train/`."""
    part = written(folders)
    return f"{reference}/{part}" if part else reference
