"""The control plane itself: what the other tests stand on."""

from functools import partial

import pytest

from playground.cluster.story import GPU, training_job
from tests.cluster.api import Api, ApiError, Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kwok import POD_ENDS, POD_EXIT_CODE, POD_SECONDS
from tests.cluster.site import JOBS, WORKLOADS, Site

VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"


def saying(body: Object, **said: str) -> Object:
    """A Job whose pods live as told."""
    metadata = body["spec"]["template"].setdefault("metadata", {})
    metadata["annotations"] = said
    return body


def pod_of(site: Site, namespace: str) -> Object:
    pods: list[Object] = wait_for(lambda: site.api.list("pods", namespace), "a pod")
    return pods[0]


def state_of(site: Site, namespace: str) -> tuple[str, Object]:
    """The phase of a namespace's only pod, and its container's state."""
    pods = site.api.list("pods", namespace)
    if not pods or not pods[0]["status"].get("containerStatuses"):
        return "", {}
    status = pods[0]["status"]
    return status["phase"], status["containerStatuses"][0]["state"]


def test_stories_job_is_accepted_strictly(site: Site) -> None:
    namespace = site.add_namespace()
    body = training_job("lane", 1, suspend=True)
    made = site.api.create(JOBS, body, namespace, dryRun="All", fieldValidation="Strict")
    assert made["spec"]["suspend"]


@pytest.mark.usefixtures("gpus")
def test_nodes_offer_their_gpus(plane: ControlPlane) -> None:
    nodes = {each["metadata"]["name"]: each for each in plane.api.list("nodes")}
    assert sorted(nodes) == ["gpu-1", "gpu-2"]
    assert [each["status"]["allocatable"][GPU] for each in nodes.values()] == ["8", "8"]


@pytest.mark.usefixtures("gpus")
def test_queued_job_is_admitted_and_succeeds(site: Site) -> None:
    team = site.add_team("4")
    site.job(team, training_job("lane", 2, queue=team, suspend=True))
    wait_for(lambda: site.condition(JOBS, "lane", team, "Complete"), "the end of the Job")
    (workload,) = site.api.list(WORKLOADS, team)
    name = workload["metadata"]["name"]
    wait_for(lambda: site.condition(WORKLOADS, name, team, "Finished"), "the Workload's end")
    phase, state = state_of(site, team)
    assert (phase, state["terminated"]["exitCode"]) == ("Succeeded", 0)


@pytest.mark.usefixtures("gpus")
def test_what_waits_has_its_place_in_the_queue(plane: ControlPlane, site: Site) -> None:
    team = site.add_team("4")
    for name in ("first", "second"):
        site.job(team, training_job(name, 16, queue=team, suspend=True))
        wait_for(partial(_waits, plane, team, name), f"{name} in the queue")
    answer = plane.api.ask("GET", f"{VISIBILITY}/clusterqueues/{team}/pendingworkloads")
    assert [each["positionInClusterQueue"] for each in answer["items"]] == [0, 1]


def _waits(plane: ControlPlane, team: str, name: str) -> bool:
    answer = plane.api.ask("GET", f"{VISIBILITY}/clusterqueues/{team}/pendingworkloads")
    return any(f"job-{name}-" in each["metadata"]["name"] for each in answer["items"])


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("said", "phase", "end"),
    [
        ({POD_ENDS: "failed", POD_EXIT_CODE: "3"}, "Failed", (3, "Error")),
        ({POD_ENDS: "oom"}, "Failed", (137, "OOMKilled")),
    ],
)
def test_pods_end_as_they_are_told(
    site: Site, said: dict[str, str], phase: str, end: tuple[int, str]
) -> None:
    team = site.add_team("4")
    site.job(team, saying(training_job("lane", 1, queue=team, backoffLimit=0), **said))
    wait_for(lambda: site.condition(JOBS, "lane", team, "Failed"), "the failure of the Job")
    seen, state = state_of(site, team)
    ended = state["terminated"]
    assert (seen, (ended["exitCode"], ended["reason"])) == (phase, end)


@pytest.mark.usefixtures("gpus")
def test_pod_without_its_image_keeps_waiting(site: Site) -> None:
    team = site.add_team("4")
    site.job(team, saying(training_job("lane", 1, queue=team), **{POD_ENDS: "no-image"}))
    reason = wait_for(
        lambda: state_of(site, team)[1].get("waiting", {}).get("reason") == "ImagePullBackOff"
    )
    assert reason


@pytest.mark.usefixtures("gpus")
def test_pods_log_what_they_are_told(plane: ControlPlane, site: Site) -> None:
    team = site.add_team("4")
    plane.kwok.says(team, "epoch 1 of 3", "epoch 2 of 3")
    site.job(team, saying(training_job("lane", 1, queue=team), **{POD_SECONDS: "1h"}))
    wait_for(lambda: state_of(site, team)[0] == "Running", "the running pod")
    name = pod_of(site, team)["metadata"]["name"]
    path = f"/api/v1/namespaces/{team}/pods/{name}/log"
    assert wait_for(lambda: _log(plane.api, path), "the log") == "epoch 1 of 3\nepoch 2 of 3\n"
    plane.kwok.says(team, "epoch 3 of 3")
    assert plane.api.text(path, tailLines=1) == "epoch 3 of 3\n"


def _log(api: Api, path: str) -> str:
    """What a pod said; empty while KWOK has not heard of the log."""
    try:
        return api.text(path)
    except ApiError:
        return ""


@pytest.mark.usefixtures("gpus")
def test_preempted_pods_are_gone_and_come_back(site: Site) -> None:
    team = site.add_team("4")
    site.job(team, saying(training_job("low", 4, queue=team), **{POD_SECONDS: "1h"}))
    wait_for(lambda: state_of(site, team)[0] == "Running", "the running pod")
    first = pod_of(site, team)["metadata"]["uid"]
    (workload,) = site.api.list(WORKLOADS, team)
    name = workload["metadata"]["name"]
    site.api.patch(WORKLOADS, name, {"spec": {"active": False}}, team)
    wait_for(lambda: not site.api.list("pods", team), "the end of the pod")
    site.api.patch(WORKLOADS, name, {"spec": {"active": True}}, team)
    wait_for(lambda: state_of(site, team)[0] == "Running", "the pod that came back")
    assert pod_of(site, team)["metadata"]["uid"] != first


def test_claims_are_bound_and_removed(plane: ControlPlane, site: Site) -> None:
    namespace = site.add_namespace()
    site.add_claim(namespace, "data", "100Gi")
    claim = plane.api.get("persistentvolumeclaims", "data", namespace)
    assert claim is not None
    volume = claim["spec"]["volumeName"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    plane.api.delete("persistentvolumeclaims", "data", namespace)
    wait_for(lambda: plane.api.get("persistentvolumes", volume) is None, "the volume's end")


def test_the_bot_may_do_what_its_roles_say(plane: ControlPlane, site: Site) -> None:
    team = site.add_namespace()
    with Api.to(plane.bot_kubeconfig) as bot:
        assert bot.list("nodes") is not None
        with pytest.raises(ApiError) as caught:
            bot.create("jobs.batch", training_job("lane", 1), team)
    assert caught.value.status == 403
    asked = [(each.verb, each.resource, each.status) for each in plane.audited()]
    assert ("create", "jobs", 403) in asked
    assert ("list", "nodes", 200) in asked


def test_an_api_server_that_returns_knows_everything(plane: ControlPlane, site: Site) -> None:
    name = site.add_namespace()
    plane.stop_api_server()
    plane.start_api_server()
    assert site.api.get("namespaces", name) is not None
