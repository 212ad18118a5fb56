"""The official Python client and kubectl against the cluster."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from playground.cluster.story import training_job
from tests.playground.cluster.served import BOT_TOKEN, Served

KUBECTL = shutil.which("kubectl")


@pytest.fixture
def api(served: Served, tmp_path: Path) -> Any:
    path = tmp_path / "kubeconfig"
    served.cluster.write_kubeconfig(path, BOT_TOKEN)
    load: Any = config.new_client_from_config
    return load(str(path))


@pytest.fixture
def kubectl(served: Served, tmp_path: Path) -> Any:
    if KUBECTL is None:
        pytest.skip("no kubectl here")
    served.cluster.let_kubectl_in()
    path = tmp_path / "kubeconfig"
    served.cluster.write_kubeconfig(path)

    def run(*words: str, text: str = "") -> str:
        command = [str(KUBECTL), "--kubeconfig", str(path), "--cache-dir", str(tmp_path), *words]
        done = subprocess.run(command, capture_output=True, text=True, input=text, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_official_client_runs_a_job(served: Served, api: Any) -> None:
    batch: Any = client.BatchV1Api(api)
    core: Any = client.CoreV1Api(api)
    made = batch.create_namespaced_job("team-a", training_job("lane", 1, "team-a"))
    assert made.spec.suspend is True
    served.pass_time(60)
    (pod,) = core.list_namespaced_pod("team-a", label_selector="job-name=lane").items
    assert pod.status.phase == "Running"
    log = core.read_namespaced_pod_log(pod.metadata.name, "team-a", tail_lines=1)
    assert "epoch 1/3" in log
    served.pass_time(200)
    job = batch.read_namespaced_job("lane", "team-a")
    assert [c.type for c in job.status.conditions] == [
        "Suspended",
        "SuccessCriteriaMet",
        "Complete",
    ]


def test_official_client_reads_every_kind(served: Served, api: Any) -> None:
    served.post("/apis/batch/v1/namespaces/team-a/jobs", training_job("lane", 1))
    core: Any = client.CoreV1Api(api)
    assert [node.metadata.name for node in core.list_node().items] == ["gpu-1", "gpu-2"]
    assert len(core.list_namespace().items) == 5
    assert len(core.list_namespaced_event("team-a").items) > 0
    claims = core.list_persistent_volume_claim_for_all_namespaces().items
    assert len(core.list_persistent_volume().items) == len(claims) > 0
    assert len(core.list_namespaced_service_account("team-a").items) == 2
    assert client.VersionApi(api).get_code().git_version == "v1.36.0"


def test_official_client_sees_refusals_as_exceptions(served: Served, api: Any) -> None:
    del served
    with pytest.raises(ApiException) as told:
        client.BatchV1Api(api).read_namespaced_job("nothing", "team-a")
    assert told.value.status == 404


def test_official_client_patches_custom_objects(served: Served, api: Any) -> None:
    custom: Any = client.CustomObjectsApi(api)
    body = [{"op": "replace", "path": "/spec/stopPolicy", "value": "Hold"}]
    custom.patch_cluster_custom_object(
        "kueue.x-k8s.io",
        "v1beta2",
        "clusterqueues",
        "team-a",
        body,
        _content_type="application/json-patch+json",
    )
    queue = served.cluster.get("clusterqueues", "team-a")
    assert queue is not None
    assert queue["spec"]["stopPolicy"] == "Hold"


def test_kubectl_prints_pods_and_jobs(served: Served, kubectl: Any) -> None:
    served.post("/apis/batch/v1/namespaces/team-a/jobs", training_job("lane", 1, "team-a"))
    served.pass_time(5)
    (row,) = [line.split() for line in kubectl("get", "pods", "-A").splitlines()[1:]]
    assert (row[0], row[2:5]) == ("team-a", ["1/1", "Running", "0"])
    (row,) = [line.split() for line in kubectl("get", "jobs", "-n", "team-a").splitlines()[1:]]
    assert row[:3] == ["lane", "Running", "0/1"]


def test_kubectl_describes_a_job_with_events(served: Served, kubectl: Any) -> None:
    served.post("/apis/batch/v1/namespaces/team-a/jobs", training_job("lane", 1, "team-a"))
    served.pass_time(5)
    told = kubectl("describe", "job", "lane", "-n", "team-a")
    # Each version of kubectl says it in other words.
    assert re.search(r"Pods Statuses: +1 (Running|Active)[^/]* / 0 Succeeded / 0 Failed", told)
    assert "Created pod: lane-" in told


def test_kubectl_applies_and_deletes(served: Served, kubectl: Any) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: team-a}\ndata: {a: b}"
    kubectl("apply", "--validate=false", "--server-side", "-f", "-", text=text)
    found = served.cluster.get("configmaps", "x", "team-a")
    assert found is not None
    assert found["data"] == {"a": "b"}
    kubectl("delete", "configmap", "x", "-n", "team-a")
    assert served.cluster.get("configmaps", "x", "team-a") is None
