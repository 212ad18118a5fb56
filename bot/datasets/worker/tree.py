"""Reads the files below a folder, in the order of their keys, and never follows a symbolic link.

The owner of the files may change them while they are read. Each part of a path is opened on its
own, so that a folder that became a link cannot lead outside the tree, where our keys are.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bot.datasets.worker.failures import WorkError, wrong_input

Kind = Literal["file", "link", "special"]

# Folders of snapshots of ONTAP and Azure NetApp Files, and the folder that mkfs creates.
_SNAPSHOTS, _MADE_BY_MKFS = ".snapshot", "lost+found"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a named pipe would otherwise wait for its writer.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class PathEntry:
    """An entry below the root; `size` is 0 for all but files."""

    key: str
    kind: Kind
    size: int


class Tree:
    """A folder and all below it; WorkError if it is not a folder, or its path has a link."""

    def __init__(self, root: Path) -> None:
        self._root: Final = root
        with self._folder(()):
            pass

    def walk(self) -> Iterator[PathEntry]:
        """All entries but folders, in the order of their keys; holds one folder at a time."""
        return self._below(())

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[int]:
        """A descriptor to read a file; WorkError if it is no longer a file."""
        *folders, name = key.split("/")
        try:
            with self._folder(tuple(folders)) as folder:
                descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
        except OSError as error:
            raise _failure(key, error) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise became_another(key)
            yield descriptor
        finally:
            os.close(descriptor)

    def _below(self, folders: tuple[str, ...]) -> Iterator[PathEntry]:
        for name, kind, size in self._entries(folders):
            if kind == "folder":
                yield from self._below((*folders, name))
            else:
                yield PathEntry("/".join((*folders, name)), kind, size)

    def _entries(self, folders: tuple[str, ...]) -> list[tuple[str, Kind | Literal["folder"], int]]:
        found: list[tuple[str, Kind | Literal["folder"], int]] = []
        try:
            with self._folder(folders) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    if entry.name == _SNAPSHOTS or (entry.name == _MADE_BY_MKFS and not folders):
                        continue
                    told = entry.stat(follow_symlinks=False)
                    found.append((entry.name, *_kind(told)))
        except OSError as error:
            raise _failure("/".join(folders) or str(self._root), error) from error
        # The content of folder `a` sorts as `a/`: after `a-b`.
        return sorted(found, key=lambda one: f"{one[0]}/" if one[1] == "folder" else one[0])

    @contextlib.contextmanager
    def _folder(self, folders: tuple[str, ...]) -> Iterator[int]:
        with contextlib.ExitStack() as stack:
            descriptor = self._opened_root()
            stack.callback(os.close, descriptor)
            for name in folders:
                descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=descriptor)
                stack.callback(os.close, descriptor)
            yield descriptor

    def _opened_root(self) -> int:
        parts = self._root.absolute().parts
        if ".." in parts:
            raise wrong_input(f"{self._root} has .. in its path.", "Name the folder itself.")
        descriptor = os.open(parts[0], _FOLDER_FLAGS)
        try:
            for name in parts[1:]:
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        except OSError as error:
            os.close(descriptor)
            raise wrong_input(
                f"{self._root} is not a folder, or its path contains a symbolic link.",
                "Name a folder of the volume: --source /data/results",
            ) from error
        return descriptor


def became_another(key: str) -> WorkError:
    """The error for a file that changed after the first walk through its tree."""
    return WorkError(
        "changed",
        f"{key} changed while it was pushed.",
        "Push when nothing writes there, or push a snapshot.",
        (key,),
    )


def _kind(told: os.stat_result) -> tuple[Kind | Literal["folder"], int]:
    if stat.S_ISDIR(told.st_mode):
        return "folder", 0
    if stat.S_ISREG(told.st_mode):
        return "file", told.st_size
    return ("link" if stat.S_ISLNK(told.st_mode) else "special"), 0


def _failure(path: str, error: OSError) -> WorkError:
    if isinstance(error, PermissionError):
        return WorkError(
            "no_access",
            f"{path} cannot be read by uid {os.geteuid()}.",
            "Allow it to read everything below the folder, or push a folder that it may read.",
            (path,),
        )
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or error.errno == errno.ELOOP:
        return became_another(path)
    return WorkError(
        "store_down",
        f"{path} could not be read from the volume: {error.strerror or error}.",
        "Pushed objects are kept. The next attempt pushes the rest.",
    )
