"""Settings of snapshots."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import Duration, Keep
from bot.config.sections.datasets import DriverName
from bot.config.sections.section import Section

_SnapshotClass = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=253)
]


class Snapshots(Section):
    """How snapshots of teams' PVCs are taken, kept and restored."""

    classes: dict[DriverName, _SnapshotClass] = Field(default_factory=dict)
    """The VolumeSnapshotClass of each CSI driver; without it, the driver's default in the
    cluster."""

    limits: dict[DriverName, Annotated[int, Field(ge=1)]] = Field(
        default_factory=lambda: {"csi.trident.netapp.io": 255}
    )
    """The maximum number of snapshots of one PVC, by CSI driver. A volume of ANF takes 255."""

    keep: Keep = "off"
    """How long a snapshot is kept without `--keep`; `off` keeps it until it is deleted."""

    ready_within: Duration = timedelta(hours=1)
    """A snapshot that is not ready after this time has failed."""

    late_within: Duration = timedelta(hours=6)
    """A missed scheduled snapshot is taken late within this time, and skipped after it."""

    restored_within: Duration = timedelta(hours=6)
    """A PVC that its driver has not created from a snapshot after this time has failed."""
