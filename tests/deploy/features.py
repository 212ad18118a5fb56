"""Sets of features that the chart is rendered with."""

from collections.abc import Mapping
from typing import Any

from playground.settings import merged

Values = Mapping[str, Any]

_TEAM = {"channels": ["C012TEAMA"], "namespace": "team-a", "queue": "team-a"}
MINIMAL: Values = {"config": {"workspace": "T012ABCDEF", "teams": {"team-a": _TEAM}}}
DATASETS = {"namespace": "datasets", "state": "s3://state/datasets", "state_store": "lake"}
LAKE = {"region": "us-east-1", "places": {"team-a": ["s3://lake/team-a/"]}}
AZURE = {"subscription": "01234567-89ab-cdef-0123-456789abcdef"}
_CLIENT = {"azure.workload.identity/client-id": "01234567-89ab-cdef-0123-456789abcdef"}


def config(**sections: Any) -> Values:
    """Values with these sections in quartermaster.yaml."""
    return {"config": sections}


def default_cluster(**settings: Any) -> Values:
    """Values with these settings of the cluster in which the chart is installed."""
    return config(clusters={"default": settings})


def with_minimal(*more: Values) -> dict[str, Any]:
    """The least that the chart needs, and more."""
    values = dict(MINIMAL)
    for each in more:
        values = merged(values, each)
    return values


_DATASETS = config(datasets=DATASETS, stores={"lake": LAKE})
_CREATION = config(team_creation={})
_HTTP = config(slack={"transport": "http"})
_INGRESS = {
    "className": "nginx",
    "host": "qm.example.com",
    "annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"},
    "tlsSecret": "qm-tls",
}
_ROUTE = {"hostnames": ["qm.example.com"], "parentRefs": [{"name": "public"}]}
_OBSERVED = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}
_ALERTS = {"alerts": {"enabled": True, "labels": {"release": "prometheus"}}}
_BOARD = {"board": {"enabled": True, "annotations": {"grafana_folder": "ML"}}}
_STORE = {"name": "vault", "kind": "SecretStore"}
_KEYS = {"slack_bot_token": {"key": "quartermaster", "property": "bot"}}
_EGRESS = [{"ports": [{"protocol": "TCP", "port": 443}]}]
SUBJECTS = [
    {"kind": "User", "name": "01234567-89ab-cdef-0123-456789abcdef"},
    {"kind": "Group", "name": "quartermaster"},
]
_RUNAI = {
    "url": "https://acme.run.ai",
    "cluster_id": "71f69d83-ba66-4822-adf5-55ce55efd210",
    "client_id": "quartermaster",
    "client_secret_file": "/run/secrets/runai/client-secret",
}
_LAB = config(
    clusters={"default": {}, "lab": {"kubeconfig": "/etc/lab", "engine": "kai"}},
    teams={"team-b": {**_TEAM, "channels": ["C012TEAMB"], "namespace": "b", "cluster": "lab"}},
)

SETS: Mapping[str, dict[str, Any]] = {
    "minimal": with_minimal(),
    "kai": with_minimal(default_cluster(engine="kai")),
    "runai": with_minimal(default_cluster(engine="runai", runai=_RUNAI)),
    "no-engine": with_minimal(default_cluster(engine="none")),
    "datasets": with_minimal(_DATASETS),
    "datasets-alone": with_minimal(
        _DATASETS, {"rights": {"sharedVolumes": False, "snapshotPushes": False}}
    ),
    "trident": with_minimal({"rights": {"trident": True}}),
    "datasets-on-trident": with_minimal(
        _DATASETS, {"rights": {"trident": True, "sharedVolumes": False}}
    ),
    "anf": with_minimal(config(anf=AZURE), {"serviceAccount": {"annotations": _CLIENT}}),
    "anf-read": with_minimal(
        config(anf={**AZURE, "trident_namespace": "netapp", "trident_deployment": "controller"}),
        {"rights": {"tridentRepairs": False}},
    ),
    "team-creation": with_minimal(_CREATION),
    "team-creation-kai": with_minimal(_CREATION, default_cluster(engine="kai")),
    "team-creation-no-engine": with_minimal(_CREATION, default_cluster(engine="none")),
    "team-creation-runai": with_minimal(_CREATION, default_cluster(engine="runai", runai=_RUNAI)),
    "team-creation-by-identity": with_minimal(_CREATION, {"subjects": SUBJECTS}),
    "ingress-of-sessions": with_minimal(default_cluster(ingress={"host": "*.ml.example.com"})),
    "host-network": with_minimal(
        config(teams={"team-a": {"admission": {"host_network": ["sync"]}}})
    ),
    "no-snapshots": with_minimal({"rights": {"snapshots": False}, "confinement": False}),
    "postgresql": with_minimal({"database": {"type": "postgresql"}}),
    "http": with_minimal(_HTTP, {"http": {"ingress": {"enabled": True, **_INGRESS}}}),
    "gateway": with_minimal(_HTTP, {"http": {"route": {"enabled": True, **_ROUTE}}}),
    "monitoring": with_minimal(
        {"monitoring": {**_OBSERVED, **_ALERTS, **_BOARD, "scrapeAnnotations": False}}
    ),
    "external-secret": with_minimal(
        {"secret": {"external": {"enabled": True, "store": _STORE, "keys": _KEYS}}}
    ),
    "egress": with_minimal({"networkPolicy": {"egress": _EGRESS, "mlflowNamespace": "mlflow"}}),
    "further-cluster": with_minimal(_LAB, {"cluster": "lab", "rightsOnly": True}),
    "further-cluster-by-identity": with_minimal(
        _LAB, {"cluster": "lab", "rightsOnly": True, "subjects": SUBJECTS}
    ),
    "datasets-in-further-cluster": with_minimal(
        _DATASETS,
        _LAB,
        config(datasets={"clusters": {"lab": {"namespace": "caches", "classes": {"nfs": {}}}}}),
        {"cluster": "lab", "rightsOnly": True},
    ),
    "extra": with_minimal(
        {
            "image": {"repository": "ghcr.io/acme/qm", "digest": f"sha256:{'0' * 64}"},
            "imagePullSecrets": [{"name": "registry"}],
            "serviceAccount": {"create": False, "name": "bot"},
            "database": {"volume": {"existingClaim": "data"}},
            "podLabels": {"team": "platform"},
            "podAnnotations": {"note": "one"},
            "nodeSelector": {"pool": "system"},
            "tolerations": [{"key": "system", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "priorityClassName": "system-cluster-critical",
            "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            "extraVolumes": [{"name": "lake", "secret": {"secretName": "lake-keys"}}],
            "extraVolumeMounts": [{"name": "lake", "mountPath": "/run/secrets/lake"}],
            "networkPolicy": {"enabled": False},
        }
    ),
}
