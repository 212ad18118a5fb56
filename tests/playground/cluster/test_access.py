from playground.cluster.api.access import User
from tests.playground.cluster.served import JOBS, MAPS, PODS, Served, config_map, refusal

READS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]}
NAME = "system:serviceaccount:quartermaster:reader"


def admit_reader(served: Served) -> None:
    served.cluster.app.access.tokens["reader"] = User(NAME, rules=(READS,))


def test_unknown_token_is_unauthorized(served: Served) -> None:
    with served.client("wrong") as stranger:
        assert refusal(stranger.get(PODS)) == (401, "Unauthorized", "Unauthorized")


def test_nobody_may_list_without_a_token(served: Served) -> None:
    with served.client("x") as stranger:
        del stranger.headers["authorization"]
        assert refusal(stranger.get(PODS)) == (
            403,
            "Forbidden",
            (
                'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API '
                'group "" in the namespace "team-a"'
            ),
        )


def test_rules_given_to_a_token_limit_it(served: Served) -> None:
    admit_reader(served)
    with served.client("reader") as reader:
        assert reader.get(PODS).status_code == 200
        assert refusal(reader.post(JOBS, json={"metadata": {"name": "x"}})) == (
            403,
            "Forbidden",
            (
                f'jobs.batch is forbidden: User "{NAME}" cannot create resource "jobs" in API '
                'group "batch" in the namespace "team-a"'
            ),
        )
        assert refusal(reader.get("/api/v1/nodes/gpu-1")) == (
            403,
            "Forbidden",
            (
                f'nodes "gpu-1" is forbidden: User "{NAME}" cannot get resource "nodes" in API '
                'group "" at the cluster scope'
            ),
        )


def test_cluster_role_bindings_in_the_cluster_count(served: Served) -> None:
    admit_reader(served)
    rules = [{"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"]}]
    served.cluster.create("clusterroles", {"metadata": {"name": "maps"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maps"}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "quartermaster"}
    body = {"metadata": {"name": "maps"}, "roleRef": reference, "subjects": [subject]}
    with served.client("reader") as reader:
        before = reader.post(MAPS, json=config_map("settings"))
        served.cluster.create("clusterrolebindings", body)
        after = reader.post(MAPS, json=config_map("settings"))
    assert (before.status_code, after.status_code) == (403, 201)


def test_role_binding_counts_in_its_namespace_only(served: Served) -> None:
    admit_reader(served)
    rules = [{"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}]
    served.cluster.create("roles", {"metadata": {"name": "maps"}, "rules": rules}, "team-a")
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"}
    body = {
        "metadata": {"name": "maps"},
        "roleRef": reference,
        "subjects": [{"kind": "User", "name": NAME}],
    }
    served.cluster.create("rolebindings", body, "team-a")
    with served.client("reader") as reader:
        assert reader.get(MAPS).status_code == 200
        assert reader.get(MAPS.replace("team-a", "team-b")).status_code == 403


def test_access_review_answers_for_the_asker(served: Served) -> None:
    admit_reader(served)
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    with served.client("reader") as reader:
        allowed = [
            reader.post(path, json={"spec": {"resourceAttributes": asked}}).json()["status"][
                "allowed"
            ]
            for asked in (
                {"verb": "list", "resource": "pods"},
                {"verb": "get", "resource": "pods", "subresource": "log"},
                {"verb": "create", "resource": "jobs", "group": "batch"},
            )
        ]
    assert allowed == [True, True, False]


def test_rules_review_lists_the_rules(served: Served) -> None:
    admit_reader(served)
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    with served.client("reader") as reader:
        status = reader.post(path, json={"spec": {"namespace": "team-a"}}).json()["status"]
    assert status == {"resourceRules": [READS], "nonResourceRules": [], "incomplete": False}


def test_subject_review_names_the_asker(served: Served) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    with served.client("reader") as reader:
        admit_reader(served)
        known = reader.post(path, json={}).json()["status"]["userInfo"]
    name = "system:serviceaccount:quartermaster:reader"
    assert known == {"username": name, "groups": ["system:authenticated"]}


def test_right_can_be_taken_from_the_bot(served: Served) -> None:
    served.cluster.forbid("create", "configmaps")
    assert served.bot.post(MAPS, json=config_map("settings")).status_code == 403
    served.cluster.allow("create", "configmaps")
    assert served.bot.post(MAPS, json=config_map("settings")).status_code == 201
