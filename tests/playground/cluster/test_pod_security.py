"""Pods obey the level of their namespace, in the words of the real admission.

pod_security.json holds what k8s.io/pod-security-admission v0.36.3 says of each spec.
"""

import json
from pathlib import Path

import pytest

from playground.cluster.objects.pod_security import violations
from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, PODS, Object, Served, pod, refusal

SPACE = "/api/v1/namespaces/team-a"
REAL = json.loads((Path(__file__).parent / "pod_security.json").read_text(encoding="utf-8"))
EVENTS = "/api/v1/namespaces/team-a/events"
SAYS = (
    'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true), privileged'
    ' (container "main" must not set securityContext.privileged=true)'
)


def label(served: Served, **levels: str) -> None:
    labels = {f"pod-security.kubernetes.io/{mode}": level for mode, level in levels.items()}
    assert served.patch(SPACE, {"metadata": {"labels": labels}}).status_code == 200


def privileged() -> Object:
    made = pod("main", hostNetwork=True)
    made["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return made


@pytest.mark.parametrize("case", REAL)
def test_levels_refuse_in_the_real_words(case: Object) -> None:
    assert violations(case["level"], case["spec"]) == case["refusal"]


def test_a_pod_that_breaks_its_level_is_refused(served: Served) -> None:
    label(served, enforce="baseline")
    assert refusal(served.admin.post(PODS, json=privileged())) == (
        403,
        "Forbidden",
        f'pods "main" is forbidden: {SAYS}',
    )
    assert served.admin.post(PODS, json=pod("other")).status_code == 201


def test_namespaces_without_a_level_take_any_pod(served: Served) -> None:
    response = served.admin.post(PODS, json=privileged())
    assert (response.status_code, response.headers.get("warning")) == (201, None)


def test_a_job_is_taken_and_its_pods_refused(served: Served) -> None:
    label(served, enforce="restricted")
    response = served.admin.post(JOBS, json=training_job("lane", 1))
    assert response.status_code == 201
    assert response.headers["warning"].startswith(
        r'299 - "would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false'
    )
    served.pass_time(60)
    assert served.pods() == []
    warnings = [each for each in served.get(EVENTS)["items"] if each["reason"] == "FailedCreate"]
    assert 'violates PodSecurity "restricted:latest"' in warnings[0]["message"]


def test_warnings_alone_refuse_nothing(served: Served) -> None:
    label(served, warn="restricted")
    response = served.admin.post(PODS, json=privileged())
    assert response.status_code == 201
    assert "would violate PodSecurity" in response.headers["warning"]


def test_levels_that_do_not_exist_are_refused(served: Served) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "strict"}
    response = served.patch(SPACE, {"metadata": {"labels": labels}})
    assert refusal(response)[2].endswith(
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one'
        " of privileged, baseline, restricted"
    )
