"""The chart as Helm installs, upgrades and uninstalls it on a real control plane."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.settings import merged
from tests.cluster.api import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installation import Installation
from tests.cluster.site import Site
from tests.deploy.features import config, with_minimal
from tests.deploy.helm_program import HelmError


@pytest.fixture
def installation(plane: ControlPlane, site: Site, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(plane, site, tmp_path)
    yield made
    if made.objects():
        made.run("uninstall")


def test_an_installation_upgrades_and_leaves_nothing(installation: Installation) -> None:
    first = merged(installation.of_teams(1), {"database": {"volume": {"keep": False}}})
    assert "serves 1 team" in installation.run("install", first)
    assert installation.objects() == installation.rendered(first)
    wait_for(installation.pods, "a pod, which the namespace's Pod Security level admits")
    one, other = installation.teams
    create = ("create", "batch", "jobs")
    wait_for(lambda: installation.may(*create, one), "the team's rights")
    assert not installation.may(*create, other)
    assert not installation.may(*create, installation.namespace)

    second = merged(installation.of_teams(2), {"database": {"type": "postgresql"}})
    assert "(2 bots) serves 2 teams" in installation.run("upgrade", second)
    assert installation.objects() == installation.rendered(second)
    wait_for(lambda: installation.may(*create, other), "the rights of the second team")

    installation.run("uninstall")
    wait_for(lambda: not installation.objects(), "the end of all that was installed")
    wait_for(lambda: not installation.may(*create, one), "the end of the team's rights")


def test_the_database_outlives_an_uninstallation(installation: Installation) -> None:
    installation.run("install", installation.of_teams(1))
    installation.run("uninstall")
    volume = {("persistentvolumeclaims", installation.namespace, installation.account)}
    wait_for(lambda: installation.objects() == volume, "the end of all but the database")
    # The same release takes it back.
    installation.run("install", installation.of_teams(1))
    assert installation.objects() == installation.rendered(installation.of_teams(1))


def test_plain_manifests_can_become_a_release(installation: Installation) -> None:
    values = installation.of_teams(1)
    installation.apply_plainly(values)
    with pytest.raises(HelmError, match="cannot be imported into the current release"):
        installation.run("install", values)
    said = installation.run("install", values, "--take-ownership", "--server-side=false")
    assert "serves 1 team" in said
    more = installation.of_teams(2)
    installation.run("upgrade", more)
    assert installation.objects() == installation.rendered(more)


def test_everything_at_once_is_accepted(installation: Installation, site: Site) -> None:
    datasets, trident = site.add_namespace(), site.add_namespace()
    values = with_minimal(
        installation.of_teams(2),
        config(
            datasets={"namespace": datasets},
            anf={"trident_namespace": trident},
            slack={"transport": "http"},
            clusters={"default": {"ingress": {"host": "*.ml.example.com"}}},
        ),
        {"rights": {"trident": True, "deployments": True}},
        {"http": {"ingress": {"enabled": True, "host": "qm.example.com"}}},
        {"networkPolicy": {"egress": [{"ports": [{"protocol": "TCP", "port": 443}]}]}},
    )
    del values["config"]["teams"]["team-a"]
    installation.run("install", values)
    assert installation.objects() == installation.rendered(values)
    patch = ("patch", "trident.netapp.io", "tridentvolumes")
    wait_for(lambda: installation.may(*patch, trident), "the rights in Trident's namespace")
    assert installation.may("create", "", "persistentvolumes", "")


def test_a_missing_namespace_is_named(installation: Installation) -> None:
    values = merged(installation.of_teams(1), config(datasets={"namespace": "not-there"}))
    with pytest.raises(HelmError, match='namespaces "not-there" not found'):
        installation.run("install", values)
