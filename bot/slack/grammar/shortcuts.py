"""Shortcuts of the app in Slack's menus: each opens a form, or runs a verb on a card's object."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Prefill = Callable[[Any, str], Mapping[str, Sequence[str]]]
"""What the form holds, by parameter, from the context and the name of the card's object."""


@dataclass(frozen=True)
class Shortcut:
    """An entry of Slack's menus that means a verb of a command.

    With `on_card` it is in the menu of a message, and means the object of its card; else it is in
    the menu beside the text box. It opens the verb's form, or with `is_direct` answers at once.
    """

    callback_id: str
    label: str
    description: str
    command: str
    verb: str
    on_card: bool = False
    is_direct: bool = False
    prefill: Prefill | None = None
