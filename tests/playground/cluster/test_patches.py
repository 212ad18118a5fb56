from playground.cluster.story import training_job
from tests.playground.cluster.served import (
    APPLY,
    JOBS,
    JSON_PATCH,
    KUEUE,
    MAPS,
    PODS,
    STRATEGIC,
    Served,
    config_map,
    pod,
    refusal,
)

QUOTA = "/spec/resourceGroups/0/flavors/0/resources/2"
QUEUE = f"{KUEUE}/clusterqueues/team-a"


def test_merge_patch_sets_and_removes(served: Served) -> None:
    served.post(MAPS, config_map("settings", a="1", b="2"))
    changed = served.patch(f"{MAPS}/settings", {"data": {"a": None, "c": "3"}}).json()
    assert changed["data"] == {"b": "2", "c": "3"}


def test_strategic_patch_merges_lists_by_key(served: Served) -> None:
    served.post(PODS, pod("one"))
    change = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
    changed = served.patch(f"{PODS}/one", change, STRATEGIC).json()
    container = changed["spec"]["containers"][0]
    assert (container["image"], container["command"]) == ("busybox:2", ["sleep", "infinity"])


def test_strategic_patch_is_unsupported_for_custom_objects(served: Served) -> None:
    answer = served.patch(QUEUE, {"spec": {}}, STRATEGIC)
    assert answer.status_code == 415
    assert answer.json()["reason"] == "UnsupportedMediaType"


def test_json_patch_changes_quota_behind_tests(served: Served) -> None:
    answer = served.patch(
        QUEUE,
        [
            {"op": "test", "path": f"{QUOTA}/name", "value": "nvidia.com/gpu"},
            {"op": "test", "path": f"{QUOTA}/nominalQuota", "value": "4"},
            {"op": "replace", "path": f"{QUOTA}/nominalQuota", "value": "12"},
        ],
        JSON_PATCH,
    )
    row = answer.json()["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]
    assert row == {"name": "nvidia.com/gpu", "nominalQuota": "12"}


def test_json_patch_with_failing_test_changes_nothing(served: Served) -> None:
    operations = [
        {"op": "replace", "path": f"{QUOTA}/nominalQuota", "value": "12"},
        {"op": "test", "path": f"{QUOTA}/name", "value": "cpu"},
    ]
    answer = served.patch(QUEUE, operations, JSON_PATCH)
    assert refusal(answer) == (
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )
    row = served.get(QUEUE)["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]
    assert row["nominalQuota"] == "4"


def test_json_patch_cannot_add_below_missing_map(served: Served) -> None:
    path = "/metadata/annotations/quartermaster.dev~1override"
    answer = served.patch(QUEUE, [{"op": "add", "path": path, "value": "x"}], JSON_PATCH)
    assert refusal(answer)[:2] == (422, "Invalid")


def test_json_patch_escapes_slashes_in_keys(served: Served) -> None:
    operations = [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/a.dev~1b", "value": "x"},
    ]
    changed = served.patch(QUEUE, operations, JSON_PATCH).json()
    assert changed["metadata"]["annotations"] == {"a.dev/b": "x"}


def test_unknown_patch_type_is_refused(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    answer = served.patch(f"{MAPS}/settings", {}, "text/plain")
    assert answer.status_code == 415


def test_apply_creates_then_updates(served: Served) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("settings", a="1")}
    first = served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="gitops")
    body["data"] = {"a": "2"}
    second = served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="gitops")
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["data"] == {"a": "2"}


def test_apply_conflicts_with_other_owner_unless_forced(served: Served) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("settings", a="1")}
    served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="gitops")
    body["data"] = {"a": "2"}
    refused = served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="hand")
    forced = served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="hand", force="true")
    assert refusal(refused) == (
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "gitops": .data.a',
    )
    assert forced.json()["data"] == {"a": "2"}


def test_apply_removes_what_it_no_longer_names(served: Served) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("settings", a="1", b="2")}
    served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="gitops")
    body["data"] = {"a": "1"}
    changed = served.patch(f"{MAPS}/settings", body, APPLY, fieldManager="gitops").json()
    assert changed["data"] == {"a": "1"}


def test_apply_needs_a_field_manager(served: Served) -> None:
    answer = served.patch(f"{MAPS}/settings", config_map("settings"), APPLY)
    assert answer.status_code == 422
    assert "fieldManager: Required value" in answer.json()["message"]


def test_patch_with_stale_version_conflicts(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1, suspend=True))
    answer = served.patch(f"{JOBS}/lane", {"metadata": {"resourceVersion": "1"}})
    assert refusal(answer)[:2] == (409, "Conflict")
