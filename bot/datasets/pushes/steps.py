"""What can be done next for a push, and what that is decided from."""

from dataclasses import dataclass, field
from datetime import timedelta

from bot.datasets.decision import Seen
from bot.datasets.push_tables import Phase
from bot.datasets.pushes.restored import Part, Restored
from bot.datasets.saying import Said

# What is read and a pod are there within minutes, or never without somebody's help.
LATE_AFTER = timedelta(minutes=15)
STARTS_WITHIN = timedelta(hours=1)
GOES_ON = "Objects that are already in the store stay. Push again to copy the rest."
ADMIN = "Ask a platform admin to run `quartermaster doctor`, then push again."


@dataclass(frozen=True)
class Look:
    """What the cluster shows of the Job, and of what it reads.

    `has_claim` says whether the team's PVC is still there; `restored` is of a snapshot.
    """

    seen: Seen
    has_claim: bool = True
    restored: Restored | None = None

    @property
    def obstacle(self) -> str:
        """What keeps a pod from starting; a volume's driver knows better why it is not there."""
        return (self.restored.obstacle if self.restored is not None else "") or self.seen.obstacle


@dataclass(frozen=True)
class Rest:
    """Nothing is left to do."""


@dataclass(frozen=True)
class Make:
    """Make one of the objects by which a snapshot is read."""

    part: Part


@dataclass(frozen=True)
class Create:
    """Make the Job."""


@dataclass(frozen=True)
class Follow:
    """It goes on."""

    phase: Phase
    obstacle: str = ""


@dataclass(frozen=True)
class Again:
    """All is pushed, but nobody heard how: the Job is made once more, and finds all there.

    This is written before the Job goes, so that nobody else is taken for having deleted it.
    """


@dataclass(frozen=True)
class Pushed:
    """Every file is in the store, compared."""

    said: Said


@dataclass(frozen=True)
class Fail:
    """It ended before all was pushed; sentences say why, and what to do then."""

    reason: str
    unblock: str = ""
    keys: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Delete:
    """Delete the Job: the push has ended, or needs another one."""

    uid: str


@dataclass(frozen=True)
class Remove:
    """Delete one of the objects by which a snapshot was read."""

    part: Part
    uid: str


@dataclass(frozen=True)
class Close:
    """Have the share removed: nothing reads the PVC any more."""


@dataclass(frozen=True)
class Linger:
    """What it read is being removed; `why` it takes long."""

    why: str = ""


@dataclass(frozen=True)
class Cleared:
    """Nothing is left of it, but a volume that its class retains, by its name."""

    retained: str = ""


Decision = (
    Rest | Make | Create | Follow | Again | Pushed | Fail | Delete | Remove | Close | Linger
    | Cleared
)  # fmt: skip
