"""The chart as Helm installs, upgrades and uninstalls it on a real control plane."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.settings import merged
from tests.cluster.api import Api, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.deploy.features import MINIMAL, config, with_minimal
from tests.deploy.helm_program import CHART, Helm, HelmError, kept

Objects = set[tuple[str, str, str]]  # resource, namespace, name
_RBAC = "rbac.authorization.k8s.io"
_POLICIES = "admissionregistration.k8s.io"
_RESOURCES = (
    "serviceaccounts",
    f"clusterroles.{_RBAC}",
    f"clusterrolebindings.{_RBAC}",
    f"rolebindings.{_RBAC}",
    "configmaps",
    "persistentvolumeclaims",
    "deployments.apps",
    "services",
    "networkpolicies.networking.k8s.io",
    "ingresses.networking.k8s.io",
    "poddisruptionbudgets.policy",
    f"validatingadmissionpolicies.{_POLICIES}",
    f"validatingadmissionpolicybindings.{_POLICIES}",
)


class Installation:
    """A release in a namespace of its own, with the namespaces of its teams."""

    def __init__(self, plane: ControlPlane, site: Site, home: Path) -> None:
        program = kept()
        if program is None:
            pytest.skip("Helm is not here; `make test-cluster` builds it")
        self.api: Api = plane.api
        self._helm = Helm(program, home, plane.kubeconfig)
        self.release = f"chat-{secrets.token_hex(3)}"
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.namespace = site.add_namespace(labels=labels)
        self.teams = [site.add_namespace() for _ in range(2)]

    def of_teams(self, count: int) -> dict[str, Any]:
        """Values with that many teams."""
        team = MINIMAL["config"]["teams"]["team-a"]
        teams = {
            f"team-{number}": {**team, "channels": [f"C012TEAM{number}"], "namespace": namespace}
            for number, namespace in enumerate(self.teams[:count])
        }
        return {"config": {"workspace": "T012ABCDEF", "teams": teams}}

    def run(self, verb: str, values: dict[str, Any] | None = None) -> str:
        """What a command of Helm says about the release."""
        chart = () if values is None else (str(CHART),)
        return self._helm.run(verb, self.release, *chart, "-n", self.namespace, values=values)

    def objects(self) -> Objects:
        """What carries the label of the release."""
        selector = f"app.kubernetes.io/instance={self.release}"
        return {
            (resource, each["metadata"].get("namespace", ""), each["metadata"]["name"])
            for resource in _RESOURCES
            for each in self.api.list(resource, labelSelector=selector)
        }

    def rendered(self, values: dict[str, Any]) -> Objects:
        """What Helm has to have made of these values."""
        names = {served.kind: name for name in _RESOURCES if (served := self.api.served(name))}
        return {
            (names[o["kind"]], o["metadata"].get("namespace", ""), o["metadata"]["name"])
            for o in self._helm.objects(values, release=self.release, namespace=self.namespace)
        }

    def pods(self) -> list[dict[str, Any]]:
        """Its pods, with those on their way out."""
        selector = f"app.kubernetes.io/instance={self.release}"
        return self.api.list("pods", self.namespace, labelSelector=selector)

    def may(self, verb: str, group: str, resource: str, namespace: str) -> bool:
        """Whether its service account may do this."""
        user = f"system:serviceaccount:{self.namespace}:{self.release}-quartermaster"
        asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        review = {"spec": {"user": user, "resourceAttributes": asked}}
        found = self.api.create("subjectaccessreviews.authorization.k8s.io", review)
        return bool(found["status"]["allowed"])


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
    name = f"{installation.release}-quartermaster"
    volume = {("persistentvolumeclaims", installation.namespace, name)}
    wait_for(lambda: installation.objects() == volume, "the end of all but the database")
    # The same release takes it back.
    installation.run("install", installation.of_teams(1))
    assert installation.objects() == installation.rendered(installation.of_teams(1))


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
