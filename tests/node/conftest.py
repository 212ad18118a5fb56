"""Tests whose runs really run: two nodes with containers beside the control plane's tests.

`make test-node` builds what they need once and runs them; a plain `make test` leaves them out.

What a test may ask for:

`plane`    a control plane with real nodes, shared by the session (tests.cluster.conftest)
`nodes`    its nodes, node-1 and node-2, with 4 GPUs each (numbers alone: nothing counts them)
`site`     as in tests.cluster.conftest
`team`     the namespace team-a with 8 GPUs of h100 in its queue, emptied after the test

Images: `localhost/plain:1` has Python, `localhost/torch:1` sshd, Open MPI and PyTorch besides.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import building as plane_building
from tests.cluster.conftest import site
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.node import building
from tests.node.node import Node
from tests.node.nodes import missing, running

__all__ = ["site"]

HERE = Path(__file__).parent
_TIMEOUT_SECONDS = 600


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leaves this folder out of runs that do not name it."""
    named = [Path(each.partition("::")[0]).resolve() for each in config.args]
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests here the time that containers take on a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_TIMEOUT_SECONDS))


@pytest.fixture(scope="session")
def machines() -> Iterator[tuple[ControlPlane, list[Node]]]:
    absent = missing()
    if absent:
        pytest.skip(absent)
    plane_built, built = plane_building.kept(), building.kept()
    if plane_built is None or built is None:
        pytest.skip("the nodes' programs are not here; `make test-node` builds them")
    with running(plane_built, built) as found:
        yield found


@pytest.fixture(scope="session")
def plane(machines: tuple[ControlPlane, list[Node]]) -> ControlPlane:
    return machines[0]


@pytest.fixture(scope="session")
def nodes(machines: tuple[ControlPlane, list[Node]]) -> list[Node]:
    return machines[1]


@pytest.fixture(scope="session")
def cluster(plane: ControlPlane) -> ControlPlane:
    return plane


@pytest.fixture(scope="module")
def furnished(plane: ControlPlane) -> Iterator[Site]:
    site = Site(plane.api)
    site.add_flavor()
    site.add_team("8", "team-a")
    yield site
    site.close()


@pytest.fixture
def team(furnished: Site) -> Iterator[str]:
    yield "team-a"
    furnished.empty("team-a")
