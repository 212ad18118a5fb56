"""Kueue's terms, and what something may wait for in Kueue."""

from bot.quotas.engines.admission import Cause
from bot.quotas.engines.engine import EngineTerms

_ADMIN = "A platform admin has to check it."
_NOTHING = "No action is needed."
WORDS = EngineTerms(
    engine="Kueue",
    queue="ClusterQueue",
    setting="local_queue",
    after_end="nothing is evicted: runs above quota continue until other queues reclaim the GPUs.",
    unseen=lambda queue, namespace, cluster: (
        f"LocalQueue {queue} in namespace {namespace} of cluster {cluster}, or its ClusterQueue,"
        " was not found."
    ),
    lost=lambda queue, namespace: (
        f"Its LocalQueue {queue} in namespace {namespace} points to no ClusterQueue."
    ),
    causes={
        Cause.QUOTA: ("It waits for free quota in its ClusterQueue.", "It starts when runs end."),
        Cause.TOO_BIG: (
            "It requests more than its ClusterQueue can ever provide.",
            "Submit it with less, or request more quota.",
        ),
        Cause.PREEMPTING: (
            "It waits for GPUs that were lent and are being reclaimed.",
            "No action is needed: it starts when those runs have stopped.",
        ),
        Cause.FLAVOR: ("No flavor of its ClusterQueue fits it.", _ADMIN),
        Cause.TOPOLOGY: (
            "It has enough quota, but no free GPUs are close enough to each other.",
            "It starts when the runs that are in the way end.",
        ),
        Cause.UNCOVERED: ("It requests a resource that its ClusterQueue does not cover.", _ADMIN),
        Cause.QUEUE: ("Its queue cannot be used at present.", _ADMIN),
        Cause.PODS_READY: (
            "Kueue starts workloads one at a time, and an earlier one is still starting.",
            _NOTHING,
        ),
        Cause.CHECKS: ("It has its quota and waits for an admission check.", _ADMIN),
        Cause.HOLD: ("It is on hold: its Workload was deactivated.", _ADMIN),
        Cause.NOT_LOOKED_AT: ("Kueue has not evaluated it yet.", _NOTHING),
    },
    growing=(
        "The additional nodes start together once its queue has quota for them; until then the run"
        " continues unchanged."
    ),
)
