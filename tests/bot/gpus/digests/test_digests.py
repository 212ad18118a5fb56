"""A digest as a whole: what was sampled and done in a day, as its card says it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.charts.values import Bars, HeatMap, described
from bot.gpus.digests.card import digest_card
from bot.gpus.digests.controller import DigestRenderer
from bot.gpus.digests.figures import Figures, GpuShare
from bot.gpus.digests.tables import DIGEST, Digest
from bot.gpus.minutes import PER_HOUR, minute_of
from bot.gpus.tables import Hour, Sampling, Series, What
from bot.people.people import Person
from bot.quotas.tables import Override, OverridePhase
from bot.reconcile.due import wake
from bot.slack.card import Card
from bot.slack.messages import Message
from bot.slack.text import as_text
from bot.training.tables import RunPhase
from bot.volumes.changes.tables import ChangePhase, Direction, VolumeChange
from tests.bot.gpus.digests.days import OWED, QUOTED, add_run, begin, fill, waited
from tests.bot.gpus.digests.telling import DAY, HOUR, NEXT, NOW, Telling


def a_day(session: Session) -> None:
    """A notebook that idles, a run that works, others that wait, fail and are pushed out."""
    for user, name in (("U0ALICE", "Alice"), ("U0ERIN", "Erin"), ("U0BOB", "Bob")):
        session.add(Person(workspace_id="T0QM", user_id=user, name=name, refreshed_at=NOW))
    begin(session)
    fill(session, DAY - timedelta(days=8), DAY, {"lane": (2.0, 1.0, 0.5, 0.0)})
    fill(session, DAY, NEXT, {
        "lane": (2.0, 1.0, 0.75, 0.0),
        "notebook": (1.0, 1.0, 0.0, 1.0),
        "sweep": (3.0, 0.5, 0.25, 0.0),
    })  # fmt: skip
    add_run(session, "lane")
    add_run(session, "notebook", spec={"kind": "interactive", "gpus": "1", "session_seconds": 3600,
            "image": "x:1", "cpu": "1", "memory": "1Gi"})  # fmt: skip
    for number, minutes in enumerate((1, 5, 9, 60)):
        run = add_run(session, f"short-{number}", phase=RunPhase.SUCCEEDED, ended_at=NEXT - HOUR)
        began = DAY + timedelta(hours=2 + number)
        waited(session, run, RunPhase.PENDING, began, began + timedelta(minutes=minutes))
    run = add_run(session, "pushed", phase=RunPhase.RUNNING)
    waited(session, run, RunPhase.PENDING, DAY + 8 * HOUR, DAY + 8 * HOUR + timedelta(seconds=3))
    waited(session, run, RunPhase.PREEMPTED, DAY + 9 * HOUR, DAY + 9 * HOUR + timedelta(minutes=30))
    add_run(session, "sweep", phase=RunPhase.PREEMPTED, since=NEXT - 2 * HOUR,
            reason="team-a took its own GPUs back.")  # fmt: skip
    for number in range(3):
        reason = "It ran out of memory. It had 64Gi." if number else "Its image is not there."
        add_run(session, f"bad-{number}", phase=RunPhase.FAILED, ended_at=DAY + HOUR, reason=reason)
    session.add(override("ov-1", OverridePhase.ACTIVE, ends_at=NEXT + 2 * HOUR))
    session.add(override("ov-2", OverridePhase.ENDED, ended_at=DAY + 3 * HOUR))
    session.add(override("ov-3", OverridePhase.ENDED, ended_at=DAY - HOUR))
    session.add(raised("lane-data", ends_at=NEXT + 12 * HOUR, cost_delta=143.36))
    session.add(raised("results", phase=ChangePhase.DONE, cost_delta=None))
    session.add(raised("scratch", phase=ChangePhase.WORKING, direction=Direction.BACK))
    session.add(raised("done", phase=ChangePhase.RETURNED, ended_at=DAY + 3 * HOUR))


def override(row_id: str, phase: OverridePhase, **also: Any) -> Override:
    return Override(
        id=row_id, workspace_id="T0QM", cluster="default", team="team-a", queue="team-a",
        flavor="h100", resource="nvidia.com/gpu", mode="nominal_quota", amount=Decimal(2),
        shown_from=Decimal(4), duration_seconds=3600, reason="paper", requester="U0ALICE",
        channel="C0TEAMA", asked_at=DAY, phase=phase, starts_at=DAY, **also,
    )  # fmt: skip


def raised(claim: str, **also: Any) -> VolumeChange:
    fields = {
        "workspace_id": "T0QM", "team": "team-a", "person": "U0ERIN", "channel": "C0TEAMA",
        "cluster": "default", "namespace": "team-a", "claim_name": claim, "pv_name": claim,
        "kind": "level", "source_level": "Standard", "target_level": "Premium", "asked_at": DAY,
        "since": DAY, "phase": ChangePhase.HELD,
    }  # fmt: skip
    return VolumeChange(**{**fields, **also})


def test_one_point_is_no_points() -> None:
    figures = Figures(
        is_whole=True, capacity=None, gpus=8, share=GpuShare(0.5), before=GpuShare(0.51),
        mean=GpuShare(), sampled={}, known=None,
    )  # fmt: skip
    (line, *_) = as_text(digest_card(figures, DAY, DAY + 24 * HOUR, "UTC")).splitlines()[1:]
    assert line == "Allocated 50 % of 8 GPUs (\u22121 point from the week before)"


def test_whole_day_of_two_teams(told: Telling) -> None:
    told.database.transaction(a_day)
    card = told.card()
    charts = [chart.title for chart in card.charts]
    assert charts == ["GPU-hours by team", "GPU-hours by team and day", "Allocated GPUs by hour"]
    assert as_text(_without_charts(card)).splitlines() == [
        "GPUs, Friday 20 November 2026",
        (
            "Allocated 75 % of 8 GPUs (+50 points from the day before, +50 points from the 7-day"
            " mean)"
        ),
        (
            "Busy 50 % of the allocated GPUs (unchanged from the day before, unchanged from the"
            " 7-day mean)"
        ),
        "Idle at least 24 GPU-hours in total",
        "• notebook of team-a, Erin: 24 of its 24 GPU-hours",
        (
            "Queue 5 runs waited a minute or longer: median 9m, 90th percentile 1h."
            " 1 run is waiting now. The longest wait is 11h, for sweep of team-b:"
            " team-a took its own GPUs back."
        ),
        "Preempted 2: 2 x team-b",
        "Failed 3: 2 x It ran out of memory; 1 x Its image is not there",
        "Overrides Quota override for team-a: +2 h100 (paper), until 2026-11-21 02:00 UTC",
        "• Quota override for team-a: +2 h100 (paper), ended 2026-11-20 03:00 UTC",
        "ANF levels raised",
        "• team-a/scratch from Standard to Premium, Erin, being reverted",
        (
            "• team-a/lane-data from Standard to Premium, Erin, until 2026-11-21 12:00 UTC, 143.36"
            " more a month"
        ),
        "• team-a/results from Standard to Premium, Erin, permanent",
        "• team-a/done from Standard to Premium, Erin, ended 2026-11-20 03:00 UTC",
        "  Team    Quota  Used  Borrowed  Busy         Efficiency  Cost (USD)",
        "  team-a  96     72    0         36           50 %        180.00",
        "  team-b  48     72    24        at least 18  50 %        180.00",
        "GPU activity is known for 75 % of the allocated time.",
        "Figures are in GPU-hours; the day is in UTC.",
    ]


def test_days_of_one_team_and_their_holes(told: Telling) -> None:
    def half_a_day(session: Session) -> None:
        begin(session)
        fill(session, DAY + 12 * HOUR, NEXT, {"lane": (2.0, 0.0, 0.0, 0.0)})
        state = session.get_one(Sampling, "default")
        state.trouble = "The Prometheus of default did not answer."
        session.add(state)

    told.database.transaction(half_a_day)
    card = told.card(team="team-a", channel="C0TEAMA", note="This digest is 20m late.")
    assert as_text(_without_charts(card)).splitlines() == [
        "GPUs, Friday 20 November 2026",
        "This digest is 20m late.",
        "Allocated 25 % of 8 GPUs",
        "Busy unknown: the allocated GPUs were not measured",
        "  Team    Quota  Used  Borrowed  Busy  Efficiency  Cost (USD)",
        "  team-a  48     24    0         ?     ?           60.00",
        "Samples of default cover 50 % of the time; the figures exclude the rest.",
        "GPU activity is known for 0 % of the allocated time.",
        "The Prometheus of default did not answer.",
        "Figures are in GPU-hours; the day is in UTC.",
    ]
    assert [chart.title for chart in card.charts] == [
        "GPU-hours by team and day",
        "Allocated GPUs by hour",
    ]


def test_nothing_known_is_said_to_be(told: Telling) -> None:
    told.database.transaction(lambda _session: None)
    assert as_text(told.card(sections=["teams", "idle"])).splitlines() == [
        "GPUs, Friday 20 November 2026",
        "Allocation is unknown: there are no samples for this time.",
        "Samples of default cover 0 % of the time; the figures exclude the rest.",
        "Figures are in GPU-hours; the day is in UTC.",
    ]


def test_posted_digest_stays_as_it_was(told: Telling) -> None:
    told.database.transaction(a_day)
    card = told.card()
    again = told.bot()
    row_id = told.database.read(lambda session: session.exec(select(Digest.id)).one())
    told.database.transaction(lambda session: wake(session, DIGEST, row_id, DIGEST, NOW))
    told.clock.moment += timedelta(days=1)
    again.run_due()
    same = told.database.read(lambda s: DigestRenderer().card(s, row_id, "C0DAILY"))
    assert same == card
    messages = told.database.read(lambda session: list(session.exec(select(Message))))
    assert [(each.channel, each.purpose, each.wants) for each in messages] == [
        ("C0DAILY", "card", 1)
    ]


def test_what_idles_has_the_buttons_of_its_list(told: Telling) -> None:
    def idling(session: Session) -> None:
        begin(session)
        add_run(session, "lane")
        add_run(session, "notebook", spec={"kind": "interactive", "gpus": "1", "image": "x:1",
                "session_seconds": 3600, "cpu": "1", "memory": "1Gi"})  # fmt: skip
        shared = {"what": What.OTHER, "cluster": "default", "team": "team-a", "gpu_type": "h100"}
        for number, name, person in ((98, "by-hand", ""), (99, "of-erin", "U0ERIN")):
            session.add(Series.model_validate(
                {**shared, "id": number, "key": name, "name": name, "person": person}
            ))  # fmt: skip
        session.flush()
        first = minute_of(DAY) // PER_HOUR
        fill(session, DAY, NEXT, dict.fromkeys(("lane", "notebook"), (2.0, 1.0, 0.0, 1.0)))
        for series in (98, 99):
            held = {"allocated": 60_000, "measured": 60_000, "busy": 0, "idle": 60_000}
            for hour in range(first, first + 2):
                session.add(Hour(hour=hour, series=series, **held, memory_used=0, memory_total=0))
        for each in session.exec(select(Series)):
            each.idle_since = DAY if each.id in {1, 2, 98, 99} else None
            session.add(each)

    told.database.transaction(idling)
    assert [(each.action, each.label, each.value) for each in told.card().buttons] == [
        ("train.stop", "Stop lane", "run-lane"),
        ("gpu.snooze", "Snooze lane 4 h", "run-lane"),
        ("train.stop", "Stop notebook", "run-notebook"),
        ("gpu.snooze", "Snooze notebook 4 h", "run-notebook"),
        ("gpu.mine", "by-hand is mine", "98"),
    ]


def test_skipped_digest_says_only_that(told: Telling) -> None:
    card = told.card(is_skipped=True, note="No bot was available to post it.")
    assert as_text(card).splitlines() == [
        "GPUs, Friday 20 November 2026 · Skipped",
        "No bot was available to post it.",
    ]


def _without_charts(card: Card) -> Card:
    return replace(card, charts=())


def test_capacity_is_that_of_whole_days(told: Telling) -> None:
    def an_hour(session: Session) -> None:
        begin(session)
        fill(session, DAY, DAY + HOUR, {"lane": (2.0, 1.0, 1.0, 0.0)})

    told.database.transaction(an_hour)
    by_team, by_day, _ = told.card().charts
    assert described(by_team) == (
        "GPU-hours by team, in GPU-hours. team-a: allocated 2, busy 2; team-b: 0."
    )
    assert isinstance(by_day, Bars)
    assert (by_day.line, by_day.series[0].values[-1]) == (192.0, 2.0)
    footer = [str(line) for line in told.card(number="1").footer]
    assert footer[0].startswith("Samples of default cover 4 % of the time")


FEW = ", too little to compare quota and borrowed GPU-hours with those used."
SOME = "; figures for quota and borrowed GPU-hours exclude the rest."


@pytest.mark.parametrize(
    ("hours", "quota", "borrowed", "said"),
    [
        (24, "48", "24", []),
        (23, "at least 46", "at least 23", [f"Quotas are known for 96 % of that time{SOME}"]),
        (12, "?", "?", [f"Quotas are known for 50 % of that time{FEW}"]),
        (0, "?", "?", [f"Quotas are known for 0 % of that time{FEW}"]),
    ],
)
def test_quotas_stand_beside_the_same_span(
    told: Telling, hours: int, quota: str, borrowed: str, said: list[str]
) -> None:
    def filled_later(session: Session) -> None:
        begin(session)
        fill(session, DAY, NEXT, {"sweep": (3.0, 1.0, 1.0, 0.0)})
        later = minute_of(DAY) // PER_HOUR + hours
        for row in session.exec(select(Hour).where(Hour.hour >= later)):
            if row.series in {*OWED, QUOTED}:
                session.delete(row)

    told.database.transaction(filled_later)
    card = told.card()
    assert card.table is not None
    assert card.table.rows[0][:4] == ("team-b", quota, "72", borrowed)
    assert [str(line) for line in card.footer] == [
        *said,
        "Figures are in GPU-hours; the day is in UTC.",
    ]


def test_few_hours_without_a_price_are_said(told: Telling) -> None:
    def with_a_new_type(session: Session) -> None:
        begin(session)
        fill(session, DAY, NEXT, {"lane": (2.0, 1.0, 1.0, 0.0)})
        stranger = Series(id=99, what=What.OTHER, cluster="default", key="new", team="team-a")
        session.add(stranger)
        session.flush()
        held = {"allocated": 12_000, "measured": 12_000, "busy": 0, "idle": 0}
        hour = minute_of(DAY) // PER_HOUR
        session.add(Hour(hour=hour, series=99, **held, memory_used=0, memory_total=0))

    told.database.transaction(with_a_new_type)
    card = told.card()
    assert card.table is not None
    assert [row[-1] for row in card.table.rows] == ["at least 120.00", "0"]
    assert str(card.footer[0]) == (
        'No price is known for 0.2 GPU-hours; a cost marked "at least" excludes them.'
    )


def test_day_so_far_is_in_its_charts(told: Telling) -> None:
    def a_morning(session: Session) -> None:
        begin(session)
        fill(session, DAY, DAY + 9 * HOUR, {"lane": (2.0, 1.0, 1.0, 0.0)})

    told.database.transaction(a_morning)
    card = told.card(ended=DAY + 9 * HOUR, sections=["days", "hours"])
    by_day, by_hour = card.charts
    assert isinstance(by_day, Bars)
    assert (by_day.labels[-1], by_day.series[0].values[-1]) == ("Nov 20", 18.0)
    assert isinstance(by_hour, HeatMap)
    assert by_hour.cells[-1] == (*[0.25] * 9, *[None] * 15)
