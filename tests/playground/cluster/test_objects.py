import re

from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, MAPS, PODS, Served, config_map, pod, refusal


def test_created_object_gets_identity_and_version(served: Served) -> None:
    made = served.post(MAPS, config_map("settings", a="1"))
    metadata = made["metadata"]
    assert re.fullmatch(r"[0-9a-f-]{36}", metadata["uid"])
    assert metadata["resourceVersion"].isdigit()
    assert metadata["creationTimestamp"].endswith("Z")
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")


def test_generated_name_appends_five_letters(served: Served) -> None:
    made = served.post(MAPS, {"metadata": {"generateName": "settings-"}})
    assert re.fullmatch(r"settings-[a-z0-9]{5}", made["metadata"]["name"])


def test_missing_name_is_invalid(served: Served) -> None:
    answer = served.admin.post(MAPS, json={"metadata": {}})
    assert refusal(answer) == (
        422,
        "Invalid",
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    )


def test_name_in_capitals_is_invalid(served: Served) -> None:
    code, reason, message = refusal(served.admin.post(MAPS, json=config_map("Settings")))
    assert (code, reason) == (422, "Invalid")
    assert 'Invalid value: "Settings": a lowercase RFC 1123 subdomain' in message


def test_second_creation_says_already_exists(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    answer = served.admin.post(MAPS, json=config_map("settings"))
    assert refusal(answer) == (409, "AlreadyExists", 'configmaps "settings" already exists')


def test_absent_object_answers_not_found_status(served: Served) -> None:
    answer = served.admin.get(f"{JOBS}/nothing")
    assert refusal(answer) == (404, "NotFound", 'jobs.batch "nothing" not found')
    assert answer.json()["details"] == {"name": "nothing", "kind": "jobs", "group": "batch"}


def test_creation_in_missing_namespace_fails(served: Served) -> None:
    answer = served.admin.post(MAPS.replace("team-a", "team-z"), json=config_map("settings"))
    assert refusal(answer) == (404, "NotFound", 'namespaces "team-z" not found')


def test_replacing_with_old_version_conflicts(served: Served) -> None:
    old = served.post(MAPS, config_map("settings", a="1"))
    served.patch(f"{MAPS}/settings", {"data": {"a": "2"}})
    answer = served.admin.put(f"{MAPS}/settings", json=old)
    assert refusal(answer) == (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on configmaps "settings": the object has been modified; '
            "please apply your changes to the latest version and try again"
        ),
    )


def test_replacing_needs_the_name_of_the_url(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    answer = served.admin.put(f"{MAPS}/settings", json=config_map("other"))
    assert refusal(answer) == (
        400,
        "BadRequest",
        "the name of the object (other) does not match the name on the URL (settings)",
    )


def test_replacing_custom_object_needs_its_version(served: Served) -> None:
    queue = served.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-a")
    del queue["metadata"]["resourceVersion"]
    answer = served.admin.put("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-a", json=queue)
    assert answer.status_code == 422
    assert "must be specified for an update" in answer.json()["message"]


def test_unchanged_write_keeps_the_version(served: Served) -> None:
    made = served.post(MAPS, config_map("settings", a="1"))
    again = served.patch(f"{MAPS}/settings", {"data": {"a": "1"}}).json()
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_generation_counts_changes_of_spec_only(served: Served) -> None:
    served.cluster.switch_kueue(on=False)
    served.post(JOBS, training_job("lane", 1, suspend=True))
    labelled = served.patch(f"{JOBS}/lane", {"metadata": {"labels": {"a": "b"}}}).json()
    changed = served.patch(f"{JOBS}/lane", {"spec": {"parallelism": 2}}).json()
    assert labelled["metadata"]["generation"] == 1
    assert changed["metadata"]["generation"] == 2


def test_dry_run_answers_but_keeps_nothing(served: Served) -> None:
    made = served.post(MAPS, config_map("settings"), dryRun="All")
    assert made["metadata"]["uid"]
    assert served.admin.get(f"{MAPS}/settings").status_code == 404


def test_system_metadata_cannot_be_changed(served: Served) -> None:
    made = served.post(MAPS, config_map("settings"))
    change = {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}
    changed = served.patch(f"{MAPS}/settings", change).json()
    assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


def test_pod_spec_is_fixed_except_image(served: Served) -> None:
    served.post(PODS, pod("one"))
    containers = [{"name": "main", "image": "busybox:2"}]
    kind = "application/strategic-merge-patch+json"
    allowed = served.patch(f"{PODS}/one", {"spec": {"containers": containers}}, kind)
    added = served.patch(
        f"{PODS}/one", {"spec": {"containers": [{"name": "x", "image": "y"}]}}, kind
    )
    assert allowed.status_code == 200
    code, reason, message = refusal(added)
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(
        'Pod "one" is invalid: spec: Forbidden: pod updates may not change fields other than'
    )


def test_job_template_is_fixed_after_start(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    answer = served.patch(f"{JOBS}/lane", change)
    code, reason, message = refusal(answer)
    assert (code, reason) == (422, "Invalid")
    assert message.startswith('Job.batch "lane" is invalid: spec.template: Invalid value: {"')
    assert message.endswith("}: field is immutable")


def test_job_may_be_suspended_after_start(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    answer = served.patch(f"{JOBS}/lane", {"spec": {"suspend": True}})
    assert answer.json()["spec"]["suspend"] is True


def test_suspended_job_accepts_other_nodes(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1, suspend=True))
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    assert served.patch(f"{JOBS}/lane", change).status_code == 200


def test_secret_text_becomes_base64(served: Served) -> None:
    body = {"metadata": {"name": "key"}, "stringData": {"token": "abc"}}
    made = served.post("/api/v1/namespaces/team-a/secrets", body)
    assert (made["data"], made.get("stringData")) == ({"token": "YWJj"}, None)
