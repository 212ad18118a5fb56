"""/gpu status, nodes, top, idle, show and report, as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from playground.cluster.story import training_job
from tests.bot.cluster.api.api_server import eventually
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
)
from tests.handlers.gpu_past import (
    BUSY,
    HELD,
    IDLE,
    MINUTE,
    begun_half_an_hour_ago,
    held,
    held_pods,
    lines,
    sample,
    sampled,
    submitted,
)
from tests.playground.cluster.served import Served


def test_status_before_any_sample_says_so(client: CommandClient) -> None:
    assert lines(client.says(ALICE, TEAM_A, "/gpu status")) == [
        "GPUs · no samples yet",
        "default: unknown. The first sample is taken within a minute or two.",
    ]


def test_status_tells_allocated_and_busy_apart(client: CommandClient, served: Served) -> None:
    submitted(client, "lane")
    served.cluster.create("jobs", training_job("by-hand", 3, epochs=100), "team-b")
    eventually(lambda: served.cluster.list("pods", "team-b"))
    eventually(lambda: held_pods(client) == 1)
    sample(client)
    assert lines(client.says(ALICE, TEAM_A, "/gpu status")) == [
        "GPUs · 3 of 16 allocated",
        "default: 3 of 16 GPUs allocated (19 %); sampled this minute.",
        "Busy share of allocated GPUs: unknown. This cluster has no source of GPU metrics.",
        "Nothing is known to be waiting.",
        "  h100  3 of 16 allocated",
        "  Team    Allocated  Quota  Borrowed  Busy     Waiting  Longest wait",
        "  team-a  0          4      0         -        0        -",
        "  team-b  3          8      0         unknown  0        -",
    ]
    assert lines(client.says(BOB, TEAM_B, "/gpu nodes"))[2:] == [
        "  Node   Type  Pool  Allocated  Held by   State",
        "  gpu-1  h100  -     3 of 8     team-b 3  ready",
        "  gpu-2  h100  -     0 of 8     -         ready",
    ]


def test_what_gpus_of_a_run_did(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    begun_half_an_hour_ago(client, run_id)
    lane = held(client, "lane", person=ALICE, run_id=run_id)
    other = held(client, "other", team="team-b")
    sampled(client, 29, {lane: BUSY, other: HELD})
    said = lines(client.says(ALICE, TEAM_A, "/gpu show lane"))
    assert said[:-1] == [
        "GPUs of lane · asked",
        "  GPU-hours  2.00",
        "  Busy       75 %",
        "  Measured   100 % of the GPU-hours",
        "  At 0 %     0.00 GPU-hours",
        "  Memory     75 % on average, 75 % at its peak",
    ]
    assert said[-1].startswith("  GPUs of lane, UTC, in %. ")
    assert said[-1].endswith(": busy 75, memory 75.")


def test_a_run_nobody_measured_is_unknown(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    begun_half_an_hour_ago(client, run_id)
    sampled(client, 29, {held(client, "lane", person=ALICE, run_id=run_id): HELD})
    assert lines(client.says(ALICE, TEAM_A, "/gpu show lane")) == [
        "GPUs of lane · asked",
        "  GPU-hours  2.00",
        "  Busy       unknown: its GPUs were not measured",
    ]


def test_a_run_nobody_sampled_is_said(client: CommandClient) -> None:
    submitted(client, "lane")
    assert lines(client.says(ALICE, TEAM_A, "/gpu show lane")) == [
        "GPUs of lane",
        "No sample recorded a GPU for this run.",
    ]


def test_top_is_of_the_own_team(client: CommandClient) -> None:
    assert lines(client.says(ALICE, TEAM_A, "/gpu top"))[1:] == [
        "No GPU allocation was recorded in that time."
    ]
    lane = held(client, "lane", person=ALICE, run_id="1")
    external = held(client, "by-hand")
    other = held(client, "other", team="team-b")
    sampled(client, 29, {lane: BUSY, external: IDLE, other: HELD})
    assert lines(client.says(ALICE, TEAM_A, "/gpu top --for 1d")) == [
        "GPU-hours of team-a",
        "GPU usage by run in the last 1d.",
        "  Run      Team    Type  GPU-hours  Busy  GPU-hours at 0 %",
        "  lane     team-a  h100  2.00       75 %  0.00",
        "  by-hand  team-a  h100  1.00       0 %   1.00",
    ]
    assert lines(client.says(CAROL, TEAM_A, "/gpu top --all --by idle"))[3:] == [
        "  by-hand  team-a  h100  1.00       0 %      1.00",
        "  lane     team-a  h100  2.00       75 %     0.00",
        "  other    team-b  h100  2.00       unknown  unknown",
    ]
    assert client.says(ALICE, TEAM_A, "/gpu top --all").splitlines()[0] == (
        "Only admins can see the runs of every team."
    )


def test_idle_runs_are_told_with_what_helps(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    since = datetime.now(UTC) - timedelta(hours=2)
    lane = held(client, "lane", person=ALICE, run_id=run_id, idle_since=since)
    external = held(client, "by-hand", idle_since=since + timedelta(hours=1))
    sampled(client, 5, {lane: IDLE, external: IDLE})
    assert lines(client.says(ALICE, TEAM_A, "/gpu idle")) == [
        "Idle GPUs · 4 allocated and idle",
        (
            f"`lane` in team-a: 2 GPUs at 0 % since {since:%Y-%m-%d %H:%M} UTC"
            " (2h, 4.00 GPU-hours). Owner: @U0ALICE."
        ),
        (
            f"`by-hand` in team-a: 2 GPUs at 0 % since {since + 60 * MINUTE:%Y-%m-%d %H:%M} UTC"
            " (1h, 2.00 GPU-hours). Owner: unknown."
        ),
        "  [Stop lane] [Snooze lane 4 h] [by-hand is mine]",
    ]
    assert client.clicks(ERIN, TEAM_A, "gpu.snooze", run_id).startswith(
        "Snoozed `lane`. It is left alone and not listed as idle until "
    )
    assert client.clicks(ALICE, TEAM_A, "gpu.mine", str(external)) == (
        "Recorded you as the owner of `by-hand`."
    )
    assert client.clicks(ERIN, TEAM_A, "gpu.mine", str(external)).splitlines() == [
        "by-hand already belongs to @U0ALICE.",
        "Ask them about it.",
    ]
    [title, left, *_] = lines(client.says(ALICE, TEAM_A, "/gpu idle"))
    assert title == "Idle GPUs · 2 allocated and idle"
    assert left.startswith("`by-hand` in team-a")
    assert left.endswith("Owner: @U0ALICE.")


def test_buttons_of_digests_work_in_any_channel(client: CommandClient) -> None:
    """A digest stands in channels of no team; the run's team still says who may."""
    run_id = submitted(client, "lane")
    for action in ("gpu.snooze", "train.stop"):
        assert client.clicks(BOB, ELSEWHERE, action, run_id).splitlines()[0] == (
            "You are not a member of team-a."
        )
        assert client.clicks(DAN, ELSEWHERE, action, run_id).startswith("Guests and people from")
    assert client.clicks(ERIN, ELSEWHERE, "gpu.snooze", run_id).startswith("Snoozed `lane`.")
    external = str(held(client, "by-hand", idle_since=datetime.now(UTC)))
    assert client.clicks(BOB, ELSEWHERE, "gpu.mine", external).splitlines()[0] == (
        "You are not a member of team-a."
    )
    assert client.clicks(ERIN, ELSEWHERE, "gpu.mine", external) == (
        "Recorded you as the owner of `by-hand`."
    )
    assert client.clicks(ALICE, ELSEWHERE, "train.logs", run_id).splitlines()[0] == (
        "This channel belongs to no team, so this cannot be used here."
    )
    assert client.clicks(ERIN, ELSEWHERE, "train.stop", run_id).startswith("Stopping `lane`")


def test_others_change_nothing_about_idle_runs(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    external = str(held(client, "by-hand", idle_since=datetime.now(UTC)))
    assert client.clicks(BOB, TEAM_B, "gpu.snooze", run_id).splitlines()[0] == (
        "You are not a member of team-a."
    )
    assert client.clicks(BOB, TEAM_B, "gpu.mine", external).splitlines()[0] == (
        "You are not a member of team-a."
    )
    assert client.clicks(ALICE, TEAM_A, "gpu.mine", "999").splitlines()[0] == (
        "This workload is no longer known."
    )


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("report --from 2026-13-01", "`--from` takes"),
        ("report --from 01.11.2026", "`--from` takes"),
        ("report --from 2026-11-10 --to 2026-11-01", "2026-11-10 is after 2026-11-01."),
        ("report --from 2999-01-01 --to 2999-01-02", "2999-01-01 is in the future."),
        ("report --from 2020-01-01 --to 2026-11-01", "From 2020-01-01 to 2026-11-01 is longer"),
        ("report --by colour", "`--by` takes"),
        ("top --by colour", "`--by` takes"),
        ("top --for 1s", "`--for` takes"),
        ("show nothing", "team-a has no run nothing."),
        ("statuss", "`/gpu statuss` is not a command."),
    ],
)
def test_wrong_words_are_explained(client: CommandClient, words: str, answer: str) -> None:
    assert client.says(ALICE, TEAM_A, f"/gpu {words}").startswith(answer)


@pytest.mark.parametrize("words", ["status", "nodes", "top", "idle", "show lane", "report"])
@pytest.mark.parametrize(
    ("person", "channel", "answer"),
    [
        (BOB, TEAM_A, "You are not a member of team-a."),
        (ALICE, ELSEWHERE, "This channel belongs to no team, so this cannot be used here."),
        (DAN, TEAM_A, "Guests and people from other workspaces cannot use Quartermaster."),
    ],
)
def test_others_are_told_nothing(
    client: CommandClient, person: str, channel: str, answer: str, words: str
) -> None:
    assert client.says(person, channel, f"/gpu {words}").splitlines()[0] == answer
