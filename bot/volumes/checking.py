"""Doctor checks of Azure NetApp Files: access to Azure, permissions and Trident's records."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.cluster.cluster import Cluster
from bot.cluster.resources import DEPLOYMENTS, PVCS, TRIDENT_VOLUMES
from bot.cluster.rights import Needed, lacking, spelled
from bot.config import Anf, Settings
from bot.errors import StorageError
from bot.findings import Finding, Findings
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import Deadline

_PATIENCE_SECONDS = 60.0
_NETAPP = "Microsoft.NetApp/netAppAccounts"
_READING = (
    f"{_NETAPP}/read",
    f"{_NETAPP}/capacityPools/read",
    f"{_NETAPP}/capacityPools/volumes/read",
)
_CHANGING = (
    f"{_NETAPP}/capacityPools/write",
    f"{_NETAPP}/capacityPools/volumes/write",
    f"{_NETAPP}/capacityPools/volumes/PoolChange/action",
    "Microsoft.NetApp/locations/operationresults/read",
)
_PROVISIONING = (
    f"{_NETAPP}/capacityPools/write",
    f"{_NETAPP}/capacityPools/delete",
    "Microsoft.NetApp/locations/operationresults/read",
)
_APPLY = (
    "Upgrade the Helm release, or apply deploy/kubernetes/17-datasets.yaml, and 20-teams.yaml for"
    " each team's namespace."
)
_ROLE = "Give the bot's Azure identity the role in docs/anf.md for that resource group."


def checks(files: NetAppFiles) -> Findings:
    """Findings on whether pools can be listed, and on missing permissions."""
    for subscription in files.configured.subscriptions:
        yield from _of_subscription(files, subscription)


def _of_subscription(files: NetAppFiles, subscription: str) -> Findings:
    deadline = Deadline(_PATIENCE_SECONDS)
    of = f" of subscription {subscription}" if files.configured.has_several else ""
    about = f"azure netapp files{of}"
    try:
        pools = list(files.pools(subscription, deadline))
        groups = dict.fromkeys(group for group, _ in files.accounts(subscription))
    except StorageError as error:
        yield Finding(about, "failed", error.message, error.hint)
        return
    if not pools:
        is_first = subscription == files.configured.subscription
        setting = "anf.accounts" if is_first else "anf.other_subscriptions"
        remedy = f"Name the accounts in {setting}, or create a capacity pool."
        yield Finding(about, "warning", "the bot can see no capacity pools", remedy)
        if files.configured.pool_creation is None:
            return
    else:
        yield Finding(about, "ok", f"pools: {', '.join(each.name for each in pools)}")
    for group in groups:
        yield _permissions(files, subscription, group, f"azure permissions in {group}{of}")


def records(settings: Settings, cluster: Cluster) -> Findings:
    """Findings on the rights to repair Trident's records and to grow PVCs, if Trident is served.

    Raises ClusterError if the cluster cannot be reached.
    """
    if settings.anf is None or not cluster.served(TRIDENT_VOLUMES.group):
        return
    about, namespace = f"cluster {cluster.name} trident", settings.anf.trident_namespace
    kept = ((TRIDENT_VOLUMES, ""), (DEPLOYMENTS, settings.anf.trident_deployment))
    needed = [Needed(verb, each, namespace, name) for each, name in kept
              for verb in ("get", "patch")]  # fmt: skip
    missing = lacking(cluster, needed)
    if missing:
        remedy = (
            "Set rights.tridentRepairs in the Helm chart, or apply"
            " deploy/kubernetes/18-trident.yaml, bound in Trident's namespace."
        )
        yield Finding(about, "warning", f"missing: {spelled(missing)}", remedy)
    else:
        yield Finding(about, "ok", "its records of moved volumes can be read and repaired")
    if settings.anf.changes is not None:
        yield _growing(settings, cluster)


def _growing(settings: Settings, cluster: Cluster) -> Finding:
    """Whether the bot may ask for more storage on PVCs of the teams."""
    about = f"cluster {cluster.name} growing PVCs"
    teams = [each for each in settings.teams.values() if cluster.name in each.reach]
    namespaces = sorted({each.on(cluster.name).namespace for each in teams})
    missing = lacking(cluster, [Needed("patch", PVCS, each) for each in namespaces])
    if missing:
        return Finding(about, "warning", f"/anf grow needs: {spelled(missing)}", _APPLY)
    return Finding(about, "ok", "allowed in each team's namespace")


def ungiven(needed: Iterable[str], roles: Iterable[Mapping[str, Any]]) -> list[str]:
    """The actions that no role grants; as in Azure, a single role has to grant each one."""
    known = list(roles)
    return [each for each in needed if not any(_gives(role, each) for role in known)]


def _needed(anf: Anf) -> Sequence[str]:
    """The actions that the settings need."""
    changing = () if anf.changes is None else _CHANGING
    provisioning = () if anf.pool_creation is None else _PROVISIONING
    return tuple(dict.fromkeys((*_READING, *changing, *provisioning)))


def _permissions(files: NetAppFiles, subscription: str, group: str, about: str) -> Finding:
    try:
        needed = _needed(files.configured)
        missing = ungiven(needed, files.permissions(subscription, group))
    except StorageError as error:
        return Finding(about, "warning", error.message, error.hint)
    if missing:
        return Finding(about, "failed", f"missing: {', '.join(missing)}", _ROLE)
    return Finding(about, "ok", f"all {len(needed)} are granted")


def _gives(role: Mapping[str, Any], action: str) -> bool:
    return _fits(role.get("actions"), action) and not _fits(role.get("notActions"), action)


def _fits(patterns: Iterable[str] | None, action: str) -> bool:
    rules = (".*".join(re.escape(part) for part in each.split("*")) for each in patterns or ())
    return any(re.fullmatch(rule, action, re.IGNORECASE) for rule in rules)
