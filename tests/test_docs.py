"""What the pages in docs/ show is what the code does."""

import re
from pathlib import Path

from bot.app import commands
from bot.slack.grammar.command_docs import commands_page

ROOT = Path(__file__).parent.parent
# What the guide to a command has its reader write.
TO_WRITE = {"handlers/room.py", "tests/handlers/test_room.py"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("d*/**/*.md"))]


def test_the_page_of_commands_is_up_to_date() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == commands_page(commands()), "make docs writes it again"


def test_links_between_pages_lead_somewhere() -> None:
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_the_map_names_every_package_once() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = [path for path in (ROOT / "bot").iterdir() if path.name[0].isalpha()]
    there = {path.stem for path in found if path.suffix == ".py" or (path / "__init__.py").exists()}
    named = re.findall(r"\*\*bot\.(\w+)\*\*", page)
    assert sorted(named) == sorted(there)


def test_tests_named_in_pages_exist() -> None:
    texts = (page.read_text(encoding="utf-8") for page in PAGES)
    named = {each for text in texts for each in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)}
    assert len(named) > 20
    assert [
        f"{path}::{name}"
        for path, name in sorted(named)
        if f"\ndef {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ] == []


def test_paths_named_in_pages_exist() -> None:
    folders = "bot|handlers|jobs|playground|tests|docs|deploy|benchmarks|scripts"
    dead = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in PAGES
        for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists() and path not in TO_WRITE
    ]
    assert dead == []
