"""Shortcuts of the app in Slack's menus: each opens a form, or runs a verb on a card's object."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Prefill = Callable[[Any, str], Mapping[str, Sequence[str]]]
"""What the form holds, by parameter, from the context and the name of the card's object."""


@dataclass(frozen=True)
class Shortcut:
    """An entry of Slack's menus that means a verb of a command.

    With `on_card` it is in the menu of a message, and means the object of its card; with `on_files`
    it means a message with files, whose link that parameter of the verb takes. Else it is in the
    menu beside the text box. It opens the verb's form, or with `is_direct` answers at once.
    """

    callback_id: str
    label: str
    description: str
    command: str
    verb: str
    on_card: bool = False
    on_files: str = ""
    is_direct: bool = False
    prefill: Prefill | None = None

    @property
    def of_message(self) -> bool:
        """Whether it is in the menu of messages."""
        return self.on_card or self.on_files != ""
