"""Kubernetes' own objects, as an API server writes them."""

from datetime import UTC, datetime

import pytest

from bot.cluster.api.answers import decode
from bot.cluster.types.events import Event
from bot.cluster.types.objects import Job, Node, Pod


def test_a_pod_is_read_as_far_as_needed() -> None:
    pod = decode(
        b"""{"metadata": {"name": "lane-x", "creationTimestamp": "2026-11-21T05:00:00Z",
          "labels": {"quartermaster.dev/run": "018f", "acme.example/cost-centre": "7"},
          "annotations": {"quartermaster.dev/name": "lane#2", "acme.example/note": "long"}},
        "spec": {"nodeName": "n1", "volumes": [
          {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
          {"name": "scratch", "emptyDir": {}}]},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "main", "restartCount": 1,
          "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled",
            "finishedAt": "2026-11-21T05:10:00Z"}},
          "lastState": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}""",
        Pod,
        "Reading",
    )
    assert pod.metadata.creation_timestamp == datetime(2026, 11, 21, 5, tzinfo=UTC)
    assert pod.labels == {"quartermaster.dev/run": "018f"}
    assert pod.metadata.annotations == {"quartermaster.dev/name": "lane#2"}
    assert (pod.spec.node_name, pod.spec.claims) == ("n1", frozenset({"imagenet"}))
    state = pod.status.container_statuses[0].state
    assert state.terminated is not None
    assert (state.terminated.exit_code, state.terminated.reason) == (137, "OOMKilled")
    assert (state.running, state.waiting) == (None, None)
    last = pod.status.container_statuses[0].last_state
    assert last.waiting is not None
    assert last.waiting.reason == "CrashLoopBackOff"


def test_a_template_tells_what_its_pods_request() -> None:
    job = decode(
        b"""{"spec": {"template": {"spec": {"containers": [
          {"name": "main", "image": "lane:3.1",
           "resources": {"requests": {"cpu": "500m", "nvidia.com/gpu": "2"}}},
          {"name": "side", "resources": {}}]}}}}""",
        Job,
        "Reading",
    )
    pods = job.spec.template.spec
    assert pods.requested("nvidia.com/gpu") == 2
    assert pods.containers[0].resources.requests["cpu"].raw == "500m"


def test_a_node_tells_what_pods_may_use() -> None:
    node = decode(
        b"""{"metadata": {"name": "n1"}, "spec": {"unschedulable": true,
        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"nvidia.com/gpu": "8", "memory": "1056270332Ki"}}}""",
        Node,
        "Reading",
    )
    assert node.spec.unschedulable
    assert node.status.allocatable == {"nvidia.com/gpu": 8, "memory": 1056270332 * 1024}


@pytest.mark.parametrize(
    ("body", "minute"),
    [
        (b'{"lastTimestamp": "2026-11-21T05:01:00Z", "eventTime": null}', 1),
        (b'{"lastTimestamp": null, "eventTime": "2026-11-21T05:02:00.123456Z"}', 2),
        (b'{"series": {"count": 3, "lastObservedTime": "2026-11-21T05:03:00.000000Z"}}', 3),
        (b'{"metadata": {"creationTimestamp": "2026-11-21T05:04:00Z"}}', 4),
    ],
)
def test_an_event_happened_last_whichever_field_says_so(body: bytes, minute: int) -> None:
    seen = decode(body, Event, "Reading").last_seen
    assert seen is not None
    assert seen.minute == minute
