"""Durations as people write them: 15m, 8h, 3d, 1d12h."""

import re
from datetime import timedelta

_PARTS = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_NAMES = ("weeks", "days", "hours", "minutes", "seconds")
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def parse_duration(text: str) -> timedelta:
    """The duration of `text`; ValueError with a sentence if it is none."""
    match = _PARTS.fullmatch(text.strip().lower())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is not a duration; write it like 30m, 8h, 3d or 1d12h")
    try:
        return timedelta(**{n: int(v) for n, v in zip(_NAMES, match.groups(), strict=True) if v})
    except OverflowError:
        raise ValueError(f"{text!r} is longer than the longest duration supported") from None


def format_duration(duration: timedelta) -> str:
    """The duration in at most two units, as people say it: 3d, 1d 12h, 4m 10s, 12s."""
    seconds = int(duration.total_seconds())
    parts: list[str] = []
    for letter, size in _UNITS:
        if seconds >= size:
            parts.append(f"{seconds // size}{letter}")
            seconds %= size
    return " ".join(parts[:2]) or "0s"
