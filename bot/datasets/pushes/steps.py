"""The decisions for a push, and the observation they are based on."""

from dataclasses import dataclass, field
from datetime import timedelta

from bot.datasets.decision import SurveyObserved
from bot.datasets.push_tables import PushPhase
from bot.datasets.pushes.restored import Restored, RestoredPart
from bot.datasets.saying import Said

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
class Wait:
    """There is nothing left to do."""


@dataclass(frozen=True)
class Make:
    """Create one of the objects through which a snapshot is read."""

    part: RestoredPart


@dataclass(frozen=True)
class Create:
    """Create the Job."""


@dataclass(frozen=True)
class UpdateStatus:
    """The push continues; update its phase and progress."""

    phase: PushPhase
    obstacle: str = ""


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
class Fail:
    """The push failed; `reason` and `unblock` are sentences: why, and what to do."""

    reason: str
    unblock: str = ""
    keys: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Delete:
    """Delete the Job: the push has ended, or needs another one."""

    uid: str


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


@dataclass(frozen=True)
class Done:
    """All its objects are deleted, except a volume that its class retains."""

    retained: str = ""


Decision = (
    Wait | Make | Create | UpdateStatus | Recreate | Pushed | Fail | Delete | Remove | Close
    | AwaitDeletion | Done
)  # fmt: skip
