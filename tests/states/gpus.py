"""States of the cards of digests of GPU use."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from bot.gpus.digests.figures import (
    Caches,
    Changed,
    Days,
    Faulty,
    Figures,
    GpuShare,
    Hours,
    Idle,
    Queue,
    Raised,
    TeamFigures,
    kept,
)
from bot.gpus.digests.tables import Digest, Period
from tests.states.state import DAY, HOUR, ID, NOW, State, card

MIDNIGHT = NOW - 12 * HOUR


def digest(figures: Figures | None, period: Period = Period.DAY, **more: Any) -> Digest:
    """The digest of yesterday, or of the week until then."""
    length = DAY if period is Period.DAY else 7 * DAY
    fields: dict[str, Any] = {
        "id": ID, "workspace_id": "T0QM", "channel": "C0TEAMA", "period": period,
        "day": date(2026, 11, 21), "begun": MIDNIGHT - length, "ended": MIDNIGHT,
        "time_zone": "UTC", "sections": [], "asked_at": NOW,
        "figures": kept(figures) if figures else None,
    }  # fmt: skip
    return Digest(**(fields | more))


def figures(**more: Any) -> Figures:
    """A day of two teams."""
    fields: dict[str, Any] = {
        "is_whole": False, "capacity": 384.0, "gpus": 16.0, "known": 0.97, "currency": "USD",
        "share": GpuShare(0.74, 0.61), "before": GpuShare(0.69, 0.63), "mean": GpuShare(0.7, 0.6),
        "sampled": {"default": 1.0}, "quoted": 1.0, "free": 4.0,
    }  # fmt: skip
    return Figures(**(fields | more))


TEAMS = (
    TeamFigures("team-a", 190.5, 96.0, 94.5, 118.0, 0.62, 0.97, 476.25, 190.5, 1.0),
    TeamFigures("team-b", 93.6, 192.0, 0.0, 55.2, 0.59, 0.97, 234.0, 93.6, 1.0),
)
IDLE = (
    Idle("notebook", "team-a", "Alice", 9.5, 12.0, NOW - 9 * HOUR, "run-1", 1.0),
    Idle("Pod by-hand", "team-b", "", 5.2, 6.0, None, "", 1.0, "17"),
)


def whole() -> Figures:
    """Everything that a digest can have."""
    labels = tuple(f"{each} Nov" for each in range(14, 21))
    used: dict[str, tuple[float | None, ...]] = {
        "team-a": (120.0, 144.5, 96.0, 80.0, 150.0, 188.0, 190.5),
        "team-b": (90.0, 88.0, 120.0, None, 77.5, 64.0, 93.6),
    }  # fmt: skip
    cells = tuple(tuple(((day * 7 + hour * 5) % 24) / 24 for hour in range(24)) for day in range(7))
    return figures(
        is_whole=True, capacity=2_688.0, teams=TEAMS, idle=IDLE, idle_hours=14.7,
        queue=Queue(14, 540.0, 5_400.0, 2, "wide", 9_000.0, "It is waiting for 8 GPUs of h100."),
        preemptions=(("team-a", 2),), failures=(("out of memory", 3), ("exit code 1", 1)),
        hardware=(Faulty("GPU 3 of gpu-1", "XID 79 (the GPU has fallen off the bus)",
                         MIDNIGHT - 6 * HOUR),),
        overrides=(Changed("team-a: +8 h100", "CVPR deadline", NOW + 2 * DAY),),
        caches=Caches(3, 900 * 10**9, "chest-xray@v3", NOW + DAY),
        raised=(Raised("lane-data to Ultra", "Alice", 412.0, NOW + 3 * HOUR),),
        days=Days(labels, used, 384.0), hours=Hours(labels, cells),
    )  # fmt: skip


def states() -> Iterator[State]:
    """All of them."""
    yield card("digest-of-a-day", digest(figures(teams=TEAMS, idle=IDLE, idle_hours=14.7)))
    yield card("digest-of-a-week", digest(whole(), Period.WEEK))
    quiet = figures(share=GpuShare(0.0, None), before=GpuShare(), mean=GpuShare(), known=None)
    yield card("digest-of-a-quiet-day", digest(quiet))
    none = figures(share=GpuShare(), gpus=None, capacity=None, known=None, free=None, sampled={})
    yield card("digest-without-samples", digest(none))
    gaps = figures(sampled={"default": 0.41}, teams=TEAMS, known=0.5, quoted=0.4)
    late = "This digest is 2h late, because no bot was running."
    yield card("digest-with-gaps", digest(gaps, note=late))
    note = "No bot was running when this digest was due, at 09:00."
    yield card("digest-skipped", digest(None, is_skipped=True, note=note))
