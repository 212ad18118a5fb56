"""Reads which files have the selected labels: from CSV, TSV or JSON Lines."""

import csv
import difflib
import io
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from bot.datasets.selection import Label
from bot.datasets.worker.failures import WorkError, wrong_input

LARGEST_BYTES = 64 << 20
"""The largest file of labels: it is read into the pod's memory."""

_FILE_COLUMNS = ("file_name", "filename", "file", "path", "image", "image_path", "key")
_SHOWN = 10


class LabelledFiles:
    """The files that have all of the labels, by the rows of a file at a path of the version.

    A row names its file from the folder of the file with labels, or from the top of the version. A
    name without a folder means every file of that name in that folder and below it.
    """

    def __init__(self, path: str, content: bytes, labels: Sequence[Label]) -> None:
        self._folder: Final = path[: path.rfind("/") + 1]
        self._names: Final = set(_selected(path, content, labels))

    def __contains__(self, key: str) -> bool:
        """Whether a file has the labels."""
        if key in self._names:
            return True
        if not key.startswith(self._folder):
            return False
        inner = key[len(self._folder) :]
        return inner in self._names or inner.rpartition("/")[2] in self._names


def _selected(path: str, content: bytes, labels: Sequence[Label]) -> Iterator[str]:
    """The names in the rows that have all labels."""
    file_column = ""
    for number, row in enumerate(_rows(path, content), 1):
        if not file_column:
            _insist(path, row, labels)
            file_column = _file_column(row)
        name = row.get(file_column)
        if not isinstance(name, str):
            raise wrong_input(
                f"Row {number:,} of {path} does not name a file in column {file_column}.",
                f"Correct {path}, and record a new version.",
            )
        if all(_has(row.get(label.column), label) for label in labels):
            yield name.removeprefix("./")
    if not file_column:
        raise wrong_input(f"{path} has no rows.", "Name another file with --labels.")


def _insist(path: str, row: Mapping[str, Any], labels: Sequence[Label]) -> None:
    """WorkError for a column that there is not; it suggests another one."""
    missing = next((each.column for each in labels if each.column not in row), None)
    if missing is None:
        return
    near = difflib.get_close_matches(missing, list(row), 1)
    listed = ", ".join(list(row)[:_SHOWN])
    raise wrong_input(
        f"{path} has no column {missing}.",
        f"Did you mean {near[0]}?" if near else f"Its columns: {listed}.",
    )


def _file_column(row: Mapping[str, Any]) -> str:
    """The column that names the files: one with a usual name, or else the first with a name."""
    usual = {name.casefold(): name for name in reversed(list(row))}
    found = next((usual[name] for name in _FILE_COLUMNS if name in usual), "")
    return found or next(filter(None, row), "")


def _has(value: object, label: Label) -> bool:
    if isinstance(value, list):
        return any(_has(each, label) for each in value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return any(fnmatchcase(text.strip(), wanted) for wanted in label.values)


def _rows(path: str, content: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        if path.casefold().endswith((".csv", ".tsv")):
            text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
            delimiter = "\t" if path.casefold().endswith(".tsv") else ","
            # A row that is too short has no value there.
            yield from csv.DictReader(text, delimiter=delimiter, restkey="", restval="")
        else:
            for line in io.BytesIO(content):
                if line.strip():
                    yield _OBJECTS.decode(line)
    except (csv.Error, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise WorkError(
            "wrong_input",
            f"{path} cannot be read as {path.rpartition('.')[2].upper()}: {error}.",
            f"Correct {path}, and record a new version.",
        ) from None


_OBJECTS = msgspec.json.Decoder(dict[str, Any])
