"""Tells secrets from other text: in variables people pass, and in what programs print."""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"
LONGEST_LINE = 2000

_TOKENS = re.compile(
    r"\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"  # JSON web tokens
    r"|\bxox[abeprs]-[\w-]{8,}|\bxapp-[\w-]{8,}"  # Slack
    r"|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"  # code hosts
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"  # clouds
    r"|\bsk-[\w-]{16,}|\bhf_\w{16,}|\bnpm_\w{30,}|\bnvapi-[\w-]{16,}"  # model hosts
)
_WORD = r"token|secret|password|passwd|passphrase|credentials?|pwd"
_NAME = re.compile(
    rf"(?:.*[^a-z])?(?:[a-z0-9]*(?:{_WORD}))(?:[^a-z].*)?|(?:.*[^a-z])?[a-z0-9]*key(?:[^a-z]*)",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?P<lead>(?<![\w-])(?P<name>[\w-]{1,100})[\"']?\s{0,4}[=:]\s{0,4})"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;&\"'})]+)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BEARER = re.compile(r"\b(bearer|basic)(\s+)[\w.~+/=:-]{8,}", re.IGNORECASE)
_LOGIN = re.compile(r"(\w://[^\s/:@]{0,100}:)[^\s/@]+@")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_SETTING = re.compile(r"|.|true|false|none|null|yes|no", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,12}|[0-9]*\.[0-9]+")
_COUNTED = re.compile(r"token|key", re.IGNORECASE)


def names_a_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret: API_KEY, DB_PASSWORD; not MAX_TOKENS."""
    return _NAME.fullmatch(_CAMEL.sub("_", name)) is not None


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks as if it held a secret, by its name or by its value."""
    return holds_a_secret(value) or (names_a_secret(name) and not _SETTING.fullmatch(value))


def holds_a_secret(text: str) -> bool:
    """Whether the text has something in it that only a secret looks like."""
    return bool(_TOKENS.search(text) or _LOGIN.search(text) or _KEY_BEGINS.search(text))


def mask(line: str) -> str:
    """One line without what looks like a secret, cut to 2,000 characters."""
    line = _TOKENS.sub(HIDDEN, line[:LONGEST_LINE])
    line = _BEARER.sub(rf"\1\2{HIDDEN}", line)
    line = _LOGIN.sub(rf"\1{HIDDEN}@", line)
    return _PAIR.sub(_masked_pair, line)


def mask_lines(lines: Iterable[str]) -> list[str]:
    """The lines without secrets, private keys of several lines included."""
    kept: list[str] = []
    in_key = False
    for line in lines:
        if _KEY_BEGINS.search(line):
            in_key = True
            kept.append(HIDDEN)
        elif not in_key:
            kept.append(mask(line))
        if _KEY_ENDS.search(line):
            in_key = False
    return kept


def _masked_pair(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"].strip("\"'")
    # Programs count tokens and keys, so a number beside such a name is none.
    is_count = _COUNTED.search(name) and _NUMBER.fullmatch(value)
    return match.group() if is_count or not is_secret(name, value) else match["lead"] + HIDDEN
