"""The objects that the chart makes: the bot, its network, and what watches it."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from bot.serving import health
from bot.slack import metrics
from playground.settings import merged
from tests.deploy.features import SETS, Values, config
from tests.deploy.helm_program import Helm
from tests.deploy.rendering import the
from tests.prometheus import prometheus_program
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


def test_sqlite_gets_one_bot_and_a_volume_that_stays(helm: Helm) -> None:
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
    dns = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    assert (limited["policyTypes"], limited["egress"]) == (
        ["Ingress", "Egress"],
        [
            {
                "to": [{"namespaceSelector": dns}],
                "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
            },
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


def test_a_service_monitor_selects_the_ops_service(helm: Helm) -> None:
    objects = helm.objects(SETS["monitoring"])
    monitor = the(objects, "ServiceMonitor")
    assert monitor["metadata"]["labels"] == {**SELECTOR, "release": "prometheus"}
    service = the(objects, "Service", "quartermaster-ops")
    selected = monitor["spec"]["selector"]["matchLabels"]
    assert service["metadata"]["labels"] == selected
    assert monitor["spec"]["endpoints"] == [{"port": "ops", "path": "/metrics", "interval": "30s"}]
    assert [port["name"] for port in service["spec"]["ports"]] == ["ops"]


def test_prometheus_accepts_the_alerts(helm: Helm, tmp_path: Path) -> None:
    rule = the(helm.objects(SETS["monitoring"]), "PrometheusRule")
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    command = [prometheus_program("promtool"), "check", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "6 rules found" in done.stdout) == (0, True), done.stderr


def test_alerts_name_metrics_that_exist(helm: Helm) -> None:
    rule = the(helm.objects(SETS["monitoring"]), "PrometheusRule")
    (group,) = rule["spec"]["groups"]
    made = [each for module in (health, metrics) for each in vars(module).values()]
    counted = [each for each in made if isinstance(each, MetricWrapperBase)]
    known = {described.name for each in counted for described in each.describe()}
    for each in group["rules"]:
        named = set(re.findall(r"quartermaster_[a-z_]+", each["expr"]))
        assert {name.removesuffix("_bucket") for name in named} - known == set()
        assert named
        assert set(each["annotations"]) == {"summary", "runbook"}


def test_sockets_are_watched_only_where_they_are(helm: Helm) -> None:
    def alerts(values: Values) -> set[str]:
        (group,) = the(helm.objects(values), "PrometheusRule")["spec"]["groups"]
        return {each["alert"] for each in group["rules"]}

    http = merged(SETS["monitoring"], config(slack={"transport": "http"}))
    assert alerts(SETS["monitoring"]) - alerts(http) == {"QuartermasterNotConnectedToSlack"}
