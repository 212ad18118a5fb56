"""Patterns of paths, as people write them: `train/*.jpg`, `**/*.json`, `train/`."""

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Final

_ANY_FOLDERS, _ANY_NAME = "**", "*"


class PathPattern:
    """Matches whole paths: `*` and `?` within a name, `**` for any folders.

    A pattern that ends with a slash means all files of that folder and of those below it. It reads
    a path once, whatever the pattern.
    """

    def __init__(self, text: str) -> None:
        parts = f"{text}{_ANY_FOLDERS}".split("/") if text.endswith("/") else text.split("/")
        if parts[-1] == _ANY_FOLDERS:
            parts.append(_ANY_NAME)
        self._parts: Final[Sequence[re.Pattern[str] | None]] = [
            None if part == _ANY_FOLDERS else re.compile(translate(part)) for part in parts
        ]

    def matches(self, path: str) -> bool:
        """Whether the path is one of those that are meant."""
        places = self._past_folders({0})
        for name in path.split("/"):
            places = self._past_folders({to for at in places for to in self._steps(at, name)})
            if not places:
                return False
        return len(self._parts) in places

    def _steps(self, place: int, name: str) -> Sequence[int]:
        """Where in the pattern the next name leads from there."""
        if place == len(self._parts):
            return ()
        part = self._parts[place]
        if part is None:
            return (place,)
        return (place + 1,) if part.match(name) else ()

    def _past_folders(self, places: set[int]) -> set[int]:
        """The same places, and those behind `**`, which may also mean no folder."""
        for place, part in enumerate(self._parts):
            if part is None and place in places:
                places.add(place + 1)
        return places
