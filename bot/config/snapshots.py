"""What quartermaster.yaml says of snapshots."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.datasets import DriverName
from bot.config.kinds import Duration, Keep
from bot.config.section import Section

_SnapshotClass = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=253)
]


class Snapshots(Section):
    """How snapshots of teams' PVCs are taken, kept and restored."""

    classes: dict[DriverName, _SnapshotClass] = Field(default_factory=dict)
    """The VolumeSnapshotClass of a CSI driver; else the one that is its default in the cluster."""

    limits: dict[DriverName, Annotated[int, Field(ge=1)]] = Field(
        default_factory=lambda: {"csi.trident.netapp.io": 255}
    )
    """The most snapshots of one PVC, by CSI driver; 255 are what a volume of ANF takes."""

    keep: Keep = "off"
    """How long a snapshot is kept where `--keep` does not say; off is until somebody deletes it."""

    ready_within: Duration = timedelta(hours=1)
    """After this a snapshot that its driver has not made ready has failed."""

    late_within: Duration = timedelta(hours=6)
    """A scheduled snapshot that was missed is taken late within this time, else skipped."""

    restored_within: Duration = timedelta(hours=6)
    """After this a PVC that its driver has not made from a snapshot has failed."""
