"""Gives a copy the owner, mode, times and extended attributes of its source."""

import errno
import os
import stat
from typing import Final

# Those of people, and POSIX ACLs. Others belong to the system: a label of SELinux, for example.
_OF_PEOPLE = "user."
_ACLS = frozenset({"system.posix_acl_access", "system.posix_acl_default"})
_UNSUPPORTED = frozenset(
    {errno.ENOTSUP, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.ENOSPC, errno.EACCES}
)
_STEPS_NS: Final = (1_000_000_000, 1_000, 100)


def give(source: int, target: int, told: os.stat_result) -> tuple[int, int]:
    """Gives a file or folder the attributes of its source.

    Returns how many extended attributes were kept, and how many the target cannot hold.
    """
    give_owner(target, told)
    counts = _give_extended(source, target)
    os.utime(target, ns=(told.st_atime_ns, told.st_mtime_ns))
    return counts


def give_owner(target: int, told: os.stat_result) -> None:
    """Gives a file or folder the owner and mode of its source, unless it has them."""
    there = os.fstat(target)
    if (there.st_uid, there.st_gid) != (told.st_uid, told.st_gid):
        os.fchown(target, told.st_uid, told.st_gid)
        there = os.fstat(target)
    # A change of the owner clears the bits that run a program as its owner.
    if stat.S_IMODE(there.st_mode) != stat.S_IMODE(told.st_mode):
        os.fchmod(target, stat.S_IMODE(told.st_mode))


def give_link(name: str, folder: int, told: os.stat_result) -> None:
    """Gives a symbolic link the owner and times of its source."""
    there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if (there.st_uid, there.st_gid) != (told.st_uid, told.st_gid):
        os.chown(name, told.st_uid, told.st_gid, dir_fd=folder, follow_symlinks=False)
    os.utime(name, ns=(told.st_atime_ns, told.st_mtime_ns), dir_fd=folder, follow_symlinks=False)


def is_same_file(told: os.stat_result, there: os.stat_result | None) -> bool:
    """Whether a file was copied before: same size and time, which a copy gets last."""
    if there is None or not stat.S_ISREG(there.st_mode) or told.st_size != there.st_size:
        return False
    # Some storage keeps times in steps of 100 ns, a microsecond or a second.
    step = next((each for each in _STEPS_NS if there.st_mtime_ns % each == 0), 1)
    return told.st_mtime_ns // step == there.st_mtime_ns // step


def has_owner(told: os.stat_result, there: os.stat_result) -> bool:
    """Whether owner and mode are those of the source."""
    return (told.st_uid, told.st_gid, told.st_mode) == (there.st_uid, there.st_gid, there.st_mode)


def _give_extended(source: int, target: int) -> tuple[int, int]:
    kept = lost = 0
    for name in _listed(source):
        try:
            value = os.getxattr(source, name)
            if name not in _listed(target) or os.getxattr(target, name) != value:
                os.setxattr(target, name, value)
            kept += 1
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            lost += 1
    return kept, lost


def _listed(descriptor: int) -> list[str]:
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return []
        raise
    return [each for each in names if each.startswith(_OF_PEOPLE) or each in _ACLS]
