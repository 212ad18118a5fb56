"""What a sweep was submitted with besides its runs: parameters, how many at once, its rule."""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import msgspec

from bot.slack.grammar.container_parameters import SweptParameter


def live_at_once(parameters: Iterable[SweptParameter], at_most: int | None) -> int:
    """How many runs of a sweep are live at a time."""
    cells = prod(len(each.values) for each in parameters)
    return min(cells, at_most or cells)


class SweepTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a sweep with their values, and its options, as its row keeps them."""

    parameters: tuple[SweptParameter, ...]
    at_most: int | None = None
    metric: str = ""
    best: str = ""
    stop_early: str = ""
    warm_up: int | None = None
    min_cells: int = 0

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return live_at_once(self.parameters, None)

    @property
    def at_once(self) -> int:
        """How many of its runs are live at a time."""
        return live_at_once(self.parameters, self.at_most)

    @property
    def columns(self) -> dict[str, Any]:
        """The terms as columns of a row."""
        columns: dict[str, Any] = msgspec.to_builtins(self)
        return columns


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(SweepTerms)


def terms_from(columns: Mapping[str, Any] | None) -> SweepTerms | None:
    """The terms that a row keeps; None if it has none."""
    return None if columns is None else msgspec.convert(columns, SweepTerms)
