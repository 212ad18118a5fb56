"""Run:ai's terms, and what something may wait for there."""

from bot.quotas.engines.admission import Cause
from bot.quotas.engines.engine import EngineTerms

WORDS = EngineTerms(
    engine="Run:ai",
    queue="project",
    setting="queue",
    after_end=(
        "runs above quota continue until other projects request the GPUs; then Run:ai deletes their"
        " pods, and they wait to start again."
    ),
    unseen=lambda queue, _namespace, cluster: (
        f"Run:ai's project {queue} of cluster {cluster} was not found."
    ),
    lost=lambda queue, _namespace: f"Run:ai has no project {queue} for it to wait in.",
    causes={
        Cause.QUOTA: (
            "Run:ai finds no free capacity for its pods on the nodes.",
            "It starts when other runs end or when Run:ai reclaims borrowed GPUs.",
        ),
        Cause.LIMIT: (
            "Its project, or the project's department, has reached its limit.",
            "It starts when other workloads of the project end.",
        ),
        Cause.NOT_PREEMPTIBLE: (
            "It is never preempted, so it may use only its project's own quota.",
            (
                "It starts when such workloads of the project end. If submitted with a priority"
                " whose workloads may be preempted, it may borrow."
            ),
        ),
        # Its REST API reports nothing of a workload that its scheduler has just met.
        Cause.NOT_LOOKED_AT: (
            "Run:ai has not reported yet what it waits for.",
            "No action is needed.",
        ),
    },
    growing=(
        "Run:ai starts further nodes one by one as capacity becomes free. It may reclaim nodes"
        " above the minimum when other projects are due their share."
    ),
    shares_gpus=True,
    service="Run:ai",
)
