"""What the controller of one figure decides, and that overrides always end at the baseline."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.quotas.engines.quota import NOMINAL, Observed, QuotaAnnotation, QuotaTarget
from bot.quotas.managed.controller import Active, Done, Report, Write, decide, wanted_of
from bot.quotas.tables import ManagedQuota
from tests.moments import off_the_minute

NOW = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
TOMORROW = NOW + timedelta(days=1)
GPUS = "nvidia.com/gpu"


def quota(
    baseline: int = 4, last_written: int | None = 4, writing: int | None = None
) -> ManagedQuota:
    return ManagedQuota(
        workspace_id="T0QM",
        cluster="default",
        queue="team-a",
        flavor="h100",
        resource=GPUS,
        field=NOMINAL,
        baseline=Decimal(baseline),
        last_written=None if last_written is None else Decimal(last_written),
        writing=None if writing is None else Decimal(writing),
    )


def active(delta: int, override_id: str = "a", until: datetime | None = TOMORROW) -> Active:
    return Active(override_id, Decimal(delta), until)


def note(value: int, *ids: str, baseline: int = 4) -> QuotaAnnotation:
    return QuotaAnnotation(
        ids or ("a",), str(baseline), str(value), TOMORROW.isoformat(timespec="seconds")
    )


def seen(
    value: int | None, about: QuotaAnnotation | None = None, *, foreign: bool = False
) -> Observed:
    return Observed(None if value is None else Decimal(value), about, foreign)


TWELVE = QuotaTarget(Decimal(12), note(12))
FOUR = QuotaTarget(Decimal(4), None)
DRIFT = (
    "the nominal quota of ClusterQueue team-a (h100) was set to 6 outside Quartermaster; it"
    " should be 12. Nothing was changed."
)
FOREIGN = (
    "another Quartermaster installation has changed ClusterQueue team-a. Nothing was changed here."
)
GONE = "ClusterQueue team-a no longer has a nominal quota of nvidia.com/gpu for flavor h100."


@pytest.mark.parametrize(
    ("row", "on", "observed", "expected"),
    [
        (quota(), [active(8)], seen(4), Write(TWELVE)),
        (quota(last_written=4, writing=12), [active(8)], seen(4), Write(TWELVE)),
        (quota(last_written=4, writing=12), [active(8)], seen(12, note(12)), Done()),
        (quota(last_written=12), [active(8)], seen(12, note(12)), Done()),
        (quota(last_written=12), [active(8)], seen(12), Write(TWELVE)),
        (quota(last_written=12), [], seen(12, note(12)), Write(FOUR)),
        (quota(last_written=4), [], seen(4), Done()),
        (quota(last_written=4, writing=12), [], seen(12, note(12)), Write(FOUR)),
        (
            quota(last_written=12),
            [active(8), active(-2, "b")],
            seen(12, note(12)),
            Write(QuotaTarget(Decimal(10), note(10, "a", "b"))),
        ),
        (quota(), [active(4, until=None)], seen(4), Write(QuotaTarget(Decimal(8), None))),
        (
            quota(),
            [active(4, "base", until=None), active(8)],
            seen(4),
            Write(QuotaTarget(Decimal(16), note(16, baseline=8))),
        ),
        (quota(last_written=12), [active(8)], seen(6), Report(DRIFT, Decimal(6))),
        (quota(last_written=12), [active(8)], seen(12, foreign=True), Report(FOREIGN)),
        (quota(last_written=12), [active(8)], seen(None), Report(GONE)),
        (quota(last_written=12), [], seen(None), Done()),
    ],
)
def test_decides_from_row_overrides_and_observation(
    row: ManagedQuota, on: list[Active], observed: Observed, expected: Done | Write | Report
) -> None:
    assert decide(row, on, observed) == expected


class Queue:
    """A queue and its row, moved one event at a time as the controller moves them."""

    def __init__(self) -> None:
        self.row = quota()
        self.observed = seen(4)
        self.on: list[Active] = []

    def step(self, crash: str) -> bool:
        """One step, cut short where `crash` says; whether there was nothing left to do."""
        move = decide(self.row, self.on, self.observed)
        assert not isinstance(move, Report), move.sentence
        if isinstance(move, Done):
            self.row.last_written, self.row.writing = self.observed.value, None
            return True
        wanted = move.wanted
        if (self.row.last_written, self.row.writing) != (self.observed.value, wanted.value):
            if crash != "before the save":
                self.row.last_written, self.row.writing = self.observed.value, wanted.value
            return False
        if crash != "before the patch":
            self.observed = Observed(wanted.value, wanted.note)
        return False


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.integers(-4, 16)),
        st.tuples(st.just("end"), st.integers(0, 9)),
        st.tuples(st.just("step"), st.sampled_from(["", "before the save", "before the patch"])),
    ),
    max_size=40,
)


@given(EVENTS)
@settings(max_examples=500, deadline=None)
def test_overrides_in_any_order_end_at_baseline(events: list[tuple[str, int | str]]) -> None:
    queue = Queue()
    for position, (event, detail) in enumerate(events):
        if event == "start" and isinstance(detail, int):
            queue.on.append(active(detail, f"o{position}"))
        elif event == "end" and isinstance(detail, int) and queue.on:
            queue.on.pop(detail % len(queue.on))
        elif isinstance(detail, str):
            queue.step(detail)
    assert any(queue.step("") for _ in range(3))
    assert queue.observed.value == wanted_of(queue.row, queue.on).value
    queue.on.clear()
    assert any(queue.step("") for _ in range(3))
    assert queue.observed == seen(4)
