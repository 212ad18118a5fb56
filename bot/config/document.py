"""Reads a YAML file into plain values, with the line of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from bot.errors import ConfigurationError

Path = tuple[str | int, ...]

# The parser in C takes a tenth of the time; PyYAML has it except where it was built without it.
_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


@dataclass
class Document:
    """The content of a file; `lines` has the line (from 1) of each key and list item."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)
    lines: dict[Path, int] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        """The file name and line of a path, or of the section around it if it is absent."""
        line = self.line(path)
        return f"{self.name} line {line}" if line else self.name

    def line(self, path: Path) -> int:
        """The line of a key or item, else of the nearest section around it, else 0."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines[path] if path else 0


def parse(name: str, text: str) -> Document:
    """Parses the file; ConfigurationError for invalid YAML and duplicate keys."""
    document = Document(name)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        data = _Reader(document, loader).value(node, ()) if node else {}
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigurationError(f"{name}{line}: invalid YAML: {error.problem}.") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{name}: invalid YAML: {error}.") from None
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        raise ConfigurationError(f"{name}: the file must be a mapping of keys to values.")
    document.data = data
    return document


class _Reader:
    """Converts composed nodes to plain values and records their lines."""

    def __init__(self, document: Document, loader: yaml.CSafeLoader | yaml.SafeLoader) -> None:
        self._document = document
        self._loader = loader
        self._open: set[int] = set()

    def value(self, node: yaml.Node, path: Path) -> Any:
        """The plain value of a node."""
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self._loader.construct_object(node)
        if id(node) in self._open:
            raise yaml.MarkedYAMLError(
                problem="this alias is inside the value it refers to", problem_mark=node.start_mark
            )
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.Node, path: Path) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in found:
                first = self._document.lines[(*path, key)]
                raise ConfigurationError(
                    f"{self._document.name} line {line}: {key} is set a second time"
                    f" (first on line {first}); keep one of them."
                )
            self._document.lines[(*path, key)] = line
            found[key] = self.value(value_node, (*path, key))
        return found
