"""What deploy/ would create: well-formed, confined, and with no right too many."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.config import ConfigurationFile
from bot.quotas.engines.opening import watched_with
from bot.training.kinds import ROOTS, WORKLOADS
from bot.training.kinds.rights import with_rules
from tests.schemas import fits_its_kind

ROOT = Path(__file__).parents[2]
FILES = [*sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))]
FILES += sorted((ROOT / "deploy" / "kubernetes").glob("team-creation/*.yaml"))
FILES.append(ROOT / "deploy" / "secret.example.yaml")


def objects() -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in FILES]
    return [each for text in texts for each in yaml.safe_load_all(text)]


def the(kind: str, name: str = "quartermaster") -> dict[str, Any]:
    return next(o for o in objects() if (o["kind"], o["metadata"]["name"]) == (kind, name))


def rights(role: str) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in the("ClusterRole", role)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    "manifest", objects(), ids=lambda o: f"{o['kind']}-{o['metadata']['name']}"
)
def test_every_object_fits_the_kubernetes_schema(manifest: dict[str, Any]) -> None:
    fits_its_kind(manifest)


IN_PLACE = ("trident.netapp.io", "tridentactionsnapshotrestores")


def test_the_bot_may_do_this_and_nothing_else() -> None:
    kinds = {(each.resource.group, each.resource.plural): each.verbs for each in ROOTS}
    kueue = {"cohorts", "localqueues", "resourceflavors", "workloadpriorityclasses", "workloads"}
    read = {*kinds, ("", "persistentvolumeclaims")}
    read |= {("kueue.x-k8s.io", plural) for plural in ("clusterqueues", "localqueues")}
    followed = read | {("", "nodes"), ("", "persistentvolumes"), ("", "pods")}
    followed |= {("storage.k8s.io", "storageclasses"), ("", "resourcequotas")}
    snapshots = ("volumesnapshotclasses", "volumesnapshots")
    followed |= {("snapshot.storage.k8s.io", plural) for plural in snapshots}
    followed |= {("snapscheduler.backube", "snapshotschedules"), IN_PLACE}
    followed |= {("kueue.x-k8s.io", plural) for plural in kueue}
    assert rights("quartermaster") == {
        *((group, plural, verb) for group, plural in followed for verb in ("list", "watch")),
        *((group, plural, "get") for group, plural in read),
        (*IN_PLACE, "get"),
        ("snapshot.storage.k8s.io", "volumesnapshots", "get"),
        ("snapshot.storage.k8s.io", "volumesnapshotcontents", "get"),
        ("kueue.x-k8s.io", "clusterqueues", "patch"),
        ("kueue.x-k8s.io", "admissionchecks", "get"),
        ("visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads", "get"),
        ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
    }
    assert rights("quartermaster-team") == {
        *((*root, verb) for root, verbs in kinds.items() for verb in verbs),
        ("", "pods/log", "get"),
        *(("", "secrets", verb) for verb in ("create", "delete", "get")),
        *(("", "services", verb) for verb in ("create", "delete", "get")),
        *(("networking.k8s.io", "ingresses", verb) for verb in ("create", "delete", "get")),
        *(("apps", "deployments", verb) for verb in ("create", "delete", "get")),
        ("", "events", "list"),
        ("", "persistentvolumeclaims", "create"),
        ("", "persistentvolumeclaims", "delete"),
        ("", "persistentvolumeclaims", "patch"),
        *((*IN_PLACE, verb) for verb in ("create", "delete")),
        ("snapshot.storage.k8s.io", "volumesnapshots", "create"),
        ("snapshot.storage.k8s.io", "volumesnapshots", "delete"),
    }


def test_the_rights_of_kinds_are_those_they_declare() -> None:
    written = (ROOT / "deploy" / "kubernetes" / "10-access.yaml").read_text(encoding="utf-8")
    assert with_rules(written) == written, "write them anew: make docs"


def test_everything_that_is_watched_may_be_watched() -> None:
    needed = {
        (resource.group, resource.plural, verb)
        for resource in (*watched_with("kueue"), *WORKLOADS)
        for verb in ("list", "watch")
    }
    assert needed - rights("quartermaster") == set()


def test_kai_may_be_watched_where_it_is() -> None:
    needed = {
        (resource.group, resource.plural, verb)
        for resource in watched_with("kai")
        for verb in ("list", "watch")
    }
    both = rights("quartermaster") | rights("quartermaster-kai")
    assert needed - both == set()
    assert {group for group, _, _ in rights("quartermaster-kai")} == {
        "scheduling.run.ai",
        "scheduling.k8s.io",
    }


@pytest.mark.parametrize(("engine", "role"), [("none", "no-engine"), ("runai", "runai")])
def test_engines_without_objects_need_priority_classes(engine: str, role: str) -> None:
    needed = {
        (resource.group, resource.plural, verb)
        for resource in watched_with(engine)
        for verb in ("list", "watch")
    }
    own = {("scheduling.k8s.io", "priorityclasses", verb) for verb in ("list", "watch")}
    assert rights(f"quartermaster-{role}") == own
    assert needed - (rights("quartermaster") | own) == set()


def test_secrets_are_reached_in_teams_namespaces_only() -> None:
    roles = [o["metadata"]["name"] for o in objects() if o["kind"] == "ClusterRole"]
    reaching = {role for role in roles if any(name == "secrets" for _, name, _ in rights(role))}
    assert reaching == {"quartermaster-team"}


def test_no_role_has_wildcards_or_reaches_into_pods() -> None:
    rules = [rule for o in objects() for rule in o.get("rules", ())]
    words = {word for rule in rules for right in rule.values() for word in right}
    assert words & {"*", "pods/exec", "impersonate", "bind", "escalate"} == {"bind"}
    own = ["quartermaster-team", "quartermaster-trident"]
    assert all(rule["resourceNames"] == own for rule in rules if "bind" in rule["verbs"])


@pytest.mark.parametrize("engine", ["kueue", "kai", "runai", "none"])
def test_creating_teams_needs_its_own_role(engine: str) -> None:
    path = ROOT / "deploy" / "kubernetes" / "team-creation" / f"{engine}.yaml"
    (role,) = [
        each
        for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if each["kind"] == "ClusterRole"
    ]
    granted = {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    changes = ("create", "delete")
    own = {
        "kueue": {(each, v) for each in ("clusterqueues", "localqueues") for v in changes},
        "kai": {("queues", v) for v in changes},
        "runai": set(),
        "none": {("resourcequotas", v) for v in (*changes, "get")},
    }
    assert granted == own[engine] | {("clusterroles", "bind")} | {
        (each, v) for each in ("namespaces", "rolebindings") for v in (*changes, "get")
    }


def test_namespaces_are_bound_one_by_one() -> None:
    bound = {
        (o["metadata"]["namespace"], o["roleRef"]["name"])
        for o in objects()
        if o["kind"] == "RoleBinding"
    }
    assert bound == {
        ("team-a", "quartermaster-team"),
        ("team-b", "quartermaster-team"),
        ("team-a", "quartermaster-trident"),
        ("team-b", "quartermaster-trident"),
        ("datasets", "quartermaster-datasets"),
        ("datasets", "quartermaster-trident"),
        ("trident", "quartermaster-records"),
    }


def test_datasets_need_jobs_claims_and_words_alone() -> None:
    assert rights("quartermaster-datasets") == {
        ("", "persistentvolumeclaims", "create"),
        ("", "persistentvolumeclaims", "delete"),
        ("", "persistentvolumeclaims", "patch"),
        ("batch", "jobs", "create"),
        ("batch", "jobs", "delete"),
        ("snapshot.storage.k8s.io", "volumesnapshots", "create"),
        ("snapshot.storage.k8s.io", "volumesnapshots", "delete"),
        ("snapshot.storage.k8s.io", "volumesnapshots", "get"),
        ("", "pods/log", "get"),
        ("", "events", "list"),
    }


def test_pushes_of_snapshots_need_contents_alone() -> None:
    contents = ("snapshot.storage.k8s.io", "volumesnapshotcontents")
    verbs = ("create", "delete", "get", "list")
    assert rights("quartermaster-pushes") == {(*contents, verb) for verb in verbs}


def test_shares_need_volumes_and_references_alone() -> None:
    assert rights("quartermaster-shares") == {
        ("", "persistentvolumes", "create"),
        ("", "persistentvolumes", "delete"),
    }
    assert rights("quartermaster-trident") == {
        ("trident.netapp.io", "tridentvolumereferences", "create"),
        ("trident.netapp.io", "tridentvolumereferences", "delete"),
        ("trident.netapp.io", "tridentvolumereferences", "get"),
        ("", "persistentvolumeclaims", "patch"),
    }


def test_repairs_need_records_and_one_deployment() -> None:
    assert rights("quartermaster-records") == {
        ("trident.netapp.io", "tridentvolumes", "get"),
        ("trident.netapp.io", "tridentvolumes", "patch"),
        ("apps", "deployments", "get"),
        ("apps", "deployments", "patch"),
    }
    rules = the("ClusterRole", "quartermaster-records")["rules"]
    named = [rule.get("resourceNames") for rule in rules]
    assert named == [None, ["trident-controller"]]


def test_the_configuration_in_the_manifest_loads(tmp_path: Path) -> None:
    path = tmp_path / "quartermaster.yaml"
    path.write_text(the("ConfigMap")["data"]["quartermaster.yaml"], encoding="utf-8")
    settings = ConfigurationFile(path).load()
    assert {team.namespace for team in settings.teams.values()} == {"team-a", "team-b"}


def test_the_secret_template_holds_no_values() -> None:
    assert set(the("Secret")["stringData"].values()) == {""}


def test_every_container_is_confined_and_limited() -> None:
    pod = the("Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"] == {"memory": "512Mi"}


def test_one_bot_at_a_time_has_the_volume() -> None:
    spec = the("Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
