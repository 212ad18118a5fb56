"""Looks at the Job of a push and at the team's PVC, live."""

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS
from bot.datasets.observing import observe_job
from bot.datasets.push_tables import Push
from bot.datasets.pushes.decision import Look


def observe(cluster: Cluster, push: Push) -> Look:
    """What the cluster shows of a push; ClusterError when it cannot be told."""
    seen = observe_job(cluster, push, labels.DATASET_PUSH)
    if not push.is_live:
        return Look(seen)
    claim = cluster.get(PVCS, push.claim_name, push.claim_namespace)
    return Look(seen, has_claim=claim is not None and claim.uid == push.claim_uid)
