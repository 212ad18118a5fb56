"""The tree on the volume: where it is built, its owner, and the rename that makes it ready.

TARGET/ready/files/        the dataset's files
TARGET/ready/manifest/     the manifest they were copied by
TARGET/ready/digest        its digest
TARGET/.filling-DIGEST/    the same in `tree` until it is complete, and `progress` of the shards;
                           `kept-open` once it is complete and a layout may change it
"""

import contextlib
import ctypes
import errno
import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.datasets.worker.failures import WorkError, wrong_input

_DIGEST_SHOWN = 16
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Ownership:
    """The owner and umask of the files; None means those of the process."""

    uid: int | None = None
    gid: int | None = None
    umask: int = 0o022


class TargetFolder:
    """One target folder, as one shard uses it."""

    def __init__(self, target: Path, digest: str, ownership: Ownership) -> None:
        self.target: Final = target
        self._digest: Final = digest
        self._filling: Final = target / f".filling-{digest.partition(':')[2][:_DIGEST_SHOWN]}"
        self._tree: Final = self._filling / "tree"
        self._kept_open: Final = self._filling / "kept-open"
        self._ready: Final = target / "ready"
        self._files: Final = f"{self._tree}/files"
        self._owner: Final = _owner(ownership)
        self._ownership: Final = ownership
        self._open: list[str] = []

    def is_ready(self) -> bool:
        """Whether the version is complete; WorkError if another version is there."""
        try:
            found = (self._ready / "digest").read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return False
        if found != self._digest:
            raise wrong_input(
                f"{self.target} already holds another version: {found}.",
                "Use a separate volume for each version.",
            )
        return True

    @property
    def growing(self) -> str:
        """The path within the volume of the files that are not ready yet."""
        return (self._tree / "files").relative_to(self.target).as_posix()

    def is_kept_open(self) -> bool:
        """Whether the tree is complete and verified, but kept open."""
        return self._kept_open.exists()

    def keep_open(self) -> None:
        """Marks the tree as complete and open; from now on it may differ from its manifest."""
        self.sync()
        self._kept_open.touch()
        self.sync()

    def finish(self) -> None:
        """Makes a tree ready that was kept open; WorkError if there is none, or it has no files."""
        if not self.is_ready():
            unfit = self._unfit()
            # Another process may have made it ready in the meantime.
            if not self.is_ready():
                if unfit:
                    raise unfit
                self.publish()
        self.tidy()

    def _unfit(self) -> WorkError | None:
        """Why the tree cannot be made ready."""
        if not self.is_kept_open():
            return wrong_input(
                f"{self.target} has no complete copy of {self._digest} that is kept open.",
                "Fill it first: quartermaster fill --keep-open ...",
            )
        if not any(files for _, _, files in os.walk(self._files)):
            return wrong_input(
                f"{self._files} no longer has any files.",
                "The layout removed them all. Fix its command, then cache the version again.",
            )
        return None

    def prepare(self) -> None:
        """Creates the folders of the tree; WorkError if this process may not."""
        os.umask(self._ownership.umask)
        if not self.target.is_dir():
            raise wrong_input(
                f"{self.target} is not a folder.",
                "Mount the dataset's volume there: --target /data",
            )
        try:
            for folder in (self._tree / "files", self._filling / "progress"):
                folder.mkdir(parents=True, exist_ok=True)
            for folder in (self._tree, self._tree / "files"):
                self._give(folder)
        except PermissionError as error:
            raise wrong_input(
                f"uid {os.geteuid()} cannot write {error.filename} or change its owner.",
                "Run the pod as the uid and gid that the files should have, or as root.",
            ) from error

    def _give(self, path: Path) -> None:
        if self._owner:
            os.chown(path, *self._owner)

    def record(self, shard: int, shards: int) -> Path:
        """The record file of a shard; another number of shards has other files."""
        return self._filling / "progress" / f"shard-{shard:05}-of-{shards:05}"

    def path(self, key: str) -> str:
        """The path of a file while the tree is built."""
        return f"{self._files}/{key}"

    def make_folders(self, key: str) -> None:
        """Creates the folders of a file; call it with keys in order, from one thread."""
        *folders, _ = key.split("/")
        both = zip(folders, self._open, strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda names: names[0] == names[1], both))
        for depth in range(shared + 1, len(folders) + 1):
            path = Path(self._files, *folders[:depth])
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                self._give(path)
        self._open = folders

    @contextlib.contextmanager
    def writing(self, key: str, *, new: bool = True) -> Iterator[int]:
        """A descriptor to write a file; `new` truncates an existing one."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path(key), flags | (os.O_TRUNC if new else 0), 0o666)
        try:
            if self._owner:
                os.fchown(descriptor, *self._owner)
            yield descriptor
        finally:
            os.close(descriptor)

    def has(self, key: str, size: int) -> bool:
        """Whether a file of that size is there."""
        try:
            return os.lstat(self.path(key)).st_size == size
        except OSError:
            return False

    def sync(self) -> None:
        """Waits until everything written is on disk."""
        descriptor = os.open(self.target, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _LIBC.syncfs(descriptor):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(self.target))
        finally:
            os.close(descriptor)

    def free(self) -> tuple[int, int]:
        """The free bytes and files; -1 files if the volume does not count them."""
        told = os.statvfs(self.target)
        return told.f_bavail * told.f_frsize, told.f_favail if told.f_files else -1

    @contextlib.contextmanager
    def describing(self, shard: int) -> Iterator[Path]:
        """A folder for the manifest, put beside the files with the digest when the block ends."""
        own = self._filling / f"manifest-{shard}-{os.getpid()}"
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        yield own
        digest = self._filling / f"digest-{shard}-{os.getpid()}"
        digest.write_text(f"{self._digest}\n", encoding="ascii")
        digest.replace(self._tree / "digest")
        _move(own, self._tree / "manifest")

    def publish(self) -> None:
        """Makes the tree ready by one rename, and removes the folder it was built in."""
        self.sync()
        _move(self._tree, self._ready)
        if not self.is_ready():
            raise WorkError("corrupt", f"{self._tree} disappeared while it was being finished.")
        self.sync()
        self.tidy()

    def tidy(self) -> None:
        """Removes the folder that a ready tree was built in."""
        shutil.rmtree(self._filling, ignore_errors=True)


def _move(folder: Path, to: Path) -> None:
    """Renames a folder, unless another shard has done the same."""
    try:
        folder.rename(to)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST}:
            raise


def _owner(wanted: Ownership) -> tuple[int, int] | None:
    """The owner to set on files; None if new files have it already, which saves a request each."""
    uid = os.geteuid() if wanted.uid is None else wanted.uid
    gid = os.getegid() if wanted.gid is None else wanted.gid
    return None if (uid, gid) == (os.geteuid(), os.getegid()) else (uid, gid)
