"""Reads the docstrings of settings' fields, for docs/settings.md and error messages."""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent

from pydantic import BaseModel


@cache
def explanations(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstrings of a model's fields by name, including inherited fields.

    They are read from the source on demand: pydantic's `use_attribute_docstrings` would read them
    on import, and so at every start.
    """
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            found |= _written(each)
    return found


def _written(model: type[BaseModel]) -> dict[str, str]:
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    lines = definition.body if isinstance(definition, ast.ClassDef) else []
    found = {}
    for field, below in pairwise(lines):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found
