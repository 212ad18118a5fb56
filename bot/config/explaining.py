"""What the docstrings below the fields of the settings say, for pages and mistakes."""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent

from pydantic import BaseModel


@cache
def explanations(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstrings of a model's fields by name, also of those that it inherits.

    They are read from its source when somebody asks: pydantic, which can do it
    (`use_attribute_docstrings`), does it at the import, and so at every start.
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
