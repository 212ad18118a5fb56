"""What a verb's form shows: which parameters have fields, and what follows from those."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.slack.markup import Markup

Applying = Callable[[Any, Mapping[str, str]], Collection[str]]
"""The dependent parameters that apply, from the context and the texts of the fields."""

Foresee = Callable[[Any, Any, Any], Sequence[Markup]]
"""What would happen, from the context, the verb, and what its handler takes (`into`); UserError if
nothing would."""


def _none(_ctx: object, _texts: Mapping[str, str]) -> Collection[str]:
    return ()


@dataclass(frozen=True)
class FormPlan:
    """What the form of a verb shows; by default a field for each parameter.

    `fields` are the parameters that have fields of their own, beside those that are required; the
    others are written into one field, as in a command. `dependent` ones have fields only while they
    are `applying`. Each time that a `watched` field changes, the form is made again, and says what
    would happen, if the plan can `foresee` that.
    """

    fields: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()
    applying: Applying = _none
    foresee: Foresee | None = None
