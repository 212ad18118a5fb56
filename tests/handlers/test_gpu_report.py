"""/gpu report, as people read it and as CSV."""

from datetime import UTC, datetime, timedelta

from tests.handlers.command_client import (
    ALICE,
    CAROL,
    TEAM_A,
    CommandClient,
)
from tests.handlers.gpu_past import (
    BUSY,
    HELD,
    held,
    lines,
    sampled,
    submitted,
)


def test_report_adds_up_and_says_gaps(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    lane = held(client, "lane", person=ALICE, run_id=run_id)
    external = held(client, "by-hand", gpu_type="a100")
    other = held(client, "other", team="team-b")
    sampled(client, 29, {lane: BUSY, external: HELD, other: HELD})
    today = datetime.now(UTC).date()
    days = f"{today - timedelta(days=1)} to {today}"
    asked = f"/gpu report --from {today - timedelta(days=1)}"
    title, gaps, *rest = lines(client.says(ALICE, TEAM_A, f"{asked} --by run"))
    assert title == f"GPUs of team-a, {days}"
    assert gaps.startswith("Samples of default cover ")
    assert gaps.endswith(" % of the time; the figures exclude the rest.")
    assert rest == [
        "GPU activity is known for 50 % of the GPU-hours.",
        "  Run             GPU-hours  Busy         At 0 %   Measured  Borrowed  Runs  Wait",
        "  team-a/by-hand  2.00       unknown      unknown  0 %       -         0     -",
        "  team-a/lane     2.00       1.50 (75 %)  0.00     100 %     -         1     0s",
        "  total           4.00       1.50 (75 %)  0.00     50 %      -         1     0s",
        "  [Share]",
    ]
    names = ",".join(str(today - timedelta(days=each)) for each in (1, 0))
    assert lines(client.says(CAROL, TEAM_A, f"{asked} --all --csv"))[3:] == [
        (
            "team,gpu_hours,busy_gpu_hours,idle_gpu_hours,measured_gpu_hours,borrowed_gpu_hours,runs,"
            "waited_hours,cost,unpriced_gpu_hours,currency,from,to"
        ),
        f"team-a,4.000,1.500,0.000,2.000,,1,0.000,,,,{names}",
        f"team-b,2.000,,,0.000,,0,0.000,,,,{names}",
        f"total,6.000,1.500,0.000,2.000,,1,0.000,,,,{names}",
    ]


def test_people_of_reports_have_names(client: CommandClient) -> None:
    lane = held(client, "lane", person=ALICE, run_id=submitted(client, "lane"))
    external = held(client, "by-hand")
    sampled(client, 29, {lane: HELD, external: BUSY})
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    told = lines(client.says(ALICE, TEAM_A, f"/gpu report --from {yesterday} --by person"))
    assert [line.split("  ")[1] for line in told[-4:-1]] == ["Alice", "unknown", "total"]
