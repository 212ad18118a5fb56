"""What `/dataset version` takes: the whole source, or the files that are selected of a version."""

import re
from dataclasses import dataclass

from typing_extensions import override

from bot.datasets.selection import LABEL_FILES, Selection, label_of
from bot.datasets.service import NewSelection
from bot.errors import UsageError
from bot.slack.grammar.parameters import Pattern, matched
from bot.slack.markup import FormatCommand

_EXAMPLE = "dataset version chest-xray --from v3 --path train/ --name train-only"
_LABEL_EXAMPLE = (
    "dataset version chest-xray --from v3 --labels labels.csv --label split=train --name train-only"
)


class PathGlob(Pattern):
    """A pattern of paths in a version."""

    word = "PATTERN"
    form = "a pattern of paths: `train/` for a folder, `*` within a name, `**` for any folders"
    example = "train/*.jpg"
    rule = re.compile(r"(?!/)[^\x00-\x1f]{1,400}")

    @override
    def read(self, text: str) -> str:
        """The pattern as it is written."""
        found = super().read(text)
        if {"", ".", ".."} & set(found.removesuffix("/").split("/")):
            raise ValueError(text)
        return found


class LabelFile(Pattern):
    """The path of a file with labels in a version."""

    word = "FILE"
    form = f"a file of the version that ends with {', '.join(LABEL_FILES)}"
    example = "labels.csv"
    rule = re.compile(r"(?!/)[^\x00-\x1f]{1,1000}\.(?i:csv|tsv|jsonl|ndjson)")


class LabelGlob:
    """A column of a file with labels, and the values that are selected."""

    word = "COLUMN=VALUE[,VALUE]"
    form = "a column and its values such as `split=train,val`; `*` stands for any text"
    example = "split=train"
    rule = re.compile(r"[^\x00-\x1f]{1,400}")

    def read(self, text: str) -> str:
        """The label in its usual spelling."""
        return label_of(matched(self.rule, text).group()).spelled


@dataclass(frozen=True)
class VersionArguments:
    """The input of `/dataset version`; with `is_meant` copies are made without confirmation.

    With `from_version`, files of that version are selected by `paths` and by `with_labels`, which
    its file `label_file` has.
    """

    of: str
    name: str | None = None
    note: str = ""
    has_copy: bool = False
    is_meant: bool = False
    from_version: str | None = None
    paths: tuple[str, ...] = ()
    label_file: str | None = None
    with_labels: tuple[str, ...] = ()
    cluster: str | None = None

    def selection(self, format_command: FormatCommand) -> NewSelection | None:
        """The selection that is meant; None for the whole source, UsageError if incomplete."""
        example = f"For example `{format_command(_EXAMPLE)}`."
        if self.from_version is None:
            if self.paths or self.label_file or self.with_labels:
                raise UsageError("Name the version to select files of with --from.", example)
            return None
        if not self.paths and not self.with_labels:
            raise UsageError(
                f"Name the files of {self.of}@{self.from_version} with --path, or with --label.",
                example,
            )
        if bool(self.label_file) != bool(self.with_labels):
            raise UsageError(
                "--label selects by a file of the version, which --labels names; use both.",
                f"For example `{format_command(_LABEL_EXAMPLE)}`.",
            )
        if self.name is None:
            raise UsageError("Name the selection with --name.", example)
        if self.has_copy:
            raise UsageError(
                "--copy cannot be used with --from.",
                f"The selection shares the copy of {self.of}@{self.from_version}, if that has one.",
            )
        chosen = Selection(self.from_version, self.paths, self.label_file or "", self.with_labels)
        return NewSelection(chosen, self.name, self.note, self.cluster or "")
