"""The figures of a digest, as stored in its row; what is unknown is None or absent."""

from datetime import datetime

import msgspec


class GpuShare(msgspec.Struct, frozen=True):
    """The allocated share of all GPUs, and the busy share of the allocated ones, in 0..1."""

    allocated: float | None = None
    busy: float | None = None


class TeamFigures(msgspec.Struct, frozen=True):
    """A team's GPU-hours; `efficiency` and `known` are shares, `cost` covers `priced` of them.

    `quoted` is the share of the sampled time that `quota` and `borrowed` cover.
    """

    team: str
    used: float
    quota: float | None = None
    borrowed: float | None = None
    busy: float | None = None
    efficiency: float | None = None
    known: float | None = None
    cost: float | None = None
    priced: float = 0.0
    quoted: float | None = None


class Idle(msgspec.Struct, frozen=True):
    """A workload that `held` GPUs and left them idle, in GPU-hours; `since` is set while idle.

    `known` is the measured share of what it held. `unowned` is the id of its series if it was not
    started by the bot and has no known owner.
    """

    name: str
    team: str
    owner: str
    hours: float
    held: float
    since: datetime | None = None
    run_id: str = ""
    known: float | None = None
    unowned: str = ""


class Queue(msgspec.Struct, frozen=True):
    """How long runs waited, in seconds, and which run is waiting longest now."""

    count: int = 0
    median: float | None = None
    p90: float | None = None
    waiting: int = 0
    longest: str = ""
    longest_seconds: float = 0.0
    longest_why: str = ""


class Faulty(msgspec.Struct, frozen=True):
    """A GPU with a fault: where it is, what is wrong, and since when it is known."""

    where: str
    what: str
    since: datetime


class Changed(msgspec.Struct, frozen=True):
    """A quota override: what it changes, and until when, or when it ended."""

    what: str
    reason: str
    until: datetime | None = None
    ended: datetime | None = None


class Caches(msgspec.Struct, frozen=True):
    """The number and size of caches, and the next one to be evicted."""

    count: int
    size_bytes: int
    next_name: str = ""
    next_at: datetime | None = None


class Raised(msgspec.Struct, frozen=True):
    """A volume of Azure NetApp Files with a raised level; `cost` is the added cost per month.

    The raise ends at `until`, has `ended`, is being reverted (`is_returning`) or lasts while in
    use (`is_kept`); otherwise it is permanent.
    """

    what: str
    owner: str
    cost: float | None = None
    until: datetime | None = None
    ended: datetime | None = None
    is_returning: bool = False
    is_kept: bool = False


class Days(msgspec.Struct, frozen=True):
    """GPU-hours by team and day, None on days without samples."""

    labels: tuple[str, ...] = ()
    teams: dict[str, tuple[float | None, ...]] = {}
    capacity: float | None = None


class Hours(msgspec.Struct, frozen=True):
    """The allocated share of the GPUs, by day and hour."""

    days: tuple[str, ...] = ()
    cells: tuple[tuple[float | None, ...], ...] = ()


class Figures(msgspec.Struct, frozen=True):
    """All figures of a digest; `sampled` is the share of the time with samples, by cluster.

    `known` is the measured share of the allocated GPU-hours, `quoted` the share of the sampled
    time in which quotas are known.
    """

    is_whole: bool
    capacity: float | None
    gpus: float | None
    share: GpuShare
    before: GpuShare
    mean: GpuShare
    sampled: dict[str, float]
    known: float | None
    quoted: float | None = None
    currency: str = ""
    troubles: tuple[str, ...] = ()
    free: float | None = None
    teams: tuple[TeamFigures, ...] = ()
    idle: tuple[Idle, ...] = ()
    idle_hours: float | None = None
    queue: Queue | None = None
    preemptions: tuple[tuple[str, int], ...] = ()
    failures: tuple[tuple[str, int], ...] = ()
    hardware: tuple[Faulty, ...] = ()
    overrides: tuple[Changed, ...] = ()
    caches: Caches | None = None
    raised: tuple[Raised, ...] = ()
    days: Days | None = None
    hours: Hours | None = None


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(Figures)


def kept(figures: Figures) -> dict[str, object]:
    """The figures as plain values, for storing in a row."""
    found: dict[str, object] = msgspec.to_builtins(figures)
    return found


def read(found: dict[str, object]) -> Figures:
    """The figures from the plain values of a row."""
    return msgspec.convert(found, Figures)
