"""What takes the place of folders of a node, which runs do not mount."""

import re
from pathlib import PurePosixPath


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
