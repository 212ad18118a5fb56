"""What is said where no quota engine admits runs."""

from bot.quotas.engine import Words
from bot.quotas.standing import Cause

WORDS = Words(
    engine="Kubernetes",
    queue="namespace",
    setting="namespace",
    after_end="",
    unseen=lambda _queue, namespace, cluster: (
        f"Namespace {namespace} of cluster {cluster} was not seen."
    ),
    lost=lambda _queue, namespace: f"Namespace {namespace} was not seen.",
    causes={
        Cause.QUOTA: (
            "No node has room for it.",
            "It starts when other runs end; there is no quota engine that would put it first.",
        ),
        # What keeps pods from being made comes with advice of its own.
        Cause.NOT_LOOKED_AT: ("Kubernetes has not looked at it yet.", ""),
    },
    growing="Further nodes start one by one, as there is room.",
    unchangeable=(
        "no quota engine, so there is no quota to raise or to lend: runs start when nodes have room"
    ),
)
