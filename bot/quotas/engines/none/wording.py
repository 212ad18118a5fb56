"""The terms for clusters without a quota engine, and what something may wait for there."""

from bot.quotas.engines.admission import Cause
from bot.quotas.engines.engine import EngineTerms

WORDS = EngineTerms(
    engine="Kubernetes",
    queue="namespace",
    setting="namespace",
    after_end="",
    unseen=lambda _queue, namespace, cluster: (
        f"Namespace {namespace} of cluster {cluster} was not found."
    ),
    lost=lambda _queue, namespace: f"Namespace {namespace} was not found.",
    causes={
        Cause.QUOTA: (
            "No node has free capacity for it.",
            "It starts when other runs end. There is no quota engine to give it precedence.",
        ),
        # What keeps pods from being created comes with its own advice.
        Cause.NOT_LOOKED_AT: ("Kubernetes has not evaluated it yet.", ""),
    },
    growing="Further nodes start one by one as capacity becomes free.",
    unchangeable=(
        "no quota engine, so there is no quota to raise or lend: runs start when nodes have free"
        " capacity"
    ),
)
