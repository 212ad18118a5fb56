"""Objects of the chart for other operators, as a real API server checks them."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import ApiError, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.deploy import operators
from tests.deploy.features import SETS
from tests.deploy.helm_program import Helm, kept
from tests.deploy.test_chart_objects import OF_OPERATORS

KINDS = {"ExternalSecret", "HTTPRoute", "PrometheusRule", "ServiceMonitor"}


@pytest.fixture
def helm(plane: ControlPlane, site: Site, tmp_path: Path) -> Helm:
    """Helm, beside a cluster that serves the operators' kinds."""
    program, definitions = kept(), operators.definitions()
    if program is None or not definitions:
        pytest.skip("Helm or the definitions are not here; `make test-cluster` gets them")
    for each in definitions:
        site.add("customresourcedefinitions.apiextensions.k8s.io", each)
        name = each["metadata"]["name"]
        wait_for(partial(plane.api.serves, name), f"the resource {name}")
    return Helm(program, tmp_path)


def of_operators(helm: Helm, namespace: str) -> list[dict[str, Any]]:
    """What all sets of features make for operators."""
    return [
        each
        for values in SETS.values()
        for each in helm.objects(values, namespace=namespace)
        if each["apiVersion"] in OF_OPERATORS
    ]


def test_objects_for_operators_are_accepted(helm: Helm, plane: ControlPlane, site: Site) -> None:
    objects = of_operators(helm, site.add_namespace())
    assert {each["kind"] for each in objects} == KINDS
    for each in objects:
        plane.api.apply(each)


def test_unknown_fields_for_operators_are_refused(
    helm: Helm, plane: ControlPlane, site: Site
) -> None:
    for each in of_operators(helm, site.add_namespace()):
        each["spec"]["wrong"] = "field"
        with pytest.raises(ApiError, match=r"spec\.wrong"):
            plane.api.apply(each)
