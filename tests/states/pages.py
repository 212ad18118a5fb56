"""What is kept of all states beside the sources: their texts, their pictures and a page of docs."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.states.catalogue import Found, area_text, digest_of
from tests.states.state import Shown

ROOT = Path(__file__).parent.parent.parent
APPROVED = Path(__file__).parent / "approved"
PICTURES = ROOT / "docs" / "images" / "states"
DIGESTS = PICTURES / "digests.json"
PAGE = ROOT / "docs" / "states.md"
TITLES = {
    "runs": "Runs, sessions and logs",
    "sweeps": "Sweeps",
    "requests": "Runs above a cost limit and their approval",
    "removals": "Removals above a limit and their approval",
    "pools": "Capacity pools that are created or deleted",
    "flows": "Saved flows",
    "quotas": "Quota overrides and their approval",
    "teams": "Teams: created and removed",
    "datasets": "Datasets: versions, caches, pushes",
    "snapshots": "Snapshots, restores, schedules, reverts",
    "volumes": "Azure NetApp Files: changes, growths, repairs",
    "gpus": "Digests of GPU use",
    "forms": "Forms",
    "home": "Home",
}
_HEAD = """\
# Every state of every card, form and Home

The pictures show the playground's page. `make pictures` takes them, and a test compares what they
show with what the bot shows now ([how](testing.md#states)). The same as text, with the questions
that buttons ask before they act, is in `tests/states/approved`.
"""


def texts(found: Found) -> dict[Path, str]:
    """Each file that the states are kept in, and what it should say."""
    files = {APPROVED / f"{area}.txt": area_text(states) for area, states in found.items()}
    return {**files, PAGE: page(found)}


def page(found: Found) -> str:
    """The page that shows all pictures, by area."""
    return "".join(_page(found))


def _page(found: Found) -> Iterator[str]:
    yield _HEAD
    for area, states in found.items():
        yield f"\n## {TITLES[area]}\n"
        for name, shown in states.items():
            yield f"\n### {name}\n\n![{described(shown)}](images/states/{name}.webp)\n"


def described(shown: Shown) -> str:
    """The alternative text of a picture: what it is, and its title."""
    if shown.kind == "form":
        return f"Form {shown.body['title']['text']}"
    title = next(each["text"]["text"] for each in shown.blocks if each["type"] == "header")
    words = "".join(letter for letter in title if letter.isascii() or letter == "·").strip()
    return f"{'Home' if shown.kind == 'home' else 'Card'}: {words}"


def digests(found: Found) -> dict[str, str]:
    """A digest of what each state shows, by name."""
    return {name: digest_of(each) for states in found.values() for name, each in states.items()}


def kept_digests() -> dict[str, str]:
    """The digests of what the kept pictures show."""
    kept: dict[str, str] = json.loads(DIGESTS.read_text("utf-8")) if DIGESTS.exists() else {}
    return kept


def outdated(found: Found) -> list[str]:
    """The states without a picture, or with one of what they no longer show."""
    kept = kept_digests()
    return [
        name
        for name, digest in digests(found).items()
        if kept.get(name) != digest or not (PICTURES / f"{name}.webp").exists()
    ]


def superfluous(names: Mapping[str, object]) -> list[Path]:
    """Pictures of states that there are no longer."""
    return sorted(each for each in PICTURES.glob("*.webp") if each.stem not in names)
