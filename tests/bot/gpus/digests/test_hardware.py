"""What digests say of GPUs that have something wrong themselves."""

from datetime import UTC, datetime, timedelta

from sqlmodel import Session

from bot.database.database import Database
from bot.gpus.digests.card import digest_card
from bot.gpus.digests.figures import Figures, GpuShare
from bot.gpus.digests.gathering import hardware
from bot.gpus.minutes import Window, minute_of
from bot.gpus.samples.faults import forget_faults, keep_faults
from bot.gpus.sources.source import Fault, FaultKind
from bot.slack.text import as_text

DAY = datetime(2026, 11, 20, tzinfo=UTC)
FELL_OFF = Fault("gpu-1", "3", FaultKind.XID, 79)
BROKEN = Fault("gpu-2", "0", FaultKind.REMAP_FAILED, 1)
REMAPPED = Fault("gpu-2", "0", FaultKind.REMAPPED, 2)


def seen(hours: float, *faults: Fault, minutes: int = 1) -> dict[int, tuple[Fault, ...]]:
    first = minute_of(DAY + timedelta(hours=hours))
    return dict.fromkeys(range(first, first + minutes), faults)


def told(database: Database, day: int) -> list[str]:
    window = Window(DAY + timedelta(days=day), DAY + timedelta(days=day + 1))
    found = database.read(lambda session: hardware(session, window))
    figures = Figures(
        is_whole=False, capacity=None, gpus=None, share=GpuShare(), before=GpuShare(),
        mean=GpuShare(), sampled={}, known=None, hardware=found,
    )  # fmt: skip
    card = digest_card(figures, window.begun, window.ended, "UTC")
    return [line for line in as_text(card).splitlines() if line.startswith(("• ", "Hardware"))]


def test_what_began_is_told_on_its_day(database: Database) -> None:
    def work(session: Session) -> None:
        for hours in (10, 10.5, 11, 30):
            keep_faults(session, "default", seen(hours, BROKEN, REMAPPED))
        keep_faults(session, "default", seen(10.25, FELL_OFF))

    database.transaction(work)
    # Nobody has mended it by the next day, but it was not seen for hours, so it has begun anew.
    broken = "memory rows could not be remapped; replace the GPU, since "
    assert told(database, -1) == []
    assert told(database, 0) == [
        "Hardware",
        "• GPU 3 of gpu-1: XID 79 (the GPU has fallen off the bus), since 2026-11-20 10:15 UTC",
        f"• GPU 0 of gpu-2: {broken}2026-11-20 10:00 UTC",
        "• GPU 0 of gpu-2: 2 memory rows remapped, since 2026-11-20 10:00 UTC",
    ]
    assert told(database, 1) == [
        "Hardware",
        f"• GPU 0 of gpu-2: {broken}2026-11-21 06:00 UTC",
        "• GPU 0 of gpu-2: 2 memory rows remapped, since 2026-11-21 06:00 UTC",
    ]
    assert told(database, 2) == []


def test_what_stands_is_told_each_day(database: Database) -> None:
    def work(session: Session) -> None:
        for hour in range(10, 30):
            keep_faults(session, "default", seen(hour, BROKEN, REMAPPED, minutes=60))

    database.transaction(work)
    assert [len(told(database, day)) for day in (0, 1, 2)] == [3, 2, 0]
    before = minute_of(DAY + timedelta(days=30))
    database.transaction(lambda session: forget_faults(session, before))
    assert told(database, 1) == []
