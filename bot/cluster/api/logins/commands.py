"""Commands of kubeconfigs that print a token, taken apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True)
class Command:
    """The `exec` of a kubeconfig's user."""

    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Command":
        """What an `exec` section says."""
        variables = {str(each["name"]): str(each["value"]) for each in spec.get("env") or ()}
        arguments = tuple(str(each) for each in spec.get("args") or ())
        return cls(str(spec.get("command") or ""), arguments, variables)

    @property
    def name(self) -> str:
        """The program without its folder."""
        return PurePath(self.program).name.removesuffix(".exe")


@dataclass(frozen=True)
class Arguments:
    """Words, and options by their full names; a switch has an empty value."""

    words: tuple[str, ...]
    options: Mapping[str, str]


def take_apart(
    arguments: Sequence[str], options: Mapping[str, str], switches: Mapping[str, str]
) -> Arguments | None:
    """The arguments by the full names of their options; None if one is not among those.

    `options` take a value, as `--name VALUE` or `--name=VALUE`; both map spellings to full names.
    """
    words: list[str] = []
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        part = rest.pop(0)
        if not part.startswith("-"):
            words.append(part)
            continue
        name, joined, value = part.partition("=")
        if name in switches:
            if value not in {"", "true"}:
                return None
            found[switches[name]] = ""
        elif name in options and (joined or rest):
            found[options[name]] = value if joined else rest.pop(0)
        else:
            return None
    return Arguments(tuple(words), found)
