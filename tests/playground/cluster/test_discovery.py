from tests.playground.cluster.served import Object, Served

WIDGETS = "/apis/example.com/v1/namespaces/team-a/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def widget_definition() -> Object:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer", "minimum": 1}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "plural": "widgets",
                "singular": "widget",
                "kind": "Widget",
                "listKind": "WidgetList",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                        },
                    },
                }
            ],
        },
    }


def widget(size: object) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"size": size},
        "status": {"told": "by the client"},
    }


def versions_of(served: Served, group: str) -> list[str]:
    return [row["version"] for row in served.get(f"/apis/{group}")["versions"]]


def test_version_has_every_field(served: Served) -> None:
    version = served.get("/version")
    assert (version["gitVersion"], version["minor"]) == ("v1.36.0", "36")
    assert {"buildDate", "gitCommit", "goVersion", "compiler", "platform"} <= set(version)


def test_groups_are_listed_with_and_without_slash(served: Served) -> None:
    groups = {group["name"] for group in served.get("/apis")["groups"]}
    assert {"batch", "kueue.x-k8s.io", "visibility.kueue.x-k8s.io"} <= groups
    assert served.get("/apis/") == served.get("/apis")
    assert served.get("/api")["versions"] == ["v1"]


def test_resources_of_a_group_name_their_subresources(served: Served) -> None:
    names = [row["name"] for row in served.get("/api/v1")["resources"]]
    assert {"pods", "pods/log", "pods/eviction", "pods/status", "events"} <= set(names)
    assert served.get("/apis/batch/v1")["groupVersion"] == "batch/v1"


def test_unknown_group_is_not_found(served: Served) -> None:
    assert served.admin.get("/apis/nothing.example.com").status_code == 404
    assert served.admin.get("/apis/nothing.example.com/v1/things").status_code == 404


def test_kueue_can_be_served_in_old_version_only(served: Served) -> None:
    assert versions_of(served, "kueue.x-k8s.io") == ["v1beta2", "v1beta1"]
    served.cluster.serve_kueue("v1beta1")
    assert versions_of(served, "kueue.x-k8s.io") == ["v1beta1"]
    assert versions_of(served, "visibility.kueue.x-k8s.io") == ["v1beta1"]
    assert served.admin.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues").status_code == 404


def test_old_version_has_its_own_field_names(served: Served) -> None:
    queue = served.get("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/team-a")
    local = served.get("/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/localqueues/team-a")
    assert queue["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    assert (queue["spec"]["cohort"], "cohortName" in queue["spec"]) == ("gpus", False)
    assert "flavorUsage" in local["status"]


def test_patch_in_old_version_keeps_the_object(served: Served) -> None:
    path = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/team-a"
    served.patch(path, {"spec": {"cohort": "others"}})
    queue = served.cluster.get("clusterqueues", "team-a")
    assert queue is not None
    assert queue["spec"]["cohortName"] == "others"
    assert "cohort" not in queue["spec"]


def test_kueue_can_be_taken_away(served: Served) -> None:
    served.cluster.serve_kueue()
    assert served.admin.get("/apis/kueue.x-k8s.io").status_code == 404
    assert served.admin.get("/apis/visibility.kueue.x-k8s.io").status_code == 404


def test_new_definition_is_served_some_moments_later(served: Served) -> None:
    served.post(CRDS, widget_definition())
    assert served.admin.post(WIDGETS, json=widget(1)).status_code == 404
    served.pass_time(1)
    established = served.get(f"{CRDS}/widgets.example.com")["status"]["conditions"]
    assert {row["type"]: row["status"] for row in established} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    made = served.post(WIDGETS, widget(1))
    assert "status" not in made


def test_custom_objects_are_checked_by_their_schema(served: Served) -> None:
    served.post(CRDS, widget_definition())
    served.pass_time(1)
    wrong = served.admin.post(WIDGETS, json=widget("big")).json()
    small = served.admin.post(WIDGETS, json=widget(0)).json()
    missing = served.admin.post(WIDGETS, json=widget(None)).json()
    assert (wrong["code"], small["code"], missing["code"]) == (422, 422, 422)
    assert "spec.size in body must be of type integer" in wrong["message"]
    assert missing["message"].endswith("spec.size: Required value")


def test_custom_objects_have_status_and_scale(served: Served) -> None:
    served.post(CRDS, widget_definition())
    served.pass_time(1)
    served.post(WIDGETS, widget(1))
    status = served.patch(f"{WIDGETS}/w/status", {"status": {"phase": "ok"}, "spec": {"size": 9}})
    scale = served.patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": 3}}).json()
    assert (status.json()["status"], status.json()["spec"]) == ({"phase": "ok"}, {"size": 1})
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 3})


def test_deleted_definition_is_served_no_longer(served: Served) -> None:
    served.post(CRDS, widget_definition())
    served.pass_time(1)
    served.admin.delete(f"{CRDS}/widgets.example.com")
    assert served.admin.get(WIDGETS).status_code == 404


def test_events_are_one_store_with_two_faces(served: Served) -> None:
    old = served.get("/api/v1/events")["items"]
    new = served.get("/apis/events.k8s.io/v1/events")["items"]
    assert [event["metadata"]["uid"] for event in old] == [e["metadata"]["uid"] for e in new]
    served.post("/apis/batch/v1/namespaces/team-a/jobs", _job())
    new = served.get("/apis/events.k8s.io/v1/namespaces/team-a/events")["items"]
    assert {"regarding", "note", "reportingController"} <= set(new[0])


def _job() -> Object:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}
    return {"metadata": {"name": "lane"}, "spec": {"template": {"spec": spec}}}
