"""/gpu report, as people read it and as CSV."""

from datetime import UTC, datetime, timedelta

from tests.handlers.gpu_past import (
    BUSY,
    HELD,
    held,
    lines,
    sampled,
    submitted,
)
from tests.handlers.office import (
    ALICE,
    CAROL,
    TEAM_A,
    Office,
)


def test_report_adds_up_and_says_gaps(office: Office) -> None:
    run_id = submitted(office, "lane")
    lane = held(office, "lane", person=ALICE, run_id=run_id)
    stranger = held(office, "by-hand", gpu_type="a100")
    other = held(office, "other", team="team-b")
    sampled(office, 29, {lane: BUSY, stranger: HELD, other: HELD})
    today = datetime.now(UTC).date()
    days = f"{today - timedelta(days=1)} to {today}"
    asked = f"/gpu report --from {today - timedelta(days=1)}"
    title, gaps, *rest = lines(office.says(ALICE, TEAM_A, f"{asked} --by run"))
    assert title == f"GPUs of team-a, {days}"
    assert gaps.startswith("Samples of default cover ")
    assert gaps.endswith(" % of the time; the figures exclude the rest.")
    assert rest == [
        "GPU activity is known for 50 % of the GPU-hours.",
        "  Run             GPU-hours  Busy         At 0 %   Measured  Borrowed  Runs  Wait",
        "  team-a/by-hand  2.00       unknown      unknown  0 %       -         0     -",
        "  team-a/lane     2.00       1.50 (75 %)  0.00     100 %     -         1     0s",
        "  total           4.00       1.50 (75 %)  0.00     50 %      -         1     0s",
    ]
    names = ",".join(str(today - timedelta(days=each)) for each in (1, 0))
    assert lines(office.says(CAROL, TEAM_A, f"{asked} --all --csv"))[3:] == [
        (
            "team,gpu_hours,busy_gpu_hours,idle_gpu_hours,measured_gpu_hours,borrowed_gpu_hours,runs,"
            "waited_hours,cost,unpriced_gpu_hours,currency,from,to"
        ),
        f"team-a,4.000,1.500,0.000,2.000,,1,0.000,,,,{names}",
        f"team-b,2.000,,,0.000,,0,0.000,,,,{names}",
        f"total,6.000,1.500,0.000,2.000,,1,0.000,,,,{names}",
    ]


def test_people_of_reports_have_names(office: Office) -> None:
    lane = held(office, "lane", person=ALICE, run_id=submitted(office, "lane"))
    stranger = held(office, "by-hand")
    sampled(office, 29, {lane: HELD, stranger: BUSY})
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    told = lines(office.says(ALICE, TEAM_A, f"/gpu report --from {yesterday} --by person"))
    assert [line.split("  ")[1] for line in told[-3:]] == ["Alice", "unknown", "total"]
