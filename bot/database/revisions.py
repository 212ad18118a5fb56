"""Which revisions of the schema this server knows, read without running its migrations."""

import re
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "migrations"
_REVISION = re.compile(
    r"""^revision = ['"](\w+)['"]\ndown_revision = (?:['"](\w+)['"]|None)$""", re.MULTILINE
)


def known() -> Mapping[str, str | None]:
    """Every revision with the one that it follows; None for the first."""
    texts = (path.read_text("utf-8") for path in (FOLDER / "versions").glob("*.py"))
    return {
        revision: before or None for text in texts for revision, before in _REVISION.findall(text)
    }


def newest(revisions: Mapping[str, str | None]) -> str:
    """The revision that none follows."""
    (head,) = revisions.keys() - set(revisions.values())
    return head
