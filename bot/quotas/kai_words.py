"""What KAI calls things, and what it may be that something waits for."""

from bot.quotas.engine import Words
from bot.quotas.standing import Cause

WORDS = Words(
    engine="KAI",
    queue="Queue",
    setting="queue",
    after_end=(
        "runs above quota go on until others ask for their GPUs; then KAI deletes their pods, and"
        " they wait to start again."
    ),
    unseen=lambda queue, _namespace, cluster: (
        f"KAI's Queue {queue} of cluster {cluster} was not seen."
    ),
    lost=lambda queue, _namespace: f"KAI has no Queue {queue}, which it is to wait in.",
    causes={
        Cause.QUOTA: (
            "KAI finds no room for its pods on the nodes.",
            "It starts when other runs end, or when KAI takes GPUs back from those that borrow.",
        ),
        Cause.LIMIT: (
            "Its Queue, or one above it, has reached its limit.",
            "It starts when other runs of that Queue end.",
        ),
        Cause.NOT_PREEMPTIBLE: (
            "With its priority it is never preempted, so it may use its Queue's own quota only.",
            (
                "It starts when such runs of its Queue end. Submitted with `--priority train` it"
                " may borrow, and may be preempted."
            ),
        ),
        Cause.DELAY: (
            "It waits a while before KAI stops other runs for it.",
            "Nothing needs to be done.",
        ),
        Cause.QUEUE: (
            "Its Queue does not exist, or has no parent.",
            "A platform admin has to look at the Queue.",
        ),
        Cause.NOT_LOOKED_AT: ("KAI has not looked at it yet.", "Nothing needs to be done."),
    },
    growing=(
        "KAI starts further nodes one by one as there is room, and may take those above the fewest"
        " again when others are due their share."
    ),
    shares_gpus=True,
)
