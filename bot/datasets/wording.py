"""Formats figures and names of datasets for cards, replies and messages."""

from collections.abc import Mapping

from sqlmodel import Session

from bot.cluster.types.quantities import parse_quantity
from bot.datasets.tables import Dataset
from bot.people import people

_STEP = 1000
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
_BINARY_STEP = 1024
_VOLUME_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_SHORT_DIGEST = 12
_TEN = 10
_ALL = 100


def size(count: int) -> str:
    """An amount of data as people say it: 999 bytes, 1.2 GB, 340 TB."""
    amount, unit = float(count), 0
    while round(amount, 1) >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    if unit == 0:
        return "1 byte" if count == 1 else f"{count} bytes"
    return f"{amount:.1f} {_UNITS[unit]}" if amount < _TEN else f"{amount:.0f} {_UNITS[unit]}"


def capacity(count: int) -> str:
    """The size of a volume, in the units that Kubernetes and clouds sell it by: 300 GiB."""
    amount, unit = float(count), 0
    while amount >= _BINARY_STEP and unit < len(_VOLUME_UNITS) - 1:
        amount, unit = amount / _BINARY_STEP, unit + 1
    return f"{amount:,.1f}".removesuffix(".0") + f" {_VOLUME_UNITS[unit]}"


def bytes_of(text: str) -> int:
    """The bytes of a size with its unit, such as `300Gi`; ValueError for anything else."""
    return int(parse_quantity(text))


def files(count: int) -> str:
    """`1 file`, `627,615 files`."""
    return f"{count:,} file{'' if count == 1 else 's'}"


def objects(count: int) -> str:
    """`1 object`, `627,615 objects`."""
    return f"{count:,} object{'' if count == 1 else 's'}"


def short(digest: str) -> str:
    """The first digits of a digest, enough to tell versions apart by eye."""
    return digest.removeprefix("sha256:")[:_SHORT_DIGEST]


_WAYS = {"md5": "by MD5", "checksum": "by a checksum", "size": "by size alone"}


def verified(files_by: Mapping[str, int], bytes_by: Mapping[str, int], whole: int) -> str:
    """How files were compared, and the shares of `whole` bytes if some only by size."""
    said = ", ".join(f"{n:,} {_WAYS.get(way, f'by {way}')}" for way, n in sorted(files_by.items()))
    by_size = bytes_by.get("size", 0)
    if not said or not by_size or not whole:
        return said
    by_checksum = sum(bytes_by.values()) - by_size
    parts = (f"{_percent(by_checksum, whole)} by checksum", f"{_percent(by_size, whole)} by size")
    return f"{said}; of {size(whole)} {', '.join(parts)}"


def _percent(part: int, whole: int) -> str:
    """A share in percent; 0 and 100 are shown only if they are exact."""
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "under 1 %"
    return "over 99 %" if _ALL - 1 < percent < _ALL else f"{percent:.0f} %"


def readers(dataset: Dataset) -> str:
    """Who may use it besides its owner."""
    return "everyone" if dataset.is_open else ", ".join(dataset.readers) or "no other team"


def name_of(session: Session, workspace_id: str, user_id: str) -> str:
    """A person's name, which unlike a mention notifies no one."""
    return people.name_of(session, workspace_id, user_id)
