"""Checks whether a snapshot can be restored in another team's namespace, from the watches."""

from bot.cluster import labels
from bot.cluster.claims import TRIDENT
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS
from bot.config import Team
from bot.errors import ConflictError, UsageError
from bot.snapshots.tables import Snapshot


def other_namespace(
    cluster: Cluster, snapshot: Snapshot, team: Team, *, is_read_only: bool
) -> str | None:
    """The other team's namespace, or None if it is the snapshot's own.

    Raises UserError if the snapshot cannot be restored there.
    """
    if snapshot.cluster not in team.reach:
        raise ConflictError(
            f"{snapshot.name} is in cluster {snapshot.cluster}, which that team does not use.",
            f"It uses: {', '.join(team.reach)}.",
        )
    namespace = team.on(snapshot.cluster).namespace
    if namespace == snapshot.namespace:
        return None
    if is_read_only:
        raise UsageError(
            "--read-only works only in the snapshot's own namespace.",
            "Omit it: the new PVC is then a copy.",
        )
    if snapshot.driver != TRIDENT:
        raise ConflictError(
            f"Kubernetes restores a snapshot only in its own namespace. Trident can restore one in"
            f" another namespace, but {snapshot.name} uses {snapshot.driver}.",
            "Restore it here, then push what the other team needs as a dataset.",
        )
    claim = cluster.view.get(PVCS, snapshot.claim_name, snapshot.namespace)
    told = "" if claim is None else claim.metadata.annotations.get(labels.CLONED_TO, "")
    if not {namespace, "*"} & set(told.split(",")):
        allow = ",".join(filter(None, (told, namespace)))
        raise ConflictError(
            f"PVC {snapshot.claim_name} does not allow clones in namespace {namespace}: its"
            f" annotation {labels.CLONED_TO} does not list that namespace.",
            f"Anyone who may change the PVC can allow it: kubectl annotate --overwrite pvc"
            f" {snapshot.claim_name} -n {snapshot.namespace} {labels.CLONED_TO}={allow}",
        )
    return namespace
