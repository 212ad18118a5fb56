"""Wakes snapshots, restores and reverts when their objects change."""

from functools import partial

from bot.cluster import labels
from bot.cluster.resources import PVCS, SNAPSHOT_ACTIONS, SNAPSHOTS
from bot.reconcile.labelled import LabelledObjects
from bot.snapshots.tables import RESTORE, REVERT, SNAPSHOT

CHANGES = (
    partial(LabelledObjects, kind=SNAPSHOT, label=labels.SNAPSHOT, resources=(SNAPSHOTS,)),
    partial(LabelledObjects, kind=RESTORE, label=labels.RESTORE, resources=(PVCS,)),
    partial(LabelledObjects, kind=REVERT, label=labels.REVERT, resources=(SNAPSHOT_ACTIONS,)),
)
"""What makes a handler of changes from the clusters."""
