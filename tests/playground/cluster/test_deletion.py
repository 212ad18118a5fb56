from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, MAPS, PODS, Served, config_map, pod, refusal

SPACE = "/api/v1/namespaces/team-b"


def test_deletion_answers_with_a_success_status(served: Served) -> None:
    made = served.post(MAPS, config_map("settings"))
    body = served.admin.delete(f"{MAPS}/settings").json()
    uid = made["metadata"]["uid"]
    assert (body["kind"], body["status"]) == ("Status", "Success")
    assert body["details"] == {"name": "settings", "kind": "configmaps", "uid": uid}


def test_preconditions_protect_from_deleting_another(served: Served) -> None:
    made = served.post(MAPS, config_map("settings"))
    body = {"preconditions": {"uid": "somebody-else"}}
    answer = served.admin.request("DELETE", f"{MAPS}/settings", json=body)
    assert refusal(answer) == (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on configmaps "settings": Precondition failed: UID in '
            f"precondition: somebody-else, UID in object meta: {made['metadata']['uid']}"
        ),
    )


def test_running_pod_is_deleted_gracefully(served: Served) -> None:
    served.post(PODS, pod("one"))
    served.pass_time(5)
    answer = served.admin.delete(f"{PODS}/one").json()
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert served.get(f"{PODS}/one")["metadata"]["deletionTimestamp"]
    served.pass_time(3)
    assert served.admin.get(f"{PODS}/one").status_code == 404


def test_zero_grace_removes_a_pod_at_once(served: Served) -> None:
    served.post(PODS, pod("one"))
    served.pass_time(5)
    served.admin.request("DELETE", f"{PODS}/one", json={"gracePeriodSeconds": 0})
    assert served.admin.get(f"{PODS}/one").status_code == 404


def test_finalizer_keeps_an_object_until_taken_off(served: Served) -> None:
    body = {"metadata": {"name": "settings", "finalizers": ["example.com/hold"]}}
    served.post(MAPS, body)
    served.admin.delete(f"{MAPS}/settings")
    assert served.get(f"{MAPS}/settings")["metadata"]["deletionTimestamp"]
    served.patch(f"{MAPS}/settings", {"metadata": {"finalizers": None}})
    assert served.admin.get(f"{MAPS}/settings").status_code == 404


def test_job_deletion_orphans_pods_by_default(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    served.admin.delete(f"{JOBS}/lane")
    (left,) = served.pods()
    assert "ownerReferences" not in left["metadata"]
    assert "deletionTimestamp" not in left["metadata"]


def test_background_deletion_takes_pods_along(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    served.pass_time(5)
    served.admin.request("DELETE", f"{JOBS}/lane", json={"propagationPolicy": "Background"})
    assert served.admin.get(f"{JOBS}/lane").status_code == 404
    assert served.pods()[0]["metadata"]["deletionTimestamp"]
    served.pass_time(5)
    assert served.pods() == []


def test_foreground_deletion_waits_for_pods(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    served.pass_time(5)
    served.admin.request("DELETE", f"{JOBS}/lane", json={"propagationPolicy": "Foreground"})
    assert served.get(f"{JOBS}/lane")["metadata"]["finalizers"] == ["foregroundDeletion"]
    served.pass_time(5)
    assert served.admin.get(f"{JOBS}/lane").status_code == 404
    assert served.pods() == []


def test_object_of_a_dead_owner_is_collected(served: Served) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "dead"}
    served.post(MAPS, {"metadata": {"name": "child", "ownerReferences": [owner]}})
    assert served.admin.get(f"{MAPS}/child").status_code == 404


def test_collection_deletion_takes_what_is_selected(served: Served) -> None:
    for name, tier in (("one", "gold"), ("two", "iron")):
        served.post(MAPS, {"metadata": {"name": name, "labels": {"tier": tier}}})
    served.admin.delete(MAPS, params={"labelSelector": "tier=gold"})
    assert served.names(MAPS) == ["kube-root-ca.crt", "two"]


def test_namespace_ends_in_the_background(served: Served) -> None:
    answer = served.admin.delete(SPACE).json()
    assert answer["status"]["phase"] == "Terminating"
    refused = served.admin.post(f"{SPACE}/configmaps", json=config_map("late"))
    assert refusal(refused) == (
        403,
        "Forbidden",
        (
            'configmaps "late" is forbidden: unable to create new content in namespace team-b '
            "because it is being terminated"
        ),
    )
    served.pass_time(3)
    assert served.admin.get(SPACE).status_code == 404
    assert served.admin.get(f"{SPACE}/secrets/wandb").status_code == 404


def test_namespace_waits_for_its_last_pod(served: Served) -> None:
    served.post(f"{SPACE}/pods", pod("one"))
    served.pass_time(5)
    served.admin.delete(SPACE)
    served.pass_time(1)
    assert served.get(SPACE)["status"]["phase"] == "Terminating"
    served.pass_time(5)
    assert served.admin.get(SPACE).status_code == 404
