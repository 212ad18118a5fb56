"""How a kubelet fills in $(NAME) and makes $ of $$: k8s.io/kubernetes/third_party/forked/golang."""

from collections.abc import Iterator, Mapping
from typing import Any


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text as a container gets it; names that are not known stay as they are."""
    return "".join(_parts(text, known))


def environment_of(container: Mapping[str, Any]) -> dict[str, str]:
    """The variables that stand in a container; each may name those before it."""
    found: dict[str, str] = {}
    for each in container.get("env") or ():
        if "value" in each:
            found[each["name"]] = expand(each["value"], found)
    return found


def words_of(container: Mapping[str, Any], *entry: str) -> list[str]:
    """The command with its arguments; `entry` is what the image starts otherwise."""
    known = environment_of(container)
    words = [*(container.get("command") or entry), *(container.get("args") or ())]
    return [expand(word, known) for word in words]


def _parts(text: str, known: Mapping[str, str]) -> Iterator[str]:
    at = 0
    while (sign := text.find("$", at)) >= 0 and sign + 1 < len(text):
        yield text[at:sign]
        following, at = text[sign + 1], sign + 2
        end = text.find(")", at)
        if following == "$":
            yield "$"
        elif following == "(" and end >= 0:
            name, at = text[at:end], end + 1
            yield known.get(name, f"$({name})")
        else:
            yield f"${following}"
    yield text[at:]
