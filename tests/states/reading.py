"""States as people read them: everything that is shown, as lines of text."""

from collections.abc import Iterator
from typing import Any

from playground.slack.mrkdwn import block_lines, plain
from tests.states.state import Shown

Json = dict[str, Any]
# What Slack sends back, and nobody sees; of a chart the value is seen.
_UNSEEN = {"block_id", "action_id", "private_metadata", "callback_id", "url"}


_CHANNELS = {"C0TEAMA": "team-a", "C0TEAMB": "team-b", "C0APPROVE": "gpu-approvals"}


class _Names:
    """Names of people and channels as the playground has them."""

    def name_of(self, identifier: str) -> str:
        """The name of a channel, or of a person by their id."""
        return _CHANNELS.get(identifier) or identifier.removeprefix("U0").capitalize()

    def id_of(self, sign: str, name: str) -> str | None:
        """None: what is typed is not read here."""
        del sign, name
        return None


NAMES = _Names()


def text_of(shown: Shown) -> str:
    """All of it, from the top."""
    return "\n".join(_lines(shown))


def _lines(shown: Shown) -> Iterator[str]:
    if shown.kind == "form":
        yield f"{shown.body['title']['text']}"
    errors = dict(shown.errors)
    for block in shown.blocks:
        yield from _block(block, errors.get(block.get("block_id", ""), ""))
    if shown.kind == "form":
        buttons = (shown.body[each]["text"] for each in ("close", "submit") if each in shown.body)
        yield "  ".join(f"[{each}]" for each in buttons)


def _block(block: Json, error: str) -> Iterator[str]:
    if block["type"] == "input":
        yield from _field(block, error)
        return
    if block["type"] == "data_visualization":
        yield from _chart(block)
        return
    if block["type"] == "header":
        yield f"# {block['text']['text']}"
        return
    for line in block_lines(block, NAMES):
        yield from line.split("\n")
    for element in block.get("elements", ()):
        if isinstance(element, dict) and "confirm" in element:
            yield from _confirm(element)


def _confirm(button: Json) -> Iterator[str]:
    """The question that Slack asks before a click counts."""
    asked = button["confirm"]
    yield f"    [{button['text']['text']}] asks: {asked['title']['text']}"
    for line in plain(asked["text"]["text"], NAMES).split("\n"):
        yield f"        {line}"
    yield f"        [{asked['deny']['text']}]  [{asked['confirm']['text']}]"


def _field(block: Json, error: str) -> Iterator[str]:
    optional = " (optional)" if block.get("optional") else ""
    yield f"{block['label']['text']}{optional}"
    yield from (f"    {line}" for line in _element(block["element"]))
    if "hint" in block:
        yield f"    ({block['hint']['text']})"
    if error:
        yield f"    ! {error}"


def _element(element: Json) -> Iterator[str]:
    """What a field holds, or the text in an empty one; of a choice all options."""
    chosen = [each["text"]["text"] for each in element.get("initial_options", ())]
    if "initial_option" in element:
        chosen.append(element["initial_option"]["text"]["text"])
    if "options" in element:
        for option in element["options"]:
            words = option["text"]["text"]
            yield f"{'(x)' if words in chosen else '( )'} {words}"
    elif chosen or element.get("initial_value"):
        yield from (f"| {line}" for line in chosen or element["initial_value"].split("\n"))
    else:
        yield f"| ... {element.get('placeholder', {'text': ''})['text']}".rstrip()


def _chart(block: Json) -> Iterator[str]:
    """The figures of a chart."""
    chart = block["chart"]
    yield f"[{chart['type']} chart: {block['title']}]"
    for part in chart.get("segments", ()):
        yield f"    {part['label']}: {part['value']}"
    for series in chart.get("series", ()):
        said = ", ".join(f"{each['label']} {each['value']}" for each in series["data"])
        yield f"    {series['name']}: {said}"


def drawn(content: Any) -> Any:
    """The part of blocks that can be seen, for telling pictures of other content."""
    if isinstance(content, dict):
        unseen = _UNSEEN | {"value"} if content.get("type") == "button" else _UNSEEN
        return {key: drawn(value) for key, value in content.items() if key not in unseen}
    return [drawn(each) for each in content] if isinstance(content, list | tuple) else content
