"""Suggestions for names that are not there."""

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that says what was probably meant, or what there is."""
    names = sorted(known)
    found = difflib.get_close_matches(name, names, n=1)
    if found:
        return f"; did you mean {found[0]}?"
    return f"; there is: {', '.join(names)}" if names else ""
