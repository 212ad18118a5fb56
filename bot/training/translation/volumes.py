"""What takes the place of folders of a node, which runs do not mount."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from bot.errors import UsageError
from bot.slack.grammar.reading import shown
from bot.slack.grammar.splitting import written

# How docker mounts a folder: `-v /host:/path`, `--volume=/host:/path:ro`.
_MOUNTS = ("-v", "--volume")


def refuse_docker(words: Sequence[str]) -> None:
    """UsageError for a command of docker, with what to use."""
    if list(words[:2]) not in (["docker", "run"], ["nvidia-docker", "run"]):
        return
    hint = "`train submit lane --image IMAGE --gpus 1 -- COMMAND` runs a command in an image."
    folders = [instead_of_folder(each.said, each.source, each.target) for each in _mounts(words)]
    raise UsageError("docker is not available here.", " ".join((hint, *folders)))


def refuse_folders(words: Sequence[str]) -> None:
    """UsageError for a submission that mounts folders as docker does, with their own line mended.

    What follows `--` is the program's own.
    """
    end = words.index("--") if "--" in words else len(words)
    mounts = list(_mounts(words[:end]))
    if not mounts:
        return
    mended, at = list[str](), 0
    for each in mounts:
        mended += [*words[at : each.begins], *placeholder(each.source, each.target)]
        mended[-1] += each.ending
        at = each.ends
    example = written([*mended, *words[at:]])
    first = mounts[0]
    said = instead_of_folder(first.said, first.source, first.target)
    raise UsageError(said, f"For example `train {example}`.")


@dataclass(frozen=True)
class _Mount:
    """An option of docker that mounts a folder, and where its words begin and end."""

    begins: int
    ends: int
    said: str
    source: str
    target: str
    ending: str


def _mounts(words: Sequence[str]) -> Iterator[_Mount]:
    for at, word in enumerate(words):
        option, has_value, value = word.partition("=")
        ends = at + 1 if has_value else at + 2
        value = value if has_value else "".join(words[at + 1 : at + 2])
        if option in _MOUNTS and value.startswith("/"):
            source, _, rest = value.partition(":")
            target, _, mode = rest.partition(":")
            ending = ":ro" if "ro" in mode.split(",") else ""
            said = f"{option} {shown(value)}"
            yield _Mount(at, ends, said, source, target or source, ending)


def instead_of_folder(said: str, source: str, target: str) -> str:
    """The sentence about a mount of a folder of the node, as it was said, with what to use."""
    name = _named(source)
    return (
        f"`{said}` mounts a folder of the node, which differs from node to node, so runs do not"
        f" mount it. Use a PVC, `--pvc {name}:{target}`, or a dataset, `--data {name}:{target}`,"
        f" with the name of yours for `{name}`."
    )


def placeholder(source: str, target: str) -> tuple[str, str]:
    """The option that takes its place in a draft."""
    return "--pvc", f"{_named(source)}:{target}"


def _named(source: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(source).name.lower()).strip("-")
    return name or "my-pvc"
