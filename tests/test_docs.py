"""What the pages in docs/ show is what the code does."""

import re
from pathlib import Path
from typing import Any

from bot.app import commands
from bot.slack.command_docs import commands_page
from bot.slack.declarations import Command
from bot.slack.registry import Parsed, Registry

ROOT = Path(__file__).parent.parent
# What the guide to a command has its reader write.
TO_WRITE = {"handlers/room.py", "tests/handlers/test_room.py"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("d*/**/*.md"))]


def test_the_command_shown_in_the_guide_works() -> None:
    guide = (ROOT / "docs" / "adding-a-command.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    module: dict[str, Any] = {"__name__": "handlers.room"}
    exec(compile(shown, "handlers/room.py", "exec"), module)  # noqa: S102  # our own page
    room = module["room"]
    assert isinstance(room, Command)
    registry = Registry([room])
    examples = [text for _, text in registry.examples()]
    parsed = [registry.parse("room", text) for text in examples]
    assert [each.values for each in parsed if isinstance(each, Parsed)] == [
        {"circle": "members"},
        {"circle": "leads"},
    ]


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


def test_paths_named_in_pages_exist() -> None:
    folders = "bot|handlers|jobs|playground|tests|docs|deploy|benchmarks|scripts"
    dead = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in PAGES
        for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists() and path not in TO_WRITE
    ]
    assert dead == []
