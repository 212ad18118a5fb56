"""Opens the folders of a tree one part at a time, so that no symbolic link can lead outside it."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bot.datasets.worker.failures import wrong_input

Folders = tuple[str, ...]
"""The path of a folder below the root, in parts."""

# Folders of snapshots of ONTAP and Azure NetApp Files, and the folder that mkfs creates.
_SNAPSHOTS, _MADE_BY_MKFS = ".snapshot", "lost+found"
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Root:
    """A mounted volume; WorkError if it is not a folder."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir() or path.is_symlink():
            raise wrong_input(f"{path} is not a folder.", "Mount the volume there.")
        self.path: Final = path

    @contextlib.contextmanager
    def opened(self, folders: Folders) -> Iterator[int]:
        """A descriptor of a folder; OSError if a part of the path is not a folder."""
        with contextlib.ExitStack() as stack:
            descriptor = os.open(self.path, _FLAGS)
            stack.callback(os.close, descriptor)
            for name in folders:
                descriptor = os.open(name, _FLAGS, dir_fd=descriptor)
                stack.callback(os.close, descriptor)
            yield descriptor

    def make(self, folders: Folders) -> None:
        """Creates a folder whose parent exists; one that is there is kept, a file replaced."""
        *parents, name = folders
        with self.opened(tuple(parents)) as parent:
            try:
                os.mkdir(name, 0o700, dir_fd=parent)
            except FileExistsError:
                there = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISDIR(there.st_mode):
                    os.unlink(name, dir_fd=parent)
                    os.mkdir(name, 0o700, dir_fd=parent)

    def entries(self, folders: Folders) -> dict[str, os.stat_result]:
        """What is in a folder by name, sorted; what disappears meanwhile is left out."""
        found = {}
        with self.opened(folders) as descriptor:
            for name in sorted(_named(descriptor, folders)):
                with contextlib.suppress(FileNotFoundError):
                    found[name] = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return found

    def names(self, folders: Folders) -> set[str]:
        """The names in a folder."""
        with self.opened(folders) as descriptor:
            return _named(descriptor, folders)


def _named(descriptor: int, folders: Folders) -> set[str]:
    """The names in a folder, without those of the storage itself."""
    names = set(os.listdir(descriptor)) - {_SNAPSHOTS}
    return names if folders else names - {_MADE_BY_MKFS}
