"""Names and sentences use the field's words; docs/glossary.md has those of this project."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("bot", "handlers", "jobs")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
# A reader who meets a class's name has at most this many modules to look it up in.
MOST_MODULES = 3
RETIRED_NAMES = re.compile(
    r"\b_?(Desk|Ear|Courtesy|Turns|Relay|Reception|Fate|Quarrel|Dress|Stranger|Mishap|Detour|Spot"
    r"|Furnish|Linger|Wish|Look|Sight|World|tried|troubled|hurry|give_way|say_once|companions"
    r"|speakers|dress|fate|course|wish|standing|stand|door)\b"
)
# As a part of a name: `_quarrel_buttons`, `active_legs`, `StrangerCard`.
RETIRED_PARTS = re.compile(
    r"(?:^|_)(?:quarrel|leg|desk|stranger|courtesy)s?(?:_|$)"
    r"|(?:Quarrel|Leg|Desk|Stranger|Courtesy)s?(?=[A-Z]|$)"
)
SLACKS = "is_stranger"  # of the people of another company, in its own payloads
RETIRED_WORDS = re.compile(
    r"\b(somebody|(?<!`)nobody|anew|(?:is|are|was|were) told|let be|whoever)\b", re.IGNORECASE
)


def test_no_class_name_is_used_everywhere() -> None:
    places = defaultdict(list)
    for path in _sources():
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(_shown(path))
    assert {name: found for name, found in places.items() if len(found) > MOST_MODULES} == {}


def test_names_are_those_of_the_field() -> None:
    found = [
        f"{_shown(path)}:{node.lineno} {name}"
        for path in _sources()
        for node, name in _names(_tree(path))
        if name != SLACKS and (RETIRED_NAMES.fullmatch(name) or RETIRED_PARTS.search(name))
    ]
    assert found == []


def test_people_read_plain_sentences() -> None:
    found = [
        f"{_shown(path)}:{line} {match[0]}"
        for path in _sources()
        for line, text in _texts(_tree(path))
        for match in RETIRED_WORDS.finditer(text)
    ]
    found += [
        f"{_shown(page)}:{number} {match[0]}"
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        for match in RETIRED_WORDS.finditer(line)
    ]
    assert found == []


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _names(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.arg, str]]:
    """What a module defines: classes, functions, their parameters, and the fields of classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, node.name
        elif isinstance(node, ast.arg):
            yield node, node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node, node.target.id


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings of a module that are no docstrings."""
    comments = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    for node in constants:
        if isinstance(node.value, str) and id(node) not in comments:
            yield node.lineno, node.value
