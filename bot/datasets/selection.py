"""Which files of a version another version has: by paths and by labels."""

import shlex

import msgspec

LABEL_FILES = (".csv", ".tsv", ".jsonl", ".ndjson")
"""How names of files with labels end."""


class Label(msgspec.Struct, frozen=True):
    """A column of a file with labels, and the values that are meant; `*` stands for any text."""

    column: str
    values: tuple[str, ...]

    @property
    def spelled(self) -> str:
        """The label as it is written: `split=train,val`."""
        return f"{self.column}={','.join(self.values)}"


def label_of(text: str) -> Label:
    """The label that is written like that; ValueError if it is none."""
    column, _, values = text.partition("=")
    found = Label(column.strip(), tuple(each.strip() for each in values.split(",")))
    if not found.column or "" in found.values:
        raise ValueError(text)
    return found


class Selection(msgspec.Struct, frozen=True):
    """Files of version `of` whose path matches any of the patterns, and that have all labels.

    Without patterns, all paths match. `labels` is the file of the version that has the labels.
    """

    of: str
    paths: tuple[str, ...] = ()
    labels: str = ""
    where: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The selection as options of the worker and of `/dataset version`."""
        return [
            *(word for path in self.paths for word in ("--path", path)),
            *(("--labels", self.labels) if self.labels else ()),
            *(word for label in self.where for word in ("--label", label)),
        ]

    @property
    def spelled(self) -> str:
        """The selection as it is typed behind `/dataset version chest-xray`."""
        return shlex.join(["--from", self.of, *self.arguments])


def read(stored: dict[str, object]) -> Selection | None:
    """The selection that a row has; None for a version of a whole source."""
    return msgspec.convert(stored, Selection) if stored else None
