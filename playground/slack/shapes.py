"""Rules for JSON values, put together from small parts; each names what is wrong and where."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Json = dict[str, Any]
Rule = Callable[[Any, str], Iterator[str]]


def problem(what: str, path: str) -> str:
    """One complaint in Slack's own wording, with a pointer to the place."""
    return f"{what} [json-pointer:{path}]"


def string(maximum: int, minimum: int = 1) -> Rule:
    """Text of at least `minimum` and at most `maximum` characters."""

    def rule(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", path)
        elif len(value) > maximum:
            yield problem(f"must be less than {maximum + 1} characters", path)
        elif len(value) < minimum:
            yield problem(f"must be more than {minimum - 1} characters", path)

    return rule


def flag(value: Any, path: str) -> Iterator[str]:
    """True or false."""
    if not isinstance(value, bool):
        yield problem("must be a boolean", path)


def anything(_value: Any, _path: str) -> Iterator[str]:
    """Any value at all, for parts whose insides nobody here reads."""
    yield from ()


def number(low: float | None = None, high: float | None = None, *, whole: bool = False) -> Rule:
    """A number from `low` to `high`, both included; only integers when `whole`."""

    def rule(value: Any, path: str) -> Iterator[str]:
        kinds = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds):
            yield problem(f"must be {'an integer' if whole else 'a number'}", path)
        elif low is not None and value < low:
            yield problem(f"must be at least {low}", path)
        elif high is not None and value > high:
            yield problem(f"must be at most {high}", path)

    return rule


def choice(*allowed: str) -> Rule:
    """One of the given words."""

    def rule(value: Any, path: str) -> Iterator[str]:
        if value not in allowed:
            yield problem(f"must be one of {', '.join(allowed)}", path)

    return rule


def items(rule: Rule, minimum: int, maximum: int) -> Rule:
    """A list of `minimum` to `maximum` values that each follow `rule`."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", path)
            return
        if len(value) > maximum:
            yield problem(f"no more than {maximum} items allowed", path)
        if len(value) < minimum:
            yield problem(f"no less than {minimum} items allowed", path)
        for index, item in enumerate(value):
            yield from rule(item, f"{path}/{index}")

    return check


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with exactly these fields; a field nobody knows is refused as Slack refuses it."""
    known = {**(optional or {}), **required}

    def rule(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must provide an object", path)
            return
        for name in required:
            if value.get(name) is None:
                yield problem(f"missing required field: {name}", path)
        for name, inner in value.items():
            if name not in known and name != "type":
                yield problem(f"invalid additional property: {name}", f"{path}/{name}")
            elif inner is not None and name in known:
                yield from known[name](inner, f"{path}/{name}")

    return rule


def by_type(rules: Mapping[str, Rule]) -> Rule:
    """An object whose `type` says which of the rules it follows."""

    def rule(value: Any, path: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind in rules:
            yield from rules[kind](value, path)
        elif kind is None:
            yield problem("missing required field: type", path)
        else:
            yield problem(f"unsupported type: {kind}", f"{path}/type")

    return rule


def all_of(*rules: Rule) -> Rule:
    """A value that follows every rule; later rules run only once the earlier ones hold."""

    def rule(value: Any, path: str) -> Iterator[str]:
        for each in rules:
            found = list(each(value, path))
            yield from found
            if found:
                return

    return rule


def any_field(*names: str) -> Rule:
    """An object with at least one of the named fields."""

    def rule(value: Any, path: str) -> Iterator[str]:
        if not any(value.get(name) for name in names):
            yield problem(f"must provide one of: {', '.join(names)}", path)

    return rule
