"""A release of the chart on a real control plane, in namespaces of its own or in given ones."""

import secrets
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.deploy.features import MINIMAL
from tests.deploy.helm_program import CHART, Helm, kept

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
        self.account = f"{self.release}-quartermaster"
        self.user = f"system:serviceaccount:{self.namespace}:{self.account}"
        self.teams = [site.add_namespace() for _ in range(2)]

    def of_teams(self, count: int) -> dict[str, Any]:
        """Values with that many teams."""
        team = MINIMAL["config"]["teams"]["team-a"]
        teams = {
            f"team-{number}": {**team, "channels": [f"C012TEAM{number}"], "namespace": namespace}
            for number, namespace in enumerate(self.teams[:count])
        }
        return {"config": {"workspace": "T012ABCDEF", "teams": teams}}

    def run(self, verb: str, values: dict[str, Any] | None = None, *options: str) -> str:
        """What a command of Helm says about the release."""
        chart = () if values is None else (str(CHART),)
        place = (self.release, *chart, "-n", self.namespace)
        return self._helm.run(verb, *place, *options, values=values)

    def apply_plainly(self, values: dict[str, Any]) -> None:
        """Makes the objects of these values without Helm, as `kubectl apply` does."""
        for each in self._helm.objects(values, release=self.release, namespace=self.namespace):
            self.api.apply(each)

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
        names = {self.api.served(name).kind: name for name in _RESOURCES}
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
        asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        review = {"spec": {"user": self.user, "resourceAttributes": asked}}
        found = self.api.create("subjectaccessreviews.authorization.k8s.io", review)
        return bool(found["status"]["allowed"])
