"""Which rights the chart grants for each set of features: those it needs, and no others."""

from typing import Any

import pytest

from bot.quotas.engines.opening import watched_with
from bot.quotas.engines.registry import ENGINES
from bot.training.kinds import ROOTS, WORKLOADS
from tests.deploy.features import SETS
from tests.deploy.helm_program import Helm
from tests.deploy.rendering import KUBERNETES, plain_objects

Right = tuple[str, str, str]  # group, resource, verb
Bound = tuple[str, str]  # namespace (empty: everywhere), role

_ALWAYS = {("", ""), ("team-a", "-team")}
# What is bound where, as a difference from that.
BOUND: dict[str, set[Bound]] = {
    "minimal": set(),
    "kai": {("", "-kai")},
    "runai": {("", "-runai")},
    "no-engine": {("", "-no-engine")},
    "datasets": {("datasets", "-datasets"), ("", "-shares"), ("", "-pushes")},
    "datasets-alone": {("datasets", "-datasets")},
    "trident": {("team-a", "-trident")},
    "datasets-on-trident": {
        ("datasets", "-datasets"),
        ("", "-pushes"),
        ("datasets", "-trident"),
        ("team-a", "-trident"),
    },
    "team-creation": {("", "-team-creation")},
    "team-creation-kai": {("", "-team-creation"), ("", "-kai")},
    "team-creation-no-engine": {("", "-team-creation"), ("", "-no-engine")},
    "team-creation-runai": {("", "-team-creation"), ("", "-runai")},
    "team-creation-by-identity": {("", "-team-creation")},
    "anf": {("trident", "-records")},
    "anf-read": {("netapp", "-records")},
    # Its only team is another one.
    "further-cluster": {("", "-kai"), ("b", "-team"), ("team-a", "-team")},
    "further-cluster-by-identity": {("", "-kai"), ("b", "-team"), ("team-a", "-team")},
    "datasets-in-further-cluster": {
        *{("", "-kai"), ("b", "-team"), ("team-a", "-team")},
        *{("caches", "-datasets"), ("", "-shares"), ("", "-pushes")},
    },
}
_IN_PLACE = ("trident.netapp.io", "tridentactionsnapshotrestores")
_SNAPSHOTS = ("snapshot.storage.k8s.io", "volumesnapshots")
_INGRESSES = ("networking.k8s.io", "ingresses")
_DEPLOYMENTS = ("apps", "deployments")


def bound(objects: list[dict[str, Any]]) -> set[Bound]:
    return {
        (each["metadata"].get("namespace", ""), each["roleRef"]["name"][len("quartermaster") :])
        for each in objects
        if each["kind"].endswith("Binding") and "roleRef" in each
    }


def rights(objects: list[dict[str, Any]], *roles: str) -> set[Right]:
    """What roles grant, by the ends of their names; all of them if none is named."""
    return {
        (group, resource, verb)
        for each in objects
        if each["kind"] == "ClusterRole"
        and (not roles or each["metadata"]["name"][len("quartermaster") :] in roles)
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def rights_of_plain() -> set[Right]:
    paths = [*KUBERNETES.glob("1*.yaml"), *KUBERNETES.glob("team-creation/*.yaml")]
    return rights([o for path in paths for o in plain_objects(path)])


@pytest.mark.parametrize("name", SETS)
def test_roles_are_bound_where_features_need_them(helm: Helm, name: str) -> None:
    expected = _ALWAYS ^ BOUND.get(name, set())
    objects = helm.objects(SETS[name])
    assert bound(objects) == expected
    roles = {o["metadata"]["name"] for o in objects if o["kind"] == "ClusterRole"}
    assert roles == {f"quartermaster{role}" for _, role in expected}


@pytest.mark.parametrize("name", SETS)
def test_subjects_are_the_bots_own_account(helm: Helm, name: str) -> None:
    account = SETS[name].get("serviceAccount", {}).get("name", "quartermaster")
    own = {"kind": "ServiceAccount", "name": account, "namespace": "quartermaster"}
    group = "rbac.authorization.k8s.io"
    named = [{**each, "apiGroup": group} for each in SETS[name].get("subjects", ())]
    bindings = [o["subjects"] for o in helm.objects(SETS[name]) if "subjects" in o]
    assert all(each == [own, *named] for each in bindings)
    assert bindings


def test_confinement_holds_for_all_who_have_the_rights(helm: Helm) -> None:
    account = "request.userInfo.username == 'system:serviceaccount:quartermaster:quartermaster'"
    others = (
        " || request.userInfo.username == '01234567-89ab-cdef-0123-456789abcdef'"
        " || 'quartermaster' in request.userInfo.groups"
    )
    for name, more, count in (
        ("further-cluster", "", 2),
        ("further-cluster-by-identity", others, 2),
        ("team-creation-by-identity", others, 4),
    ):
        conditions = [
            each["expression"]
            for o in helm.objects(SETS[name])
            if o["kind"] == "ValidatingAdmissionPolicy"
            for each in o["spec"]["matchConditions"]
        ]
        assert conditions == [account + more] * count


@pytest.mark.parametrize("name", SETS)
def test_no_set_of_features_grants_more_than_plain(helm: Helm, name: str) -> None:
    assert rights(helm.objects(SETS[name])) - rights_of_plain() == set()


def test_all_sets_together_grant_what_plain_does(helm: Helm) -> None:
    granted = set().union(*(rights(helm.objects(values)) for values in SETS.values()))
    assert granted == rights_of_plain()


@pytest.mark.parametrize(
    ("name", "engine"),
    [("minimal", "kueue"), ("kai", "kai"), ("runai", "runai"), ("no-engine", "none")],
)
def test_an_engine_gets_its_rights_alone(helm: Helm, name: str, engine: str) -> None:
    granted = rights(helm.objects(SETS[name]), "", f"-{name}")
    watched = (*watched_with(engine), *WORKLOADS)
    needed = {(each.group, each.plural, verb) for each in watched for verb in ("list", "watch")}
    needed |= {
        (group, f"{plural}/{part}".rstrip("/"), verb)
        for verb, group, plural, part in ENGINES[engine].rights
    }
    assert needed - granted == set()
    others = {each.group for each in ENGINES.values() if each.name != engine and each.group}
    assert {group for group, _, _ in granted} & others == set()


def test_teams_get_what_runs_need_and_no_more(helm: Helm) -> None:
    def of_team(name: str) -> set[Right]:
        return rights(helm.objects(SETS[name]), "-team")

    minimal = {
        *((each.resource.group, each.resource.plural, v) for each in ROOTS for v in each.verbs),
        ("", "pods/log", "get"),
        ("", "events", "list"),
        *(("", "persistentvolumeclaims", verb) for verb in ("create", "delete", "patch")),
        *((*_SNAPSHOTS, verb) for verb in ("create", "delete")),
        *(("", each, v) for each in ("secrets", "services") for v in ("create", "delete", "get")),
    }
    assert of_team("minimal") == minimal
    assert minimal - of_team("no-snapshots") == {(*_SNAPSHOTS, v) for v in ("create", "delete")}
    more = {
        "ingress-of-sessions": {(*_INGRESSES, verb) for verb in ("create", "delete", "get")},
        "host-network": {(*_DEPLOYMENTS, verb) for verb in ("create", "delete", "get")},
        "trident": {(*_IN_PLACE, verb) for verb in ("create", "delete")},
    }
    assert {name: of_team(name) - minimal for name in more} == more


def test_records_of_trident_are_read_without_repairs(helm: Helm) -> None:
    objects = helm.objects(SETS["anf-read"])
    (rules,) = [
        each["rules"]
        for each in objects
        if each["metadata"]["name"] == "quartermaster-records" and "rules" in each
    ]
    assert rules == [
        {"apiGroups": ["trident.netapp.io"], "resources": ["tridentvolumes"], "verbs": ["get"]},
        {
            "apiGroups": ["apps"],
            "resources": ["deployments"],
            "resourceNames": ["controller"],
            "verbs": ["get"],
        },
    ]


def test_policies_confine_the_account_that_is_used(helm: Helm) -> None:
    users = {
        condition["expression"]
        for o in helm.objects(SETS["extra"])
        if o["kind"] == "ValidatingAdmissionPolicy"
        for condition in o["spec"]["matchConditions"]
    }
    assert users == {"request.userInfo.username == 'system:serviceaccount:quartermaster:bot'"}
