"""Home tabs as people read them, and their buttons."""

from typing import Any

from bot.slack.home.tabs import OpenTab
from bot.slack.markup import Markup
from bot.slack.text import readable
from tests.handlers.command_client import CommandClient


def tab_of(person: str) -> OpenTab:
    """The tab of a person who has just opened it."""
    return OpenTab(person, f"D{person[1:]}", 1, 0, "", "", 0, None, None)


def view_of(client: CommandClient, person: str) -> dict[str, Any]:
    """What is published to a person."""
    return client.application.home().prepare(tab_of(person)).view


def page_of(client: CommandClient, person: str) -> list[str]:
    """The lines of a person's tab, buttons in brackets; without the last one, which has times."""
    lines = [line for block in view_of(client, person)["blocks"] for line in _lines(block)]
    return lines[:-1]


def section_of(client: CommandClient, person: str, title: str) -> list[str]:
    """The lines below a title, as far as the next one."""
    blocks = view_of(client, person)["blocks"][:-1]
    titles = [n for n, block in enumerate(blocks) if block["type"] == "header"]
    (start,) = [n for n in titles if blocks[n]["text"]["text"] == title]
    end = next((n for n in titles if n > start), len(blocks))
    return [line for block in blocks[start + 1 : end] for line in _lines(block)]


def titles_of(client: CommandClient, person: str) -> list[str]:
    """The titles of the sections."""
    blocks = view_of(client, person)["blocks"]
    return [block["text"]["text"] for block in blocks if block["type"] == "header"]


def buttons_of(client: CommandClient, person: str) -> list[dict[str, Any]]:
    """All buttons of a tab."""
    blocks = view_of(client, person)["blocks"]
    return [each for block in blocks if block["type"] == "actions" for each in block["elements"]]


def _lines(block: dict[str, Any]) -> list[str]:
    if block["type"] == "actions":
        return [" ".join(f"[{each['text']['text']}]" for each in block["elements"])]
    if block["type"] == "header":
        return [f"# {block['text']['text']}"]
    texts = block["elements"] if block["type"] == "context" else [block["text"]]
    return [line for text in texts for line in readable(Markup(text["text"])).splitlines()]
