"""The cluster of somebody's KUBECONFIG in the place of nodes of our own.

Of it the namespace team-a is made and removed, with a queue that leads to a ClusterQueue of theirs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cluster.api import Api
from tests.cluster.control_plane import Audited

IMAGES, QUEUE = "QUARTERMASTER_TEST_IMAGES", "QUARTERMASTER_TEST_QUEUE"
_CHOSEN = "QUARTERMASTER_TEST_CLUSTER"


@dataclass
class OwnersPlane:
    """Their cluster; the bot has the rights of their KUBECONFIG."""

    api: Api
    kubeconfig: Path
    bot_kubeconfig: Path
    folder: Path
    queue: str

    def audited(self) -> list[Audited]:
        """Nothing: their audit log is not ours to read."""
        return []


def is_chosen() -> bool:
    """Whether the tests are to run there."""
    return _told(_CHOSEN) == "1"


def images() -> str:
    """Where images are: `localhost`, into which nodes of our own load them, or a registry."""
    return _told(IMAGES) if is_chosen() else "localhost"


@contextmanager
def connected() -> Iterator[OwnersPlane]:
    """Their cluster, as the environment names it."""
    kubeconfig = _told("KUBECONFIG")
    with TemporaryDirectory() as folder, Api.to(kubeconfig) as api:
        yield OwnersPlane(api, Path(kubeconfig), Path(kubeconfig), Path(folder), _told(QUEUE))


def _told(name: str) -> str:
    value = os.environ.get(name, "")  # noqa: TID251  # a test session may ask where it runs
    if not value and name != _CHOSEN:
        pytest.fail(f"{name} is not set; docs/testing.md says what it is.")
    return value
