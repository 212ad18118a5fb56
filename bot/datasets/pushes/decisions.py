"""The decisions for a push, and the observation they are based on."""

from dataclasses import dataclass
from datetime import timedelta

from bot.datasets.pushes.restored import Restored, RestoredPart
from bot.datasets.saying import Said
from bot.datasets.tables import PushPhase
from bot.datasets.versions.decide import SurveyObserved
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus, Wait

# A volume and a pod start within minutes, or never without intervention.
LATE_AFTER = timedelta(minutes=15)
STARTS_WITHIN = timedelta(hours=1)
GOES_ON = "Objects that are already in the store stay. Push again to copy the rest."
ADMIN = "Ask a platform admin to run `quartermaster doctor`, then push again."


@dataclass(frozen=True)
class PushObserved:
    """The observed state of the Job, and of what it reads.

    `has_claim`: the team's PVC still exists. `restored`: the objects of a snapshot's push.
    """

    seen: SurveyObserved
    has_claim: bool = True
    restored: Restored | None = None

    @property
    def obstacle(self) -> str:
        """What keeps a pod from starting; the reason of a missing volume comes first."""
        return (self.restored.obstacle if self.restored is not None else "") or self.seen.obstacle


@dataclass(frozen=True)
class Make:
    """Create one of the objects through which a snapshot is read."""

    part: RestoredPart


@dataclass(frozen=True)
class Recreate:
    """The Job completed, but its result was lost: run it again, which finds all files pushed.

    This is recorded before the Job is deleted, so that its deletion does not look external.
    """


@dataclass(frozen=True)
class Pushed:
    """Every file is in the store and verified."""

    said: Said


@dataclass(frozen=True)
class Remove:
    """Delete one of the objects through which a snapshot was read."""

    part: RestoredPart
    uid: str


@dataclass(frozen=True)
class Close:
    """Close the share: nothing reads the PVC any more."""


@dataclass(frozen=True)
class AwaitDeletion:
    """Wait for the deletion of what it read; `why` says why it takes long."""

    why: str = ""


Decision = (
    Wait | Make | Create | UpdateStatus[PushPhase] | Recreate | Pushed | Fail | Delete | Remove
    | Close | AwaitDeletion | Done
)  # fmt: skip
