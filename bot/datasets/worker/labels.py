"""Reads which files have the selected labels: from CSV, TSV or JSON Lines."""

import codecs
import csv
import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

import msgspec

from bot.datasets.selection import Label
from bot.datasets.worker.failures import wrong_input

LARGEST_BYTES = 32 << 20
"""The largest file of labels: with short rows, its names take up to 12 times its size in memory."""

_FILE_COLUMNS = ("file_name", "filename", "file", "path", "image", "image_path", "key")
_SHOWN = 10


class LabelledFiles:
    """The files that have all of the labels, by the rows of a file at a path of the version.

    A row names its file from the folder of the file with labels, or from the top of the version. A
    name without a folder means every file of that name in that folder and below it.
    """

    def __init__(self, path: str, content: bytes, labels: Sequence[Label]) -> None:
        self._folder: Final = path[: path.rfind("/") + 1]
        self._names: Final = _names(path, content, labels)

    def __contains__(self, key: str) -> bool:
        """Whether a file has the labels."""
        if key in self._names:
            return True
        if not key.startswith(self._folder):
            return False
        inner = key[len(self._folder) :]
        return inner in self._names or inner.rpartition("/")[2] in self._names


def _names(path: str, content: bytes, labels: Sequence[Label]) -> set[str]:
    """The names in the rows that have all labels; WorkError if the file cannot be read."""
    try:
        return set(_selected(path, content, labels))
    except (csv.Error, UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise wrong_input(
            f"{path} cannot be read as {path.rpartition('.')[2].upper()}: {error}.",
            _correct(path),
        ) from None


def _selected(path: str, content: bytes, labels: Sequence[Label]) -> Iterator[str]:
    columns, file_column = dict[str, None](), ""
    for number, row in enumerate(_rows(path, content, labels), 1):
        file_column = file_column or _file_column(row)
        if not row.keys() <= columns.keys():
            columns |= dict.fromkeys(row)
        name = row.get(file_column)
        if not isinstance(name, str):
            raise wrong_input(
                f"Row {number:,} of {path} does not name a file in column {file_column}.",
                _correct(path),
            )
        if all(label.column in row and _has(row[label.column], label) for label in labels):
            yield name.strip().removeprefix("./")
    if not columns:
        raise wrong_input(f"{path} has no rows.", "Name another file with --labels.")
    _insist(path, [*filter(None, columns)], labels)


def _insist(path: str, columns: Sequence[str], labels: Sequence[Label]) -> None:
    """WorkError for a column that there is not; it suggests another one."""
    missing = next((each.column for each in labels if each.column not in columns), None)
    if missing is None:
        return
    near = difflib.get_close_matches(missing, columns, 1)
    listed = ", ".join(columns[:_SHOWN])
    raise wrong_input(
        f"{path} has no column {missing}.",
        f"Did you mean {near[0]}?" if near else f"Its columns: {listed}.",
    )


def _file_column(columns: Iterable[str]) -> str:
    """The column that names the files: one with a usual name, or else the first with a name."""
    usual = {name.casefold(): name for name in reversed([*columns])}
    found = next((usual[name] for name in _FILE_COLUMNS if name in usual), "")
    return found or next(filter(None, columns), "")


def _has(value: object, label: Label) -> bool:
    if isinstance(value, list):
        return any(_has(each, label) for each in value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return any(fnmatchcase(text.strip(), _pattern(wanted)) for wanted in label.values)


@cache
def _pattern(value: str) -> str:
    """The pattern of `fnmatch` for a value in which only `*` stands for other text."""
    return re.sub(r"[?[]", r"[\g<0>]", value)


def _rows(path: str, content: bytes, labels: Sequence[Label]) -> Iterator[Mapping[str, Any]]:
    if not path.casefold().endswith((".csv", ".tsv")):
        for line in io.BytesIO(content.removeprefix(codecs.BOM_UTF8)):
            if line.strip():
                yield _OBJECTS.decode(line)
        return
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    delimiter = "\t" if path.casefold().endswith(".tsv") else ","
    # A row that is too short has no value there. Quotes may follow a blank.
    rows = csv.DictReader(text, delimiter=delimiter, restkey="", restval="", skipinitialspace=True)
    columns = rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    for used in (_file_column(columns), *(label.column for label in labels)):
        if used and columns.count(used) > 1:
            raise wrong_input(f"{path} has more than one column {used}.", _correct(path))
    yield from rows


def _correct(path: str) -> str:
    return f"Correct {path}, and record a new version."


_OBJECTS = msgspec.json.Decoder(dict[str, Any])
