"""What Kueue calls things, and what it may be that something waits for."""

from bot.quotas.engine import Words
from bot.quotas.standing import Cause

_ADMIN = "A platform admin has to look at it."
_NOTHING = "Nothing needs to be done."
WORDS = Words(
    engine="Kueue",
    queue="ClusterQueue",
    setting="local_queue",
    after_end="nothing is evicted: runs above quota go on until others reclaim them.",
    unseen=lambda queue, namespace, cluster: (
        f"LocalQueue {queue} in namespace {namespace} of cluster {cluster} was not seen, or its"
        " ClusterQueue was not."
    ),
    lost=lambda queue, namespace: (
        f"Its LocalQueue {queue} in namespace {namespace} leads to no ClusterQueue."
    ),
    causes={
        Cause.QUOTA: ("It waits for free quota in its ClusterQueue.", "It starts when runs end."),
        Cause.TOO_BIG: (
            "It asks for more than its ClusterQueue can ever give.",
            "Submit it with less, or ask for more quota.",
        ),
        Cause.PREEMPTING: (
            "It waits for GPUs that were lent out and are being taken back.",
            "Nothing needs to be done: it starts when those runs have stopped.",
        ),
        Cause.FLAVOR: ("No kind of node in its ClusterQueue fits it.", _ADMIN),
        Cause.TOPOLOGY: (
            "There is quota for it, but its GPUs are not free close enough to each other.",
            "It starts when runs end that are in the way.",
        ),
        Cause.UNCOVERED: ("It requests a resource that its ClusterQueue does not cover.", _ADMIN),
        Cause.QUEUE: ("Its queue does not work at present.", _ADMIN),
        Cause.PODS_READY: (
            "Kueue starts one workload after the other, and one before it is still starting.",
            _NOTHING,
        ),
        Cause.CHECKS: ("It has its quota and waits for a further check.", _ADMIN),
        Cause.HOLD: ("It is on hold: its Workload was deactivated.", _ADMIN),
        Cause.NOT_LOOKED_AT: ("Kueue has not looked at it yet.", _NOTHING),
    },
    growing=(
        "Further nodes start together, once its queue has quota for them; until then it goes on as"
        " it is."
    ),
)
