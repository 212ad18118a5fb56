"""Takes secrets out of text that servers and programs gave us."""

import re

HIDDEN = "[hidden]"

_WORDS = r"(?:[\w-]*(?:token|password|passwd|secret|api[_-]?key|access[_-]?key)[\w-]*)"
_PATTERNS = (
    (re.compile(r"\beyJ[\w-]{6,}(?:\.[\w-]*){1,2}"), HIDDEN),
    (re.compile(r"\b(bearer\s+)[\w.~+/=:-]{4,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"(authorization\W{1,4}\w+\s+)[\w.~+/=:-]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"(\w://[^\s/:@]*:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            rf"({_WORDS}[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&\"'}}]+)", re.IGNORECASE
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(?:xox[abeprs]|xapp|gh[opsu])[-_][\w-]{8,}"), HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), HIDDEN),
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), HIDDEN),
)


def hide_secrets(text: str) -> str:
    """`text` with what looks like a token, password, key or certificate replaced."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
