"""The rights that the kinds of runs need, as rules of RBAC; `make docs` writes them into deploy/.

Usage: python -m bot.training.kinds.rights FILE ..., a template of the chart and what it renders.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.training.kinds import ROOTS
from bot.training.kinds.kind import RootType

_READ = ("get", "list", "watch")
_BEGIN = "  # Of the kinds of runs; `make docs` writes these rules.\n"
_END = "  # Of all runs.\n"


def with_rules(text: str) -> str:
    """A manifest with the rules of all kinds: to read everywhere, then to write for a team."""
    before, read, write = text.split(_BEGIN)
    rules = _rules([(each, _READ) for each in ROOTS]) + _END + read.partition(_END)[2]
    own = _rules([(each, each.verbs) for each in ROOTS]) + _END + write.partition(_END)[2]
    return _BEGIN.join((before, rules, own))


def _rules(needed: Sequence[tuple[RootType, Sequence[str]]]) -> str:
    return "".join(line for root, verbs in needed for line in _rule(root, verbs))


def _rule(root: RootType, verbs: Sequence[str]) -> Iterator[str]:
    yield f"  - apiGroups: [{root.resource.group}]\n"
    yield f"    resources: [{root.resource.plural}]\n"
    yield f"    verbs: [{', '.join(verbs)}]\n"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_rules(path.read_text(encoding="utf-8")), encoding="utf-8")
