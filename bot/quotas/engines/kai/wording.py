"""KAI's terms, and what something may wait for in KAI."""

from bot.quotas.engines.admission import Cause
from bot.quotas.engines.engine import EngineTerms

WORDS = EngineTerms(
    engine="KAI",
    queue="Queue",
    setting="queue",
    after_end=(
        "runs above quota continue until other queues ask for the GPUs; then KAI deletes their"
        " pods, and they wait to start again."
    ),
    unseen=lambda queue, _namespace, cluster: (
        f"KAI's Queue {queue} of cluster {cluster} was not found."
    ),
    lost=lambda queue, _namespace: f"KAI has no Queue {queue} for it to wait in.",
    causes={
        Cause.QUOTA: (
            "KAI finds no free capacity for its pods on the nodes.",
            "It starts when other runs end or when KAI reclaims borrowed GPUs.",
        ),
        Cause.LIMIT: (
            "Its Queue, or a parent Queue, has reached its limit.",
            "It starts when other runs in that Queue end.",
        ),
        Cause.NOT_PREEMPTIBLE: (
            "With its priority it is never preempted, so it may use only its Queue's own quota.",
            (
                "It starts when such runs in its Queue end. If submitted with `--priority train`,"
                " it may borrow and may be preempted."
            ),
        ),
        Cause.DELAY: (
            "KAI waits for a delay before it preempts other runs for it.",
            "No action is needed.",
        ),
        Cause.QUEUE: (
            "Its Queue does not exist or has no parent.",
            "A platform admin has to check the Queue.",
        ),
        Cause.NOT_LOOKED_AT: ("KAI has not evaluated it yet.", "No action is needed."),
    },
    growing=(
        "KAI starts further nodes one by one as capacity becomes free. It may reclaim nodes above"
        " the minimum when other queues are due their share."
    ),
    shares_gpus=True,
)
