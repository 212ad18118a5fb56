"""The objects that the chart makes: the bot, its network, and what watches it."""

import pytest
import yaml

from tests.deploy.features import SETS
from tests.deploy.helm_program import Helm
from tests.deploy.rendering import the
from tests.schemas import fits_its_kind

OF_OPERATORS = {
    "monitoring.coreos.com/v1",
    "gateway.networking.k8s.io/v1",
    "external-secrets.io/v1",
}
SELECTOR = {
    "app.kubernetes.io/name": "quartermaster",
    "app.kubernetes.io/instance": "quartermaster",
}


@pytest.mark.parametrize("name", SETS)
def test_every_object_fits_its_schema(helm: Helm, name: str) -> None:
    for each in helm.objects(SETS[name]):
        if each["apiVersion"] not in OF_OPERATORS:
            fits_its_kind(each)
        assert each["metadata"]["labels"].items() >= SELECTOR.items()


@pytest.mark.parametrize("name", SETS)
def test_every_container_is_restricted(helm: Helm, name: str) -> None:
    for each in helm.objects(SETS[name]):
        if each["kind"] != "Deployment":
            continue
        pod = each["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in (*pod["initContainers"], *pod["containers"]):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_postgresql_gets_two_bots_that_roll(helm: Helm) -> None:
    objects = helm.objects(SETS["postgresql"])
    kinds = {each["kind"] for each in objects}
    assert "PersistentVolumeClaim" not in kinds
    spec = the(objects, "Deployment")["spec"]
    rolling = {"maxUnavailable": 0, "maxSurge": 1}
    assert (spec["replicas"], spec["strategy"]) == (
        2,
        {"type": "RollingUpdate", "rollingUpdate": rolling},
    )
    pod = spec["template"]["spec"]
    url = {"name": "quartermaster", "key": "quartermaster_database_url"}
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["env"][1] == {
            "name": "QUARTERMASTER_DATABASE_URL",
            "valueFrom": {"secretKeyRef": url},
        }
    assert [each["topologyKey"] for each in pod["topologySpreadConstraints"]] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    budget = the(objects, "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["selector"]) == (1, {"matchLabels": SELECTOR})
    text = the(objects, "ConfigMap")["data"]["quartermaster.yaml"]
    assert "database" not in yaml.safe_load(text)


def test_bots_behind_a_gateway_stop_late(helm: Helm) -> None:
    def stops(name: str) -> object:
        pod = the(helm.objects(SETS[name]), "Deployment")["spec"]["template"]["spec"]
        return pod["containers"][0].get("lifecycle")

    # Proxies go on sending for some seconds after the pod has left the Service.
    assert stops("http") == stops("gateway") == {"preStop": {"sleep": {"seconds": 10}}}
    assert stops("postgresql") is None


def test_sqlite_gets_one_bot_and_its_volume(helm: Helm) -> None:
    objects = helm.objects(SETS["minimal"])
    claim = the(objects, "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    spec = the(objects, "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert "PodDisruptionBudget" not in {each["kind"] for each in objects}


def test_a_further_cluster_gets_rights_alone(helm: Helm) -> None:
    kinds = {each["kind"] for each in helm.objects(SETS["further-cluster"])}
    rights = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "RoleBinding"}
    policies = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert kinds == rights | policies


def test_pods_are_labelled_for_azure_workload_identity(helm: Helm) -> None:
    objects = helm.objects(SETS["anf"])
    pod = the(objects, "Deployment")["spec"]["template"]["metadata"]
    assert pod["labels"] == {**SELECTOR, "azure.workload.identity/use": "true"}
    account = the(objects, "ServiceAccount")["metadata"]["annotations"]
    assert list(account) == ["azure.workload.identity/client-id"]


def test_extra_values_reach_the_pod(helm: Helm) -> None:
    template = the(helm.objects(SETS["extra"]), "Deployment")["spec"]["template"]
    pod, bot = template["spec"], template["spec"]["containers"][0]
    assert template["metadata"]["labels"] == {**SELECTOR, "team": "platform"}
    assert template["metadata"]["annotations"]["note"] == "one"
    assert bot["image"] == f"ghcr.io/acme/qm@sha256:{'0' * 64}"
    assert bot["env"][-1] == {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}
    assert bot["volumeMounts"][-1] == {"name": "lake", "mountPath": "/run/secrets/lake"}
    assert pod["volumes"][-1] == {"name": "lake", "secret": {"secretName": "lake-keys"}}
    claims = [v["persistentVolumeClaim"] for v in pod["volumes"] if "persistentVolumeClaim" in v]
    assert claims == [{"claimName": "data"}]
    names = ("serviceAccountName", "priorityClassName", "nodeSelector", "imagePullSecrets")
    assert [pod[name] for name in names] == [
        "bot",
        "system-cluster-critical",
        {"pool": "system"},
        [{"name": "registry"}],
    ]


def test_only_paths_of_slack_are_exposed(helm: Helm) -> None:
    (rule,) = the(helm.objects(SETS["http"]), "Ingress")["spec"]["rules"]
    service = {"name": "quartermaster", "port": {"name": "http"}}
    path = {"path": "/slack/events", "pathType": "Exact", "backend": {"service": service}}
    assert rule == {"host": "qm.example.com", "http": {"paths": [path]}}
    assert the(helm.objects(SETS["gateway"]), "HTTPRoute")["spec"] == {
        "hostnames": ["qm.example.com"],
        "parentRefs": [{"name": "public"}],
        "rules": [
            {
                "matches": [
                    {"path": {"type": "Exact", "value": "/slack/events"}, "method": "POST"}
                ],
                "backendRefs": [{"name": "quartermaster", "port": 80}],
            }
        ],
    }


def test_only_named_traffic_is_let_through(helm: Helm) -> None:
    minimal = the(helm.objects(SETS["minimal"]), "NetworkPolicy")["spec"]
    monitoring = {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}
    ops = {
        "from": [{"namespaceSelector": monitoring}],
        "ports": [{"protocol": "TCP", "port": "ops"}],
    }
    assert (minimal["policyTypes"], minimal["ingress"]) == (["Ingress"], [ops])
    http = the(helm.objects(SETS["http"]), "NetworkPolicy", "quartermaster-http")["spec"]
    assert http["ingress"] == [{"ports": [{"protocol": "TCP", "port": "http"}]}]
    limited = the(helm.objects(SETS["egress"]), "NetworkPolicy")["spec"]
    mlflow = {"matchLabels": {"kubernetes.io/metadata.name": "mlflow"}}
    dns = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    assert (limited["policyTypes"], limited["egress"]) == (
        ["Ingress", "Egress"],
        [
            {
                "to": [{"namespaceSelector": dns}],
                "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
            },
            {"to": [{"namespaceSelector": mlflow}]},
            {"ports": [{"protocol": "TCP", "port": 443}]},
        ],
    )


def test_an_external_secret_fills_the_secret(helm: Helm) -> None:
    objects = helm.objects(SETS["external-secret"])
    assert the(objects, "ExternalSecret")["spec"] == {
        "refreshInterval": "1h",
        "secretStoreRef": {"name": "vault", "kind": "SecretStore"},
        "target": {"name": "quartermaster", "creationPolicy": "Owner"},
        "data": [
            {
                "secretKey": "slack_bot_token",
                "remoteRef": {"key": "quartermaster", "property": "bot"},
            }
        ],
    }
