"""Cards and answers as text: for the console, for notifications, for readers without blocks."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from bot.charts.values import described
from bot.slack.card import Button, Card, Progress, Reply, Table, Tone
from bot.slack.markup import Markup, plain
from bot.slack.shortening import cut_markup

MARKS = {
    Tone.WAITING: "⏳",
    Tone.WORKING: "▶️",
    Tone.GOOD: "✅",
    Tone.BAD: "❌",
    Tone.WARNING: "⚠️",
    Tone.STOPPED: "⏹️",
    Tone.QUIET: "",
}
_LONGEST_FALLBACK = 3_000
_BAR = 12
_SPECIAL = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_DATE = re.compile(r"date\^(\d{1,11})\^")
# As in Slack, no space stands inside next to a star: `0 2 * * *` is not bold.
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+)(?<=\S)\*(?![\w*])")


def by_id(identifier: str) -> str:
    """A person or channel whose name is unknown here."""
    return identifier


def in_utc(moment: datetime) -> str:
    """A moment in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def as_text(
    answer: Card | Reply,
    name_of: Callable[[str], str] = by_id,
    moment_as: Callable[[datetime], str] = in_utc,
) -> str:
    """The card or answer for a terminal.

    `name_of` says how a person or channel id is called, `moment_as` how a time is written.
    """
    lines = _reply_lines(answer) if isinstance(answer, Reply) else _card_lines(answer)
    return "\n".join(readable(line, name_of, moment_as) for line in lines)


def readable(
    markup: Markup,
    name_of: Callable[[str], str] = by_id,
    moment_as: Callable[[datetime], str] = in_utc,
) -> str:
    """`markup` as plain text: names for mentions, times for dates, no escapes."""

    def spoken(found: re.Match[str]) -> str:
        sigil, target, label = found.groups()
        if sigil in {"@", "#"} and target:
            return f"{sigil}{name_of(target)}"
        date = _DATE.match(target) if sigil == "!" else None
        if date:
            return moment_as(datetime.fromtimestamp(int(date.group(1)), UTC))
        return label or f"@{target}" if sigil else label or target

    bare = _BOLD.sub(r"\1", _SPECIAL.sub(spoken, markup))
    return bare.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def text_of(card: Card) -> str:
    """The card in one piece of mrkdwn, for notifications: title, state and facts."""
    heading = plain(headline(card.title, card.state, card.tone) or "Quartermaster")
    facts = [f"{plain(label)}: {value}" for label, value in card.facts]
    said = ". ".join([heading, *facts]) if facts else ". ".join([heading, *card.lines])
    return cut_markup(Markup(f"{said.rstrip('.')}."), _LONGEST_FALLBACK)


def reply_text(reply: Reply) -> str:
    """The answer in one piece of mrkdwn, for readers without blocks."""
    parts = [*reply.lines, *([Markup(text_of(reply.card))] if reply.card else [])]
    return cut_markup(Markup("\n".join(parts) or "Done."), _LONGEST_FALLBACK)


def headline(title: str, state: str, tone: Tone) -> str:
    """Mark, title and state in one line of plain text."""
    named = " · ".join(part for part in (title.strip(), state.strip()) if part)
    return " ".join(part for part in (MARKS[tone], " ".join(named.split())) if part)


def progress_text(progress: Progress) -> str:
    """Done, total and a bar; without a bar if the total is unknown."""
    unit = f" {progress.unit}" if progress.unit else ""
    if progress.total is None or not progress.total > 0:
        return f"{_figure(progress.done)}{unit}"
    part = min(max(progress.done / progress.total, 0.0), 1.0)
    full = int(part * _BAR)
    bar = "▰" * full + "▱" * (_BAR - full)
    done, total = _figure(progress.done), _figure(progress.total)
    return f"{bar} {int(part * 100)} % · {done} of {total}{unit}"


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def _reply_lines(reply: Reply) -> Iterator[Markup]:
    yield from reply.lines
    if reply.card:
        yield from _card_lines(reply.card)
    yield from _button_line(reply.buttons)


def _card_lines(card: Card) -> Iterator[Markup]:
    yield plain(headline(card.title, card.state, card.tone))
    if card.progress:
        yield plain(progress_text(card.progress))
    yield from card.lines
    widest = max((len(label) for label, _ in card.facts), default=0)
    for label, value in card.facts:
        yield Markup(f"  {plain(label.ljust(widest))}  {value}")
    yield from (plain(f"  {described(chart)}") for chart in card.charts)
    if card.table:
        yield from map(plain, _table_lines(card.table))
    if card.code:
        yield from (plain(f"  | {line}") for line in card.code.splitlines())
    yield from map(plain, card.document.splitlines())
    yield from _button_line(card.buttons)
    yield from card.footer


def _table_lines(table: Table) -> Iterator[str]:
    rows = [table.header, *table.rows]
    count = max(map(len, rows))
    padded = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*padded, strict=True)]
    for row in padded:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()


def _button_line(buttons: tuple[Button, ...]) -> Iterator[Markup]:
    if buttons:
        yield plain("  " + " ".join(f"[{button.label}]" for button in buttons))
