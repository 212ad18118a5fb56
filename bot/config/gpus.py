"""What quartermaster.yaml says of what GPUs did."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import Duration
from bot.config.section import Section

_Label = Annotated[str, StringConstraints(min_length=1, max_length=317)]


class Gpus(Section):
    """What is kept of what GPUs did, and how nodes are told apart."""

    keep_minutes: Duration = timedelta(days=14)
    """How long what happened in each single minute is kept."""

    keep_five_minutes: Duration = timedelta(days=90)
    """How long it is kept for every five minutes."""

    keep_hours: Duration = timedelta(days=800)
    """How long it is kept for every hour; reports reach back as far."""

    pool_labels: Annotated[tuple[_Label, ...], Field(min_length=1)] = (
        "karpenter.sh/nodepool",
        "eks.amazonaws.com/nodegroup",
        "cloud.google.com/gke-nodepool",
        "kubernetes.azure.com/agentpool",
        "agentpool",
        "node.kubernetes.io/instance-type",
    )
    """The labels that name a node's pool; the first one that a node has counts."""
