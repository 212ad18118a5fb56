"""Kubernetes and Kueue say to each write what the playground was told that they say."""

from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.playground.cluster.refusals import answer_to, cases, runtime


def test_real_answers_are_as_written_down(plane: ControlPlane, site: Site) -> None:
    site.add_namespace("team-a")
    plane.api.create("trainingruntimes.trainer.kubeflow.org", runtime(), "team-a")
    wanted = {case.says: case.answer for case in cases()}
    assert {case.says: answer_to(case, plane.api.client) for case in cases()} == wanted
