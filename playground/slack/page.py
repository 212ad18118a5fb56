"""The workspace as one static HTML page, for looking at in a browser and for screenshots."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from playground.slack.files import File
from playground.slack.page_blocks import blocks_html
from playground.slack.page_style import STYLE
from playground.slack.page_text import rich
from playground.slack.people import Channel, Message
from playground.slack.posting import replies
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.transcript import Entry, Kind
from playground.slack.views import View

_FACES = ("#2b6cb0", "#b7791f", "#2f855a", "#9b2c2c", "#6b46c1", "#b83280")
_TOLD = (Kind.TYPED, Kind.CLICKED, Kind.FAILED)


def write_page(state: State, path: Path, *, title: str = "Quartermaster in Slack") -> None:
    """Writes the page; everything on it is inside this one file."""
    path.write_text(page(state, title), encoding="utf-8")


def page(state: State, title: str) -> str:
    """The page as HTML: every channel with what everybody there sees, and for whom it is."""
    places = sorted(state.channels.values(), key=lambda channel: channel.im_with is not None)
    sections = [_channel(state, channel) for channel in places]
    sections += [_view(state, view, "Home tab") for view in state.views.homes.values()]
    sections += [
        _view(state, view, "Form") for stack in state.views.stacks.values() for view in stack
    ]
    now = state.clock.now()
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f"<body><header><h1>{escape(title)}</h1><p>As of {now:%A, %B} {now.day}, {now:%H:%M} UTC."
        " Messages that only one person sees have a yellow background.</p></header>"
        f"<main>{''.join(sections)}</main></body></html>"
    )


def _channel(state: State, channel: Channel) -> str:
    people = [user for user in channel.members if not state.users[user].is_bot]
    names = ", ".join(state.name_of(user) for user in people)
    archived = " · archived" if channel.is_archived else ""
    if channel.im_with:
        head = f"Direct messages <small>{escape(names)} and the app</small>"
    else:
        sign = "private" if channel.is_private else "#"
        head = f"{sign} {escape(channel.name)}<small>{escape(names)}{archived}</small>"
    body = "".join(html for _, html in sorted(_lines(state, channel)))
    empty = '<div class="empty">Nothing here yet.</div>'
    return f'<section class="channel"><h2>{head}</h2>{body or empty}</section>'


def _lines(state: State, channel: Channel) -> Iterator[tuple[float, str]]:
    """Messages with their threads, and what people did, each with its moment."""
    for message in channel.messages:
        in_thread = message.is_reply and not message.broadcast
        if not in_thread or _parent_is_gone(state, channel, message):
            yield float(message.ts), _message(state, message) + _thread(state, channel, message)
    for entry in state.transcript.entries:
        if entry.channel == channel.id and entry.kind in _TOLD:
            yield entry.at.timestamp(), _act(state, entry)


def _parent_is_gone(state: State, channel: Channel, message: Message) -> bool:
    return state.message(channel.id, message.thread_ts or "") is None


def _thread(state: State, channel: Channel, parent: Message) -> str:
    if parent.is_reply:
        return ""
    private = [m for m in channel.messages if m.viewer and m.thread_ts == parent.ts]
    under = sorted([*replies(channel, parent.ts), *private], key=lambda message: message.ts)
    if not under:
        return ""
    shown = "".join(_message(state, message) for message in under)
    count = "1 reply" if len(under) == 1 else f"{len(under)} replies"
    return f'<div class="thread"><p>{count}</p>{shown}</div>'


def _message(state: State, message: Message) -> str:
    user = state.users[message.user]
    app = '<span class="app">APP</span>' if user.is_bot else ""
    only = ""
    if message.viewer:
        only = f'<span class="only">Only visible to {escape(state.name_of(message.viewer))}</span>'
    return (
        f'<div class="message{" private" if message.viewer else ""}">{_face(state, message.user)}'
        f'<div class="body">{only}<span class="who">{escape(state.name_of(message.user))}</span>'
        f"{app}{_when(message)}{_content(state, message)}{_told(state, message)}</div></div>"
    )


def _when(message: Message) -> str:
    moment = datetime.fromtimestamp(float(message.ts), UTC)
    marks = [f"edited {message.edits} times" if message.edits > 1 else "edited"]
    marks = marks if message.edits else []
    marks += ["also sent to the channel"] if message.broadcast else []
    mark = f'<span class="mark">({", ".join(marks)})</span>' if marks else ""
    return f'<span class="when">{moment:%a %H:%M}</span>{mark}'


def _content(state: State, message: Message) -> str:
    if message.deleted:
        return '<div class="empty">This message was deleted.</div>'
    files = "".join(map(_file, message.files))
    if message.blocks:
        return blocks_html([_shown(state, block) for block in message.blocks], state) + files
    return f"<div>{rich(message.text, state)}</div>{files}"


def _file(file: File) -> str:
    """A file to look into and to keep: name, size, and what it holds."""
    data = base64.b64encode(file.content).decode()
    link = f'href="data:{file.mimetype};base64,{data}" download="{escape(file.name, quote=True)}"'
    text = escape(file.content.decode("utf-8", errors="replace"))
    inside = f"<pre>{text}</pre>" if file.kind is None else ""
    return (
        f"<details class=file><summary><b>{escape(file.name)}</b> {escape(file.title)}"
        f' <span class="mark">{file.length:,} bytes</span> <a {link}>Download</a></summary>'
        f"{inside}</details>"
    )


def _shown(state: State, block: Json) -> Json:
    """The block, with the picture itself where it shows an uploaded file."""
    file = state.files.get(block.get("slack_file", {}).get("id", ""))
    if block["type"] != "image" or file is None:
        return block
    data = base64.b64encode(file.content).decode()
    return {**block, "image_url": f"data:image/{file.kind};base64,{data}"}


def _told(state: State, message: Message) -> str:
    if not message.notified:
        return ""
    names = ", ".join(map(state.name_of, message.notified))
    return f'<div><span class="told">notified {escape(names)}</span></div>'


def _face(state: State, user: str) -> str:
    name = state.name_of(user)
    humans = [each.id for each in state.users.values() if not each.is_bot]
    colour = _FACES[humans.index(user) % len(_FACES)] if user in humans else "#4a154b"
    return f'<div class="face" style="background:{colour}">{escape(name[:1].upper())}</div>'


def _act(state: State, entry: Entry) -> str:
    who = escape(state.name_of(entry.by))
    if entry.kind is Kind.TYPED:
        return f'<div class="act">{who} typed <code>{escape(entry.text)}</code></div>'
    if entry.kind is Kind.CLICKED:
        return f'<div class="act">{who} clicked {escape(entry.text)}</div>'
    return f'<div class="act failed">{who} was shown: {escape(entry.text)}</div>'


def _view(state: State, view: View, kind: str) -> str:
    title = escape(view.body.get("title", {}).get("text", ""))
    who = escape(state.name_of(view.user))
    inner = blocks_html(view.body["blocks"], state)
    return (
        f'<section class="channel"><h2>{kind} {title}<small>only {who} sees it</small></h2>'
        f'<div class="view">{inner}</div></section>'
    )
