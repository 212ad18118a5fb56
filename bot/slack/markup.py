"""Text that Slack renders, kept apart from plain text by its type so that nothing is unescaped."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NewType

Markup = NewType("Markup", str)
"""Slack mrkdwn in which everything that people or servers wrote is escaped."""

FormatCommand = Callable[[str], str]
"""Writes a command, `train list`, as it is typed where it is read: with a slash, or a mention."""

_GRAVE = "\u02cb"  # looks like a backtick and does not end a code span


def plain(text: str) -> Markup:
    """`text` as plain text: mentions, links and channel calls in it have no effect."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(escaped)


def join(*parts: Markup | str) -> Markup:
    """The parts as one markup; plain strings among them are our own words, kept as they are."""
    return Markup("".join(parts))


def bold(text: str) -> Markup:
    """`text` in bold; stars inside it would end the bold early and are taken out."""
    return Markup(f"*{plain(text.replace('*', ''))}*")


def code(text: str) -> Markup:
    """`text` in a fixed-width span."""
    return Markup(f"`{plain(text.replace('`', _GRAVE))}`")


def person(user_id: str) -> Markup:
    """A mention; the person is notified when it stands in a new message."""
    return Markup(f"<@{user_id}>")


def channel(channel_id: str) -> Markup:
    """A link to a channel."""
    return Markup(f"<#{channel_id}>")


def link(url: str) -> Markup:
    """A clickable URL, shown as it is."""
    return Markup(f"<{plain(url).replace('|', '%7C')}>")


def named_link(url: str, label: str) -> Markup:
    """A clickable URL, shown as `label`."""
    shown = plain(" ".join(label.split()))
    return Markup(f"<{plain(url).replace('|', '%7C')}|{shown}>")


def when(moment: datetime) -> Markup:
    """A time that every reader sees in their own zone; readers without Slack see UTC."""
    fallback = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Markup(f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} {{time}}|{fallback}>")


_LINKS = re.compile(r"&lt;([@#][A-Z0-9]+)&gt;")


def sentence(text: str) -> Markup:
    """`text` as plain text, but with the ids of people and channels shown by name."""
    return Markup(_LINKS.sub(r"<\1>", plain(text)))
