from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, KUEUE, MAPS, PODS, Served, pod, refusal


def labelled(served: Served) -> None:
    for name, labels in {
        "one": {"tier": "gold", "zone": "a"},
        "two": {"tier": "iron", "zone": "b"},
        "three": {"zone": "c"},
    }.items():
        served.post(MAPS, {"metadata": {"name": name, "labels": labels}})


def chosen(served: Served, selector: str) -> list[str]:
    names = served.names(MAPS, labelSelector=selector)
    return [name for name in names if name != "kube-root-ca.crt"]


def test_label_selectors_select_as_documented(served: Served) -> None:
    labelled(served)
    assert chosen(served, "tier=gold") == ["one"]
    assert chosen(served, "tier==gold,zone=a") == ["one"]
    assert chosen(served, "tier!=gold") == ["three", "two"]
    assert chosen(served, "zone in (a, b)") == ["one", "two"]
    assert chosen(served, "zone notin (a,b)") == ["three"]
    assert chosen(served, "tier") == ["one", "two"]
    assert chosen(served, "zone,!tier") == ["three"]


def test_broken_label_selector_is_bad_request(served: Served) -> None:
    answer = served.admin.get(MAPS, params={"labelSelector": "a b c"})
    assert refusal(answer)[:2] == (400, "BadRequest")


def test_field_selectors_read_names_and_phases(served: Served) -> None:
    served.post(PODS, pod("one"))
    served.post(PODS, pod("two", nodeName="gpu-1"))
    served.pass_time(5)
    assert served.names(PODS, fieldSelector="metadata.name=one") == ["one"]
    assert served.names(PODS, fieldSelector="spec.nodeName=gpu-1,status.phase!=Failed") == [
        "one",
        "two",
    ]
    assert served.names(PODS, fieldSelector="status.phase=Pending") == []


def test_field_selector_finds_events_of_an_object(served: Served) -> None:
    made = served.post(JOBS, training_job("lane", 1))
    fields = f"involvedObject.kind=Job,involvedObject.uid={made['metadata']['uid']}"
    events = served.get("/api/v1/namespaces/team-a/events", fieldSelector=fields)["items"]
    assert [event["reason"] for event in events] == ["SuccessfulCreate"]


def test_workloads_are_found_by_cluster_queue(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1, "team-a"))
    path = f"{KUEUE}/workloads"
    assert len(served.names(path, fieldSelector="status.admission.clusterQueue=team-a")) == 1
    assert served.names(path, fieldSelector="status.admission.clusterQueue=team-b") == []


def test_unknown_field_selector_is_bad_request(served: Served) -> None:
    answer = served.admin.get(PODS, params={"fieldSelector": "spec.colour=red"})
    code, reason, message = refusal(answer)
    assert (code, reason) == (400, "BadRequest")
    assert message.endswith("field label not supported: spec.colour")


def test_pages_join_to_the_whole_list(served: Served) -> None:
    for number in range(7):
        served.post(MAPS, {"metadata": {"name": f"m-{number}"}})
    seen: list[str] = []
    params = {"limit": "3"}
    sizes: list[int] = []
    while True:
        page = served.get(MAPS, **params)
        sizes.append(len(page["items"]))
        seen += [item["metadata"]["name"] for item in page["items"]]
        if not page["metadata"].get("continue"):
            break
        params["continue"] = page["metadata"]["continue"]
    assert sizes == [3, 3, 2]
    assert seen == served.names(MAPS)


def test_first_page_counts_what_remains(served: Served) -> None:
    for number in range(4):
        served.post(MAPS, {"metadata": {"name": f"m-{number}"}})
    assert served.get(MAPS, limit="2")["metadata"]["remainingItemCount"] == 3


def test_old_continue_token_is_gone(served: Served) -> None:
    for number in range(4):
        served.post(MAPS, {"metadata": {"name": f"m-{number}"}})
    token = served.get(MAPS, limit="2")["metadata"]["continue"]
    served.post(MAPS, {"metadata": {"name": "later"}})
    served.cluster.compact()
    answer = served.admin.get(MAPS, params={"limit": "2", "continue": token})
    assert refusal(answer)[:2] == (410, "Expired")


def test_list_over_all_namespaces_is_sorted(served: Served) -> None:
    path = "/api/v1/secrets"
    places = [
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in served.get(path)["items"]
    ]
    assert places == [
        ("team-a", "registry"),
        ("team-a", "wandb"),
        ("team-b", "registry"),
        ("team-b", "wandb"),
    ]


def test_metadata_only_lists_leave_out_the_rest(served: Served) -> None:
    accept = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    body = served.admin.get("/api/v1/secrets", headers=accept).json()
    assert body["kind"] == "PartialObjectMetadataList"
    assert set(body["items"][0]) == {"kind", "apiVersion", "metadata"}


def test_tables_have_the_columns_of_kubectl(served: Served) -> None:
    served.post(PODS, pod("one"))
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    body = served.admin.get(PODS, headers=accept).json()
    columns = [column["name"] for column in body["columnDefinitions"]]
    assert columns == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert body["rows"][0]["cells"] == ["one", "0/1", "ContainerCreating", 0, "0s"]
