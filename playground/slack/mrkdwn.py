"""Slack's text: what typing does to it, whom it mentions, and how it reads as plain text."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

from playground.slack.shapes import Json

# Slack links bare hosts under any known top-level domain: `train.py` becomes a link to Paraguay.
_TLD = "com|org|net|io|dev|ai|py|sh|co|me|de|eu|example|app|cloud"
_URL = re.compile(r"(?<![^\s\"'(])https?://[^\s<>\"')]+")
_HOST = re.compile(rf"(?<![^\s\"'(])(?:[\w-]+\.)+(?:{_TLD})(?::\d+)?(?:/[^\s<>\"')]*)?(?![\w.-])")
_EMAIL = re.compile(r"(?<![^\s\"'(])[\w.+-]+@(?:[\w-]+\.)+\w{2,}")
_LINKABLE = re.compile("|".join(f"(?:{p.pattern})" for p in (_EMAIL, _URL, _HOST)))
_NAME = re.compile(r"(?<![^\s(])([@#])([\w.-]*\w)")
_ESCAPE = re.compile(r"<([^<>]*)>")
_SCHEME = re.compile(r"https?://|mailto:")
_MENTION = re.compile(
    r"<@([UW]\w+)(?:\|[^>]*)?>|<!subteam\^(S\w+)[^>]*>|<!(here|channel|everyone)>"
)


class Names(Protocol):
    """Where display names and ids are looked up."""

    def name_of(self, identifier: str) -> str:
        """The name of a user, channel or group, without its sign."""
        ...

    def id_of(self, sign: str, name: str) -> str | None:
        """The id of a typed @name or #name."""
        ...


def entities(text: str) -> str:
    """The three characters Slack always escapes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def typed(text: str, names: Names, *, labels: bool) -> str:
    """What the bot receives for text a person typed: entities, links, mentions as ids.

    With `labels` as in a command whose should_escape is on (<@U1|bob>), else as in a message.
    """
    return _named(
        _LINKABLE.sub(lambda found: _link(found[0]), entities(text)), names, labels=labels
    )


def _link(text: str) -> str:
    if _EMAIL.fullmatch(text):
        return f"<mailto:{text}|{text}>"
    return f"<{text}>" if text.startswith("http") else f"<http://{text}|{text}>"


def _named(text: str, names: Names, *, labels: bool) -> str:
    def replaced(found: re.Match[str]) -> str:
        sign, name = found[1], found[2]
        identifier = names.id_of(sign, name)
        if identifier is None:
            return found[0]
        if identifier.startswith("S"):
            return f"<!subteam^{identifier}|@{name}>"
        return f"<{sign}{identifier}|{name}>" if labels or sign == "#" else f"<@{identifier}>"

    return _NAME.sub(replaced, text)


def mentions(text: str) -> Iterator[str]:
    """User ids, group ids, and here/channel/everyone, as they stand in mrkdwn."""
    for user, group, everyone in _MENTION.findall(text):
        yield user or group or everyone


def plain(text: str, names: Names) -> str:
    """The text as a person reads it: names, link labels, dates by their fallback."""
    return unescaped(_ESCAPE.sub(lambda found: _read(found[1], names), text))


def unescaped(text: str) -> str:
    """Entities as the characters they stand for."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _read(inner: str, names: Names) -> str:
    target, _, label = inner.partition("|")
    if target.startswith(("@", "#")):
        return target[0] + names.name_of(target[1:])
    if target.startswith("!date^"):
        return date_text(target, label)
    if target.startswith("!subteam^"):
        return "@" + names.name_of(target.removeprefix("!subteam^"))
    if target.startswith("!"):
        return f"@{target[1:]}"
    return label or target if _SCHEME.match(target) else f"<{inner}>"


def date_text(target: str, fallback: str) -> str:
    """A <!date^..> as somebody in UTC reads it."""
    _, stamp, form, *_ = [*target.split("^"), "", ""]
    try:
        moment = datetime.fromtimestamp(int(stamp), UTC)
    except ValueError:
        return fallback
    day = f"{moment:%b} {moment.day}"
    words = {
        "{date_num}": f"{moment:%Y-%m-%d}",
        "{date_short_pretty}": day,
        "{date_short}": f"{day}, {moment.year}",
        "{date_pretty}": f"{moment:%B} {moment.day}",
        "{date_long_pretty}": f"{moment:%A}, {moment:%B} {moment.day}",
        "{date_long}": f"{moment:%A}, {moment:%B} {moment.day}, {moment.year}",
        "{date}": f"{moment:%B} {moment.day}, {moment.year}",
        "{time_secs}": f"{moment:%H:%M:%S} UTC",
        "{time}": f"{moment:%H:%M} UTC",
        "{ago}": fallback,
    }
    for token, word in words.items():
        form = form.replace(token, word)
    return form or fallback


Render = Callable[[Json, Names], Iterable[str]]


def block_lines(block: Json, names: Names) -> Iterator[str]:
    """One block as lines of plain text; buttons stand in brackets."""
    render = _LINES.get(block["type"])
    if render is not None:
        yield from render(block, names)


def _section(block: Json, names: Names) -> Iterator[str]:
    if block.get("text"):
        yield plain(block["text"]["text"], names)
    for field in block.get("fields", ()):
        yield "  " + plain(field["text"], names).replace("\n", ": ", 1)
    if block.get("accessory"):
        yield _element(block["accessory"], names)


def _element(element: Json, names: Names) -> str:
    label = element.get("text") or element.get("placeholder")
    if isinstance(label, dict):
        return f"[{plain(label['text'], names)}]"
    return plain(label or element.get("alt_text") or f"[{element['type']}]", names)


def _elements(block: Json, names: Names) -> Iterator[str]:
    yield "  ".join(_element(element, names) for element in block["elements"])


def _cells(block: Json, names: Names) -> Iterator[str]:
    if block.get("caption"):
        yield str(block["caption"])
    for row in block["rows"]:
        yield " | ".join(cell_text(cell, names) for cell in row)


def cell_text(cell: Json, names: Names) -> str:
    """One table cell as text."""
    if cell["type"] == "rich_text":
        return " ".join(_rich(cell, names))
    return str(cell.get("text", cell.get("value", "")))


def _rich(block: Json, names: Names) -> Iterator[str]:
    for part in block["elements"]:
        if part["type"] == "rich_text_list":
            for item in part["elements"]:
                yield "• " + "".join(inline(each, names) for each in item["elements"])
        else:
            yield "".join(inline(each, names) for each in part["elements"])


_INLINE: dict[str, Callable[[Any, Names], str]] = {
    "text": lambda part, _: part["text"],
    "link": lambda part, _: part.get("text") or part["url"],
    "user": lambda part, names: "@" + names.name_of(part["user_id"]),
    "usergroup": lambda part, names: "@" + names.name_of(part["usergroup_id"]),
    "channel": lambda part, names: "#" + names.name_of(part["channel_id"]),
    "broadcast": lambda part, _: "@" + part["range"],
    "emoji": lambda part, _: f":{part['name']}:",
    "color": lambda part, _: part["value"],
    "date": lambda part, _: date_text(
        f"!date^{part['timestamp']}^{part['format']}", part.get("fallback", "")
    ),
}


def inline(part: Json, names: Names) -> str:
    """One inline element of rich text as plain text."""
    return _INLINE[part["type"]](part, names)


_LINES: dict[str, Render] = {
    "section": _section,
    "header": lambda block, _: [unescaped(block["text"]["text"])],
    "context": _elements,
    "actions": _elements,
    "divider": lambda _block, _: ["---"],
    "markdown": lambda block, _: [block["text"]],
    "alert": lambda block, names: [plain(block["text"]["text"], names)],
    "image": lambda block, _: [f"[image: {block['alt_text']}]"],
    "rich_text": _rich,
    "table": _cells,
    "data_table": _cells,
    "data_visualization": lambda block, _: [f"[{block['chart']['type']} chart: {block['title']}]"],
    "task_card": lambda block, _: [f"{block['title']} ({block['status']})"],
    "input": lambda block, _: [f"{block['label']['text']}: ____"],
}
