"""Tests on a real control plane: Kubernetes, Kueue and KWOK on loopback, or your own cluster.

`make test-cluster` builds the programs once and runs these tests; a plain `make test` leaves
them out, `pytest tests/cluster` runs them where the programs are there. With
QUARTERMASTER_TEST_CLUSTER=1 the cluster of KUBECONFIG is used instead: of it only namespaces are
made and removed, so tests that need more (`plane`) are skipped.

What a test may ask for:

`plane`    a control plane of our own, shared by the session (tests.cluster.control_plane):
           `.url`, `.kubeconfig` (may do everything), `.bot_kubeconfig` (the service account with
           the roles of deploy/), `.api`, `.audited()` (the bot's requests in the audit log),
           `.kueue.configure(fairSharing={...})` (starts Kueue anew, `configure()` as usual),
           `.kwok.says(namespace, line, ...)` (pods' logs),
           `.kwok.plays(name, stage)`, `.stop_api_server()`, `.start_api_server()`,
           `.log_tail("kueue")`
`cluster`  either of the two: `.api`, `.kubeconfig`, `.is_own`
`site`     what this test adds, removed at its end (tests.cluster.site): `add_team("4")` for a
           namespace with ClusterQueue, LocalQueue and the bot's rights, `add_flavor()`,
           `add_node("gpu-1", gpus=8)`, `add_namespace()`, `add_claim(...)`, `add(resource, body)`
`gpus`     two nodes with 8 GPUs each, gpu-1 and gpu-2, and the flavor h100

`tests.cluster.api` has `Api` (create, get, list, patch, apply, delete; resources are called
`pods`, `jobs.batch`, `clusterqueues.kueue.x-k8s.io`) and `wait_for`. pods.yaml says how a pod
lives: annotations `pod.quartermaster.test/seconds|ends|exit-code`, or for pods that the bot makes
`--env TEST_SECONDS=5s --env TEST_ENDS=oom`. `tests.cluster.bots` runs a real bot, and
`tests.cluster.fleet` has it keep a run of every kind at the same time.
"""

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.api import Api
from tests.cluster.building import kept
from tests.cluster.control_plane import ControlPlane, running
from tests.cluster.site import Site
from tests.cluster.state import control_plane_state

HERE = Path(__file__).parent
_TIMEOUT_SECONDS = 400
_LAST = "test_rights.py"


@dataclass(frozen=True)
class OwnersCluster:
    """The cluster of somebody's KUBECONFIG."""

    api: Api
    kubeconfig: Path | None = None
    is_own = False


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leaves this folder out of runs that do not name it."""
    named = [Path(each.partition("::")[0]).resolve() for each in config.args]
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests here the time that a control plane takes on a busy machine.

    What looks back on all of them comes last.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_TIMEOUT_SECONDS))
    items.sort(key=lambda item: item.path == HERE / _LAST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds to the report of a failure how the control plane stood."""
    report = yield
    plane = getattr(item, "funcargs", {}).get("plane")
    if report.failed and report.when != "teardown" and isinstance(plane, ControlPlane):
        report.sections.append(("The control plane", control_plane_state(plane)))
    return report


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane | OwnersCluster]:
    environment = os.environ  # noqa: TID251  # a test session may ask where it runs
    if environment.get("QUARTERMASTER_TEST_CLUSTER") == "1":
        kubeconfig = environment.get("KUBECONFIG")
        with Api.to(kubeconfig) as api:
            yield OwnersCluster(api, Path(kubeconfig) if kubeconfig else None)
        return
    built = kept()
    if built is None:
        pytest.skip("the control plane's programs are not here; `make test-cluster` builds them")
    with running(built) as plane:
        yield plane


@pytest.fixture(scope="session")
def plane(cluster: ControlPlane | OwnersCluster) -> ControlPlane:
    if isinstance(cluster, OwnersCluster):
        pytest.skip("this test needs a control plane of its own")
    return cluster


@pytest.fixture
def site(cluster: ControlPlane | OwnersCluster) -> Iterator[Site]:
    site = Site(cluster.api)
    yield site
    site.close()


@pytest.fixture
def gpus(plane: ControlPlane, site: Site) -> None:
    del plane
    site.add_node("gpu-1")
    site.add_node("gpu-2")
    site.add_flavor()
