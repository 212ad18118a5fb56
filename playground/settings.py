"""How a world is set up, and the configuration that the bot is started with."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from playground.arm.estate import Estate
from playground.cluster.cluster import Cluster
from playground.slack.workspace import Workspace

CONFIG, KUBECONFIG = "quartermaster.yaml", "kubeconfig"

_TEAMS: Mapping[str, Any] = {
    "team-a": {
        "channels": ["C0TEAMA"],
        "members": {"people": ["U0ALICE"]},
        "leads": {"people": ["U0ERIN"]},
        "namespace": "team-a",
        "local_queue": "team-a",
    },
    "team-b": {
        "channels": ["C0TEAMB"],
        "leads": {"people": ["U0BOB"]},
        "namespace": "team-b",
        "local_queue": "team-b",
    },
}
_CAROL = {"people": ["U0CAROL"]}
_APPROVALS: Mapping[str, Any] = {
    "channel": "C0APPROVE",
    "quota_override": {"approvers": _CAROL},
    "quota_base": {"approvers": _CAROL},
}


_DEPLOY = Path(__file__).parents[1] / "deploy" / "kubernetes"
_RIGHTS = ("10-access.yaml", "17-datasets.yaml", "18-trident.yaml")
_ENGINES = {
    "kueue": (),
    "kai": ("15-kai.yaml",),
    "runai": ("15-runai.yaml",),
    "none": ("16-no-engine.yaml",),
}
_EVERYTHING: Mapping[str, Any] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@dataclass(frozen=True)
class Addresses:
    """Where everything is; each is the beginning of a URL."""

    slack: str
    kubernetes: str
    control: str
    bot: str
    files: Path = Path()


@dataclass(frozen=True)
class Setup:
    """How a story's world differs from the usual one.

    `settings` is merged into the bot's configuration, key by key. Without `kueue` its
    controllers sleep. `big_nodes` are the GPUs of nodes beside the two with 8. `arrange` changes
    the cluster and the workspace before anybody sees them. `clusters` are the engines of the
    clusters by name, the first of which is the story's; without it there is one with Kueue. With
    `bucket` there is an object store, for datasets; with `azure` there is Azure NetApp Files, and
    what it says is in it from the start. With `fsx` a file system of FSx for Lustre is linked to
    the bucket. With `prometheus` each cluster has one that knows what its GPUs do. With `mlflow`
    there is an MLflow server. `manifest` are options of `quartermaster manifest`, by which the
    Slack app is made.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    kueue: bool = True
    big_nodes: tuple[int, ...] = ()
    arrange: Callable[[Cluster, Workspace], None] = lambda _cluster, _workspace: None
    clusters: Mapping[str, str] = field(default_factory=lambda: {"default": "kueue"})
    bucket: bool = False
    azure: Callable[[Cluster, Estate], None] | None = None
    fsx: bool = False
    prometheus: bool = False
    mlflow: bool = False
    manifest: tuple[str, ...] = ()


def configuration(at: Addresses, setup: Setup, database_url: str) -> dict[str, Any]:
    """The bot's configuration for the people and queues of the stories."""
    usual = {
        "workspace": "T0QM",
        "playground": True,
        "slack": {"transport": "socket"},
        "http": {"listen": at.bot.removeprefix("http://")},
        "clock": {"url": f"{at.control}/clock"},
        "database": {"url": database_url},
        "clusters": {name: _cluster(at, name, engine) for name, engine in setup.clusters.items()},
        "teams": _TEAMS,
        "admins": _CAROL,
        "approvals": _APPROVALS,
    }
    return merged(usual, setup.settings)


def _cluster(at: Addresses, name: str, engine: str) -> dict[str, str]:
    """The bot's configuration of a cluster; it finds the usual one by KUBECONFIG."""
    file = {} if name == "default" else {"kubeconfig": str(at.files / kubeconfig(name))}
    return {"engine": engine, **file}


def kubeconfig(cluster: str) -> str:
    """The file by which a cluster is reached; the first one's is the playground's own."""
    return KUBECONFIG if cluster == "default" else f"{KUBECONFIG}-{cluster}"


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the keys of `over` put in, mappings merged."""
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        nested = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if nested else copy.deepcopy(value)
    return result


def write_yaml(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a document, readable by its owner alone."""
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(dict(document), sort_keys=False), encoding="utf-8")


def rights(engine: str = "kueue", *, makes_teams: bool = False) -> list[dict[str, Any]]:
    """The rules of the roles that a real installation gives the bot; any where there are none.

    With `makes_teams`, these include what `/team create` needs.
    """
    own = (f"team-creation/{engine}.yaml",) if makes_teams else ()
    files = (_DEPLOY / name for name in (*_RIGHTS, *_ENGINES[engine], *own))
    texts = [path.read_text(encoding="utf-8") for path in files if path.exists()]
    if not texts:
        return [dict(_EVERYTHING)]
    roles = [role for text in texts for role in yaml.safe_load_all(text)]
    return [rule for role in roles if role["kind"] == "ClusterRole" for rule in role["rules"]]
