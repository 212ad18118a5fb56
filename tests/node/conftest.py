"""Tests whose runs really run: two nodes with containers beside the control plane's tests.

`make test-node` builds what they need once and runs them; a plain `make test` leaves them out.

What a test may ask for:

`plane`    a control plane with real nodes, shared by the session: `.api`
`own`      the same where it is one of our own, for tests that reach into it
`nodes`    its nodes, node-1 and node-2, with 4 GPUs each (numbers alone: nothing counts them)
`team`     the namespace team-a with 8 GPUs of h100 in its queue, emptied after the test

With QUARTERMASTER_TEST_CLUSTER=1 the cluster of KUBECONFIG is used instead (docs/testing.md).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import building as plane_building
from tests.cluster.bots import Plane
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import LOCAL_QUEUES, Site
from tests.node import building, owners
from tests.node.node import Node
from tests.node.nodes import missing, running

HERE = Path(__file__).parent
_TEAM = "team-a"
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
        pytest.skip(f"{absent}; docs/testing.md says how to use a cluster of yours")
    plane_built, built = plane_building.kept(), building.kept()
    if plane_built is None or built is None:
        pytest.skip("the nodes' programs are not here; `make test-node` builds them")
    with running(plane_built, built) as found:
        yield found


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest) -> Iterator[Plane]:
    if not owners.is_chosen():
        yield request.getfixturevalue("machines")[0]
        return
    with owners.connected() as theirs:
        yield theirs


@pytest.fixture(scope="session")
def own(request: pytest.FixtureRequest) -> ControlPlane:
    if owners.is_chosen():
        pytest.skip("this test needs a cluster of its own")
    found: ControlPlane = request.getfixturevalue("machines")[0]
    return found


@pytest.fixture(scope="session")
def nodes(request: pytest.FixtureRequest) -> list[Node]:
    if owners.is_chosen():
        pytest.skip("this test needs nodes of its own")
    found: list[Node] = request.getfixturevalue("machines")[1]
    return found


@pytest.fixture(scope="module")
def furnished(plane: Plane) -> Iterator[Site]:
    site = Site(plane.api)
    if isinstance(plane, owners.OwnersPlane):
        site.add_namespace(_TEAM)
        local = {"metadata": {"name": _TEAM}, "spec": {"clusterQueue": plane.queue}}
        plane.api.create(LOCAL_QUEUES, local, _TEAM)
    else:
        site.add_flavor()
        site.add_team("8", _TEAM)
    yield site
    site.close()


@pytest.fixture
def team(furnished: Site) -> Iterator[str]:
    yield _TEAM
    furnished.empty(_TEAM)
