"""Splits the text of a message into words, undoing changes by keyboards and Slack."""

import re
import shlex
from collections.abc import Iterator, Sequence

from bot.errors import UsageError

_QUOTES = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f", '"') | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
)
_SPACES = str.maketrans(
    dict.fromkeys("\u00a0\u1680\u2007\u202f\u205f\u3000", " ")
    | dict.fromkeys(map(chr, range(0x2000, 0x200B)), " ")
    | dict.fromkeys("\u2010\u2011\ufe63\uff0d", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
)
_QUOTED = r"\"[^\"]*\"|(?<!\w)'[^']*'"
# What keyboards make of two hyphens: an em dash, a bar, one or two en dashes, two minus signs.
_LONG = r"[\u2014\u2015]|\u2013\u2013?|\u2212\u2212?"
_SEPARATOR = re.compile(rf"{_QUOTED}|(?P<separator>(?<!\S)(?:--|{_LONG})(?!\S))")
_DASH = re.compile(
    rf"{_QUOTED}|(?P<dash>(?<!\S)(?:{_LONG})(?=[A-Za-z]|\s|$))"
    r"|(?P<minus>(?<!\S)[\u2012-\u2015\u2212](?=[0-9]))"
)
# What goes on in the next line, as a shell reads it; browsers leave blanks behind the backslash.
_GOES_ON = re.compile(rf"{_QUOTED}|(?P<end>\\[ \t\u00a0]*\r?\n|(?<!\S)\\\s*\Z)")
_FENCED = re.compile(r"\s*(`{3}|`)(?!`)(.*?)(?<!`)\1\s*", re.DOTALL)
_ESCAPE = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_TO_QUOTE = re.compile(r"[\s'\"]|[^\x21-\x7e]")
_BLANKS = re.compile("[ \\t\\r\\n\u00a0]+")
_HELD = {"\ufdd0": '"', "\ufdd1": "'"}


def normalise(text: str) -> str:
    """`text` as it was meant: straight quotes, plain spaces, `--` for dashes, no Slack escapes.

    Lines that end with a backslash go on in the next one, outside quotes. What follows ` -- ` is
    for a container: of it only smart quotes and Slack's escapes change, and its dashes where the
    ` -- ` itself shows that a keyboard turned `--` into a dash.
    """
    straight = text.translate(_QUOTES).replace("\0", "")
    fenced = _FENCED.fullmatch(straight)
    head, separator, tail = _parted(_joined(fenced.group(2) if fenced else straight))
    cleaned = _dashed(head.translate(_SPACES))
    if separator:
        cleaned += f"-- {(tail if separator == '--' else _dashed(tail)).lstrip()}"
    return _unescaped(_ESCAPE.sub(_meant, cleaned)).strip()


def escaped(text: str) -> str:
    """A normalised text as Slack would send it, which normalises to the same again."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def written(words: Sequence[str]) -> str:
    """The words as one text that, sent, splits into the same words; UsageError if there is none."""
    text = " ".join(map(_quoted, words))
    if _splits_into(text) != [*words]:
        raise UsageError(
            "The command has quotes and backslashes that one line cannot hold here.",
            "Put it into a script in the image, and start that: `-- sh run.sh`.",
        )
    return text


def split(text: str) -> list[str]:
    """The words of a normalised text; quotes join words, `--` stands alone if it is there.

    A backslash is a letter like others, save that a quote after it does not end a text in
    quotes. An apostrophe within a word opens nothing. UsageError on a quote left open.
    """
    head, separator, tail = _parted(text)
    words = _words(_APOSTROPHE.sub("\ufdd1", head))
    return [*words, "--", *_words(tail)] if separator else words


def after_mention(text: str, user_id: str) -> str:
    """What follows the first mention of `user_id`, or all of `text` where there is none."""
    mention = re.search(rf"<@{re.escape(user_id)}(?:\|[^<>]*)?>", text)
    return text[mention.end() :] if mention else text


def _splits_into(text: str) -> list[str] | None:
    """The words that a sent text has, None if a quote is left open in it."""
    try:
        return split(normalise(escaped(text)))
    except UsageError:
        return None


def _quoted(word: str) -> str:
    if word == "--" or (word and not _TO_QUOTE.search(word)):
        return word
    if "'" not in word:
        return f"'{word}'"
    return '"' + word.replace('"', '\\"') + '"'


def _parted(text: str) -> tuple[str, str, str]:
    for found in _SEPARATOR.finditer(text):
        if separator := found.group("separator"):
            return text[: found.start()], separator, text[found.end() :]
    return text, "", ""


def _joined(text: str) -> str:
    if "\\" not in text:
        return text
    return _GOES_ON.sub(lambda found: "" if found.group("end") else found.group(), text)


def _dashed(text: str) -> str:
    return _DASH.sub(_hyphens, text)


def _hyphens(found: re.Match[str]) -> str:
    if found.group("minus"):
        return "-"
    return "--" if found.group("dash") else found.group()


def _meant(found: re.Match[str]) -> str:
    sigil, target, label = found.groups()
    if sigil in {"@", "#"}:
        return f"{sigil}{target}"
    if sigil == "!":
        kind, _, group_id = target.partition("^")
        return f"@{group_id if kind == 'subteam' else kind}" if kind != "date" else label or ""
    return label if label and target.endswith(label) else target


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _words(text: str) -> list[str]:
    if "'" not in text and '"' not in text:
        return [_released(word) for word in _BLANKS.split(text) if word]
    held = text.replace('\\"', "\ufdd0")
    for attempt, quotes in ((held, "'\""), (_APOSTROPHE.sub("\ufdd1", held), "'\""), (held, '"')):
        try:
            return [_released(word) for word in _lexed(attempt, quotes)]
        except ValueError:
            continue
    start = text[text.rindex('"') :][:40] if '"' in text else text[:40]
    raise UsageError(
        f"The quote at `{start}` is not closed.",
        'Close it at the end of the text, for example `--reason "CVPR deadline"`.',
    )


def _lexed(text: str, quotes: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.whitespace += "\u00a0"
    lexer.commenters = lexer.escape = ""
    lexer.quotes = quotes
    return lexer


def _released(word: str) -> str:
    for held, character in _HELD.items():
        word = word.replace(held, character)
    return word
