"""The guide to a new command, followed word by word in a copy of the tree."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from bot.slack.grammar.declarations import ButtonTraits, VerbTraits

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "adding-a-command.md"
COPIED = ("deploy", "bot", "handlers", "jobs", "playground", "tests", "docs")
FILES = ("pyproject.toml", "uv.lock", "Makefile", "README.md", "CONTRIBUTING.md")
# Not on the page: that the row which the guide adds by hand is true.
ROW = """
from tests.handlers.furnished import Furnished
from tests.handlers.test_permissions import TABLE, who_may


def test_the_row_of_the_guide_is_true(everything: Furnished) -> None:
    assert who_may(everything, "/room people") == TABLE["/room people"]
"""
TESTS = (
    "tests/handlers/test_room.py",
    "tests/handlers/test_row.py",
    "tests/handlers/test_permissions.py::test_every_verb_and_button_has_a_row",
    "tests/handlers/test_dispatcher.py::test_every_example_of_the_help_runs",
    "tests/test_docs.py::test_the_page_of_commands_is_up_to_date",
)


def blocks(language: Literal["python", "diff", "sh"]) -> list[tuple[str, str]]:
    """The blocks of the page in that language, each with the file that was named last above it."""
    page = GUIDE.read_text(encoding="utf-8")
    return [
        (re.findall(r"^\d\. .*?`([\w./]+\.py)`", page[: block.start()], re.MULTILINE)[-1], block[1])
        for block in re.finditer(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the guide touches and its tests need, after its steps up to `make docs`."""
    copy = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name)
    for name in FILES:
        shutil.copy2(ROOT / name, copy / name)
    for name, text in blocks("python"):
        assert not (copy / name).exists()
        (copy / name).write_text(text, encoding="utf-8")
    for name, change in blocks("diff"):
        apply(copy / name, change)
    run(copy, "make", "-o", ".venv/.ready", f"PYTHON={sys.executable}", "docs")
    return copy


def apply(path: Path, change: str) -> None:
    lines = change.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{path.name} does not have {before!r} once"
    path.write_text(source.replace(before, after), encoding="utf-8")


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_guide_names_its_files_and_commands() -> None:
    assert [name for name, _ in blocks("python")] == [
        "handlers/room.py",
        "tests/handlers/test_room.py",
    ]
    assert [text.splitlines() for _, text in blocks("sh")] == [
        [
            "make docs",
            'make test PYTEST_ARGS="tests/handlers/test_room.py tests/test_docs.py"',
        ],
        ["quartermaster manifest"],
    ]


def test_the_command_of_the_guide_is_documented(tree: Path) -> None:
    page = (tree / "docs" / "commands.md").read_text(encoding="utf-8")
    _, _, section = page.partition("### /room people\n")
    assert "```\n/room people [CIRCLE] [--team TEAM]\n```" in section


def test_the_manifest_has_the_guide_s_command(tree: Path) -> None:
    manifest = json.loads(run(tree, sys.executable, "-m", "bot", "manifest"))
    commands = manifest["features"]["slash_commands"]
    assert [each["command"] for each in commands if "room" in each["command"]] == ["/room"]


def test_the_files_of_the_guide_pass_lint(tree: Path) -> None:
    names = [name for name, _ in (*blocks("python"), *blocks("diff"))]
    ruff = str(Path(sys.executable).parent / "ruff")
    run(tree, ruff, "check", "--no-cache", *names)
    run(tree, ruff, "format", "--check", "--no-cache", *names)


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_the_tests_of_the_guide_pass(tree: Path) -> None:
    (tree / "tests" / "handlers" / "test_row.py").write_text(ROW, encoding="utf-8")
    said = run(tree, sys.executable, "-m", "pytest", "-q", "-k", "sqlite", *TESTS)
    assert " passed" in said


def test_the_guide_lists_every_trait() -> None:
    traits = re.findall(r"^\| `(\w+)=", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(traits) == (set(VerbTraits.__annotations__) | set(ButtonTraits.__annotations__))
