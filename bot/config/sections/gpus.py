"""Settings of GPU samples."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import Duration
from bot.config.sections.section import Section

_Label = Annotated[str, StringConstraints(min_length=1, max_length=317)]


class Gpus(Section):
    """How long GPU usage is kept, and which labels name node pools."""

    keep_minutes: Duration = timedelta(days=14)
    """How long GPU usage per minute is kept."""

    keep_five_minutes: Duration = timedelta(days=90)
    """How long GPU usage per five minutes is kept."""

    keep_hours: Duration = timedelta(days=800)
    """How long GPU usage per hour is kept; reports reach back this far."""

    pool_labels: Annotated[tuple[_Label, ...], Field(min_length=1)] = (
        "karpenter.sh/nodepool",
        "eks.amazonaws.com/nodegroup",
        "cloud.google.com/gke-nodepool",
        "kubernetes.azure.com/agentpool",
        "agentpool",
        "node.kubernetes.io/instance-type",
    )
    """Labels that name a node's pool; the first one that a node has is used."""
