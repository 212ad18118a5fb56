from datetime import datetime, timedelta

from playground.cluster.control.training import Line, Training
from playground.cluster.story import NODE_RESOURCES, add_node, training_job
from tests.playground.cluster.served import JOBS, PODS, Object, Served, conditions, pod, refusal

SECRETS = "/api/v1/namespaces/team-a/secrets"


def state(served: Served, name: str = "one") -> Object:
    found = served.cluster.get("pods", name, "team-a")
    assert found is not None
    shown: Object = found["status"]["containerStatuses"][0]["state"]
    return shown


def with_secret(key: str = "token", name: str = "wandb") -> Object:
    body = pod("one")
    source = {"secretKeyRef": {"name": name, "key": key}}
    body["spec"]["containers"][0]["env"] = [{"name": "WANDB_API_KEY", "valueFrom": source}]
    return body


def log_of(served: Served, name: str = "one", **params: str) -> str:
    return served.admin.get(f"{PODS}/{name}/log", params=params).text


def test_pod_moves_from_creating_to_running(served: Served) -> None:
    served.post(PODS, pod("one"))
    assert state(served) == {"waiting": {"reason": "ContainerCreating"}}
    served.pass_time(4)
    assert list(state(served)) == ["running"]
    fields = "involvedObject.name=one"
    events = served.get("/api/v1/namespaces/team-a/events", fieldSelector=fields)["items"]
    reasons = {event["reason"] for event in events}
    assert reasons == {"Scheduled", "Pulling", "Pulled", "Created", "Started"}


def test_pod_without_room_says_what_is_missing(served: Served) -> None:
    served.post(JOBS, training_job("lane", 12))
    assert conditions(served.pods()[0])["PodScheduled"] == (
        "False",
        "Unschedulable",
        (
            "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are "
            "available: 2 No preemption victims found for incoming pod."
        ),
    )


def test_waiting_pod_is_bound_when_room_appears(served: Served) -> None:
    served.post(JOBS, training_job("lane", 16))
    add_node(served.cluster, "big-1", {**NODE_RESOURCES, "nvidia.com/gpu": "16"}, {})
    assert served.pods()[0]["spec"]["nodeName"] == "big-1"


def test_waiting_pod_is_bound_when_another_ends(served: Served) -> None:
    for name in ("one", "two"):
        served.post(JOBS, training_job(name, 8))
    served.post(JOBS, training_job("lane", 8))
    assert "nodeName" not in served.pods()[0]["spec"]
    served.pass_time(200)
    assert served.pods()[0]["spec"]["nodeName"] == "gpu-1"


def test_node_selector_and_taints_are_respected(served: Served) -> None:
    taint = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}
    served.cluster.patch("nodes", "gpu-1", {"spec": {"taints": [taint]}})
    served.post(PODS, pod("one", nodeSelector={"kubernetes.io/hostname": "gpu-1"}))
    found = served.get(f"{PODS}/one")
    message = conditions(found)["PodScheduled"][2]
    assert message.startswith(
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s). "
    )


def test_node_is_chosen_by_its_name(served: Served) -> None:
    for number, node in enumerate(("gpu-2", "gpu-1")):
        named = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [named]}]}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        served.post(PODS, pod(f"pod-{number}", affinity={"nodeAffinity": rule}))
        assert served.get(f"{PODS}/pod-{number}")["spec"]["nodeName"] == node


def test_missing_claim_keeps_a_pod_pending(served: Served) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "nothing"}}]
    served.post(PODS, pod("one", volumes=volumes))
    message = conditions(served.get(f"{PODS}/one"))["PodScheduled"][2]
    assert message.startswith(
        '0/2 nodes are available: persistentvolumeclaim "nothing" not found. '
    )
    claim = {
        "metadata": {"name": "nothing"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    served.post("/api/v1/namespaces/team-a/persistentvolumeclaims", claim)
    assert "nodeName" in served.get(f"{PODS}/one")["spec"]


def test_missing_image_backs_off_until_published(served: Served) -> None:
    served.cluster.miss_image("busybox:1")
    served.post(PODS, pod("one"))
    served.pass_time(4)
    assert state(served)["waiting"]["reason"] == "ErrImagePull"
    served.pass_time(61)
    assert state(served)["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "busybox:1": ErrImagePull: failed to resolve reference '
        '"busybox:1": busybox:1: not found',
    }
    assert served.cluster.next_event() is None
    served.cluster.publish_image("busybox:1")
    assert list(state(served)) == ["running"]


def test_missing_secret_stops_container_creation(served: Served) -> None:
    served.post(PODS, with_secret(name="nothing"))
    served.pass_time(4)
    assert state(served)["waiting"] == {
        "reason": "CreateContainerConfigError",
        "message": 'secret "nothing" not found',
    }
    served.post(SECRETS, {"metadata": {"name": "nothing"}, "stringData": {"token": "x"}})
    assert list(state(served)) == ["running"]


def test_missing_key_of_a_secret_is_named(served: Served) -> None:
    served.post(PODS, with_secret(key="absent"))
    served.pass_time(4)
    assert state(served)["waiting"]["message"] == "couldn't find key absent in Secret team-a/wandb"


def test_out_of_memory_ends_with_137(served: Served) -> None:
    served.cluster.behaviours["busybox"] = Training(fails_after=30, out_of_memory=True)
    served.post(PODS, pod("one", restartPolicy="Never"))
    served.pass_time(40)
    ended = state(served)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")
    assert served.get(f"{PODS}/one")["status"]["phase"] == "Failed"


def test_failing_container_restarts_and_backs_off(served: Served) -> None:
    served.cluster.behaviours["busybox"] = Training(fails_after=5)
    served.post(PODS, pod("one", restartPolicy="OnFailure"))
    served.pass_time(9)
    assert state(served)["waiting"]["reason"] == "CrashLoopBackOff"
    served.pass_time(11)
    row = served.get(f"{PODS}/one")["status"]["containerStatuses"][0]
    assert row["restartCount"] == 1
    assert row["lastState"]["terminated"]["exitCode"] == 1
    assert "exit code 1" in log_of(served, previous="true")


def test_log_of_a_starting_container_is_refused(served: Served) -> None:
    served.post(PODS, pod("one"))
    assert refusal(served.admin.get(f"{PODS}/one/log")) == (
        400,
        "BadRequest",
        'container "main" in pod "one" is waiting to start: ContainerCreating',
    )


def test_log_of_an_unpullable_image_says_so(served: Served) -> None:
    served.cluster.miss_image("busybox:1")
    served.post(PODS, pod("one"))
    served.pass_time(90)
    assert refusal(served.admin.get(f"{PODS}/one/log"))[2] == (
        'container "main" in pod "one" is waiting to start: trying and failing to pull image'
    )


def test_log_of_unknown_container_is_refused(served: Served) -> None:
    served.post(PODS, pod("one"))
    answer = served.admin.get(f"{PODS}/one/log", params={"container": "x"})
    assert refusal(answer)[2] == "container x is not valid for pod one"


def test_training_log_tells_believable_progress(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    name = served.pods()[0]["metadata"]["name"]
    served.pass_time(60)
    early = log_of(served, name)
    assert "Loading dataset from /data" in early
    assert "epoch 1/3 step 40/400 loss " in early
    assert "epoch 2/3" not in early
    served.pass_time(200)
    assert log_of(served, name).splitlines()[-1].endswith("Total images/sec: 812.4")


def test_log_options_cut_the_log(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    name = served.pods()[0]["metadata"]["name"]
    served.pass_time(300)
    whole = log_of(served, name)
    assert log_of(served, name, tailLines="2") == "".join(whole.splitlines(keepends=True)[-2:])
    assert log_of(served, name, limitBytes="10") == whole[:10]
    assert log_of(served, name, sinceSeconds="1") == ""
    stamped = log_of(served, name, tailLines="1", timestamps="true")
    assert stamped[10] == "T"
    assert stamped.partition(" ")[2] == whole.splitlines(keepends=True)[-1]


def test_a_log_is_limited_from_its_start(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    name = served.pods()[0]["metadata"]["name"]
    served.pass_time(300)
    tail = log_of(served, name, tailLines="5")
    assert log_of(served, name, tailLines="5", limitBytes="30") == tail[:30]


def test_a_kubelet_hands_out_the_newest_file(served: Served) -> None:
    def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
        seconds = int((until - started).total_seconds())
        return [(started + timedelta(seconds=n), f"{n} " + "x" * 900_000) for n in range(seconds)]

    served.cluster.behaviours["one"] = Training(never_ends=True, log=log)
    served.post(PODS, pod("one"))
    served.pass_time(4 + 10)
    assert log_of(served)[:2] == "0 "
    served.pass_time(4)
    # It was looked at when it had 9 MB, and is again when it has 18.
    assert log_of(served)[:2] == "0 "
    served.pass_time(8)
    begun = log_of(served, tailLines="100000")
    assert int(begun.split()[0]) in {20, 21}
    assert log_of(served, container="main", sinceSeconds="3600") == begun


def test_log_options_that_cannot_be_are_refused(served: Served) -> None:
    served.post(PODS, pod("one"))
    answers = [
        refusal(served.admin.get(f"{PODS}/one/log", params=params))
        for params in ({"limitBytes": "0"}, {"tailLines": "-1"}, {"sinceSeconds": "0"})
    ]
    assert answers == [
        (422, "Invalid", f'PodLogOptions "one" is invalid: {words}')
        for words in (
            "limitBytes: Invalid value: 0: must be greater than 0",
            "tailLines: Invalid value: -1: must be greater than or equal to 0",
            "sinceSeconds: Invalid value: 0: must be greater than 0",
        )
    ]


def test_a_line_without_end_is_cut_into_records(served: Served) -> None:
    served.cluster.behaviours["busybox"] = Training(
        fails_after=20,
        log=lambda _training, started, _until: [
            (started, "x" * 40_000 + "\r"),
            (started, "the end"),
            (started, "y" * 20_000 + "\r"),
        ],
    )
    body = pod("one")
    body["spec"]["restartPolicy"] = "Never"
    served.post(PODS, body)
    served.pass_time(5)
    known = "x" * 40_000 + "\rthe end\n" + "y" * 16_384
    assert log_of(served) == known
    assert log_of(served, tailLines="2") == known[2 * 16_384 :]
    served.pass_time(30)
    assert log_of(served) == known + "y" * (20_000 - 16_384) + "\r"


def test_of_several_containers_one_must_be_named(served: Served) -> None:
    body = pod("one")
    body["spec"]["containers"].insert(0, {"name": "proxy", "image": "istio/proxyv2:1"})
    served.post(PODS, body)
    served.pass_time(5)
    assert refusal(served.admin.get(f"{PODS}/one/log")) == (
        400,
        "BadRequest",
        "a container name must be specified for pod one, choose one of: [proxy main]",
    )
    found = served.cluster.get("pods", "one", "team-a")
    assert found is not None
    statuses = [row["name"] for row in found["status"]["containerStatuses"]]
    assert statuses == ["main", "proxy"]


def test_own_log_replaces_the_usual_one(served: Served) -> None:
    served.cluster.behaviours["busybox"] = Training(
        never_ends=True, log=lambda _training, started, _until: [(started, "hello")]
    )
    served.post(PODS, pod("one"))
    served.pass_time(5)
    assert log_of(served) == "hello\n"


def test_drained_node_loses_its_pods(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    served.pass_time(5)
    served.cluster.drain("gpu-1")
    assert conditions(served.pods()[0])["DisruptionTarget"][1] == "EvictionByEvictionAPI"
    served.pass_time(15)
    assert [found["spec"]["nodeName"] for found in served.pods()] == ["gpu-2"]
