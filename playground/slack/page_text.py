"""Slack's text as HTML; everything a message holds is escaped."""

import re
from collections.abc import Callable
from html import escape

from playground.slack.mrkdwn import Names, date_text, unescaped

_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_TOKEN = re.compile(r"<([^<>]+)>")
_KEPT = re.compile("\x00(\\d+)\x00")
_EMOJI_NAME = re.compile(r":([a-z0-9_+-]+):")
_MARKS = (
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), r"<b>\1</b>"),
    (re.compile(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])"), r"<i>\1</i>"),
    (re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])"), r"<s>\1</s>"),
)
_QUOTE = re.compile(r"(?:^&gt; ?.*(?:\n|$))+", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_DOUBLE = re.compile(r"\*\*(.+?)\*\*")
_MARKDOWN_LINK = re.compile(r"\[([^\]]+)\]\((https?://[^)\s]+)\)")

# Signs that plain fonts have, each in its colour: a page must not depend on an emoji font.
_GREEN, _RED, _AMBER, _BLUE, _GREY = "#2f855a", "#c53030", "#b7791f", "#2b6cb0", "#8a8790"
EMOJI = {
    "alarm_clock": ("◷", _AMBER),
    "ballot_box_with_check": ("☑", _GREEN),
    "bar_chart": ("▤", _BLUE),
    "black_square_for_stop": ("■", _RED),
    "calendar": ("▦", _BLUE),
    "eyes": ("◉", _GREY),
    "heavy_check_mark": ("✔", _GREEN),
    "hourglass": ("◔", _AMBER),
    "hourglass_flowing_sand": ("◔", _AMBER),
    "information_source": ("i", _BLUE),
    "large_blue_circle": ("●", _BLUE),
    "large_green_circle": ("●", _GREEN),
    "large_yellow_circle": ("●", _AMBER),
    "memo": ("✎", _GREY),
    "no_entry": ("⊘", _RED),
    "no_entry_sign": ("⊘", _RED),
    "octagonal_sign": ("⬢", _RED),
    "red_circle": ("●", _RED),
    "repeat": ("⟳", _BLUE),
    "rocket": ("➤", _BLUE),
    "rotating_light": ("▲", _RED),
    "tada": ("★", _AMBER),
    "warning": ("⚠", _AMBER),
    "white_check_mark": ("✔", _GREEN),
    "white_circle": ("○", _GREY),
    "x": ("✖", _RED),
}


def rich(text: str, names: Names) -> str:
    """Mrkdwn as HTML: bold, italic, code, quotes, links, mentions, dates, emoji."""
    kept: list[str] = []

    def keep(html: str) -> str:
        kept.append(html)
        return f"\x00{len(kept) - 1}\x00"

    text = text.replace("\x00", "")
    text = _FENCE.sub(lambda found: keep(f"<pre>{literal(found[1])}</pre>"), text)
    text = _CODE.sub(lambda found: keep(f"<code>{literal(found[1])}</code>"), text)
    text = _TOKEN.sub(lambda found: keep(_token(found[1], names)), text)
    text = _QUOTE.sub(lambda found: keep(_quote(found[0])) + "\n", literal(text))
    html = _lines(_marked(text))
    while _KEPT.search(html):
        html = _KEPT.sub(lambda found: kept[int(found[1])], html)
    return re.sub(r"(?<=</pre>)<br>|(?<=</blockquote>)<br>|<br>(?=<pre>)", "", html)


def markdown(text: str, names: Names) -> str:
    """Markdown as HTML, as far as a markdown block needs it."""
    text = _MARKDOWN_LINK.sub(r"<\2|\1>", _HEADING.sub(r"*\1*", text))
    return rich(_DOUBLE.sub(r"*\1*", text), names)


def literal(text: str) -> str:
    """Text with no markup at all, safe inside HTML."""
    return escape(unescaped(text))


def emoji(text: str) -> str:
    """Emoji names as coloured signs; one that nobody knows here stays as it is."""

    def sign(found: re.Match[str]) -> str:
        if found[1] not in EMOJI:
            return found[0]
        character, colour = EMOJI[found[1]]
        return f'<span style="color:{colour}">{character}</span>'

    return _EMOJI_NAME.sub(sign, text)


def _marked(text: str) -> str:
    for pattern, html in _MARKS:
        text = pattern.sub(html, text)
    return emoji(text)


def _quote(lines: str) -> str:
    inner = re.sub(r"^&gt; ?", "", lines, flags=re.MULTILINE).rstrip("\n")
    return f"<blockquote>{_lines(_marked(inner))}</blockquote>"


def _lines(text: str) -> str:
    return text.rstrip("\n").replace("\n", "<br>")


def _token(inner: str, names: Names) -> str:
    target, _, label = inner.partition("|")
    for start, html in _TOKENS.items():
        if target.startswith(start):
            return html(target, label, names)
    if target.startswith(("http://", "https://", "mailto:")):
        return f'<a href="{literal(target)}">{literal(label or target)}</a>'
    return literal(f"<{inner}>")


def _mention(name: str) -> str:
    return f'<span class="mention">{escape(name)}</span>'


Token = Callable[[str, str, Names], str]
_TOKENS: dict[str, Token] = {
    "@": lambda target, _, names: _mention("@" + names.name_of(target[1:])),
    "#": lambda target, _, names: _mention("#" + names.name_of(target[1:])),
    "!subteam^": lambda target, _, names: _mention("@" + names.name_of(target[9:])),
    "!date^": lambda target, label, _: f"<time>{escape(date_text(target, label))}</time>",
    "!": lambda target, _label, _names: _mention("@" + target[1:]),
}
