"""Takes the step decided for a share: creates, deletes or annotates one object."""

from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUME_REFERENCES, VOLUMES, Resource
from bot.datasets.caches.shares.decide import (
    Allow,
    Await,
    Decision,
    Forbid,
    MakeClaim,
    MakeVolume,
    Refer,
    RemoveClaim,
    RemoveVolume,
    ShareObserved,
    Unrefer,
)
from bot.datasets.caches.shares.forms import (
    Manifest,
    reference,
    shared_claim,
    shared_volume,
    with_namespace,
    without_namespace,
)
from bot.datasets.caches.shares.origin import Origin
from bot.datasets.caches.tables import CacheShare
from bot.errors import ClusterError
from bot.reconcile.decisions import Fail
from bot.reconcile.frame import create_once


def act(
    cluster: Cluster, share: CacheShare, origin: Origin, seen: ShareObserved, decision: Decision
) -> Decision:
    """Takes a step and returns the decision to record; ClusterError if it must be retried."""
    match decision:
        case Allow():
            return _note(cluster, share, seen, is_shared=True) or decision
        case Forbid():
            return _note(cluster, share, seen, is_shared=False) or decision
        case Refer() | MakeVolume() | MakeClaim():
            return _make(cluster, share, origin, seen, decision) or decision
        case RemoveClaim(uid):
            cluster.delete(PVCS, share.claim_name, share.namespace, uid=uid)
        case RemoveVolume(uid):
            cluster.delete(VOLUMES, share.claim_name, uid=uid)
        case Unrefer(uid):
            cluster.delete(VOLUME_REFERENCES, share.claim_name, share.namespace, uid=uid)
        case _:
            pass
    return decision


def _make(
    cluster: Cluster, share: CacheShare, origin: Origin, seen: ShareObserved, decision: Decision
) -> Decision | None:
    """Creates an object; if its name is taken, the next step finds out by what."""
    resource, body, namespace = _body(cluster, share, origin, seen, decision)
    refusal = create_once(cluster, resource, body, namespace)
    return Fail(refusal.message, refusal.hint) if refusal is not None else None


def _body(
    cluster: Cluster, share: CacheShare, origin: Origin, seen: ShareObserved, decision: Decision
) -> tuple[Resource[Any], Manifest, str | None]:
    installation = cluster.installation
    if isinstance(decision, Refer):
        return VOLUME_REFERENCES, reference(share, origin, installation), share.namespace
    if seen.source is None or seen.volume is None:
        raise AssertionError("decided without the volume that is shared")
    if isinstance(decision, MakeClaim):
        claim = shared_claim(share, origin, seen.source, seen.volume, decision.form, installation)
        return PVCS, claim, share.namespace
    return VOLUMES, shared_volume(share, origin.reference, seen.volume, installation), None


def _note(
    cluster: Cluster, share: CacheShare, seen: ShareObserved, *, is_shared: bool
) -> Decision | None:
    """Changes which namespaces share the PVC, unless it was changed since it was read."""
    source = seen.source
    if source is None:
        return None
    told = source.metadata.annotations.get(labels.SHARED_TO, "")
    change = with_namespace if is_shared else without_namespace
    metadata = {
        "uid": source.uid,
        "resourceVersion": source.metadata.resource_version,
        "annotations": {labels.SHARED_TO: change(told, share.namespace)},
    }
    try:
        cluster.patch_merge(PVCS, source.name, {"metadata": metadata}, source.namespace)
    except ClusterError as error:
        if error.reason in {"Conflict", "NotFound"}:
            return Await()
        raise
    return None
