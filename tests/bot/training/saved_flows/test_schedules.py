"""Flows by the clock: each slot once, none while the last runs live, none for who may not."""

from datetime import UTC, datetime, timedelta

from sqlmodel import select

from bot.audit import AuditLine
from bot.reconcile.loop import Loop
from bot.slack.markup import when
from bot.slack.text import as_text
from bot.training.saved_flows.controller import FlowController
from bot.training.saved_flows.record import FlowRecorder
from bot.training.saved_flows.replies import unscheduled
from bot.training.saved_flows.tables import Flow
from playground.cluster.control.training import Training
from tests.bot.ground import ALICE, BOB, ERIN, NOON
from tests.bot.training.rig import Rig, settings
from tests.bot.training.saved_flows.flowing import (
    asked,
    named,
    row_of,
    saves,
    schedules,
    shown,
    submits,
)

NIGHT = datetime(2026, 11, 22, 2, 0, tzinfo=UTC)


def scheduled(rig: Rig, cron: str = "0 2 * * *", zone: str | None = None) -> str:
    """A flow of runs that have ended, which starts on a schedule."""
    submits(rig)
    rig.pass_time(minutes=30)
    flow_id = saves(rig)
    schedules(rig, flow_id, cron, zone=zone)
    return flow_id


def asleep(rig: Rig, until: datetime) -> None:
    """Nothing of the bot looks until then."""
    rig.outside.clock.moment = until


def test_each_night_starts_all_runs_once(rig: Rig) -> None:
    flow_id = scheduled(rig)
    rig.pass_time(days=2)
    made = asked(rig)
    assert list(made) == [
        "prep", "train", "eval", "prep#2", "train#2", "eval#2", "prep#3", "train#3", "eval#3",
    ]  # fmt: skip
    nights = [at.replace(second=0, microsecond=0) for at in made.values()][3:]
    assert nights == [NIGHT] * 3 + [NIGHT + timedelta(days=1)] * 3
    assert {named(rig, each).phase for each in made} == {"succeeded"}
    assert shown(rig, flow_id) == [
        "✅ Flow nightly · Scheduled",
        "  Schedule  `0 2 * * *` in UTC",
        "  Next      2026-11-24 02:00 UTC",
        "  Runs for  Alice",
        "  Last      2026-11-23 02:00 UTC: prep#3, train#3, eval#3",
        "  Saved     Alice, 2026-11-21 12:30 UTC",
        "  Run    After  Image                  GPUs",
        "  prep          ghcr.io/acme/lane:3.1",
        "  train  prep   ghcr.io/acme/lane:3.1  2 GPUs",
        "  eval   train  ghcr.io/acme/lane:3.1  1 GPU",
        (
            "`/train flow run nightly` starts it now; `/train flow unschedule nightly` stops its"
            " schedule."
        ),
    ]
    assert rig.notes(flow_id) == {}


def test_two_bots_start_each_slot_once(rig: Rig) -> None:
    scheduled(rig, "*/30 * * * *")
    recorder = FlowRecorder(rig.access, rig.saved_flows.starter, rig.words)
    other = Loop(rig.database, rig.clock, [FlowController(rig.context, recorder)])
    asleep(rig, NOON + timedelta(minutes=61))
    for loop in (rig.loop, other, rig.loop, other):
        loop.run_due()
    rig.restart()
    rig.run()
    assert list(asked(rig))[3:] == ["prep#2", "train#2", "eval#2"]


def test_a_slot_of_live_runs_is_skipped(rig: Rig) -> None:
    flow_id = scheduled(rig, "0 * * * *")
    rig.world.behaviours["--epochs 3"] = Training(seconds_per_epoch=3600)
    rig.pass_time(minutes=31)
    assert list(asked(rig))[3:] == ["prep#2", "train#2", "eval#2"]
    rig.pass_time(hours=2)
    assert list(asked(rig))[3:] == ["prep#2", "train#2", "eval#2"]
    assert rig.notes(flow_id) == {
        "skipped-2026-11-21T14:00:00+00:00": (
            f"Flow `nightly` was not started at {when(NOON + timedelta(hours=2))}: prep#2, train#2"
            " and eval#2 of the last start have not ended.\n"
            "It is skipped until they have ended. `/train flow unschedule nightly` stops its"
            " schedule."
        )
    }
    assert shown(rig, flow_id)[:3] == [
        "⚠️ Flow nightly · Scheduled",
        "prep#2, train#2 and eval#2 of the last start have not ended.",
        "2 starts in a row were skipped.",
    ]


def test_who_left_the_team_pauses_the_schedule(rig: Rig) -> None:
    flow_id = scheduled(rig)
    rig.policy = settings(members={"people": [BOB]})
    rig.pass_time(days=2)
    assert list(asked(rig)) == ["prep", "train", "eval"]
    again = '`/train flow schedule nightly --cron "0 2 * * *"`'
    assert shown(rig, flow_id)[:5] == [
        "⚠️ Flow nightly · Schedule paused",
        "Alice may no longer submit runs of team-a.",
        f"A member of the team can start the schedule again: {again}",
        "  Schedule  `0 2 * * *` in UTC",
        "  Runs for  Alice",
    ]
    (note,) = rig.notes(flow_id).values()
    assert note.splitlines() == [
        "The schedule of flow `nightly` is paused. Alice may no longer submit runs of team-a.",
        f"A member of the team can start the schedule again: {again}",
    ]
    schedules(rig, flow_id, person=ERIN)
    rig.pass_time(days=1)
    assert named(rig, "prep#2").person == ERIN
    verbs = rig.do(lambda s: [each.verb for each in s.exec(select(AuditLine))])
    assert [each for each in verbs if each.startswith("flow.")] == [
        "flow.save", "flow.schedule", "flow.pause", "flow.schedule", "flow.start",
    ]  # fmt: skip


def test_a_schedule_starts_again_in_its_zone(rig: Rig) -> None:
    flow_id = scheduled(rig, zone="Europe/Berlin")
    again = 'train flow schedule nightly --cron "0 2 * * *" --zone Europe/Berlin'
    before = rig.policy
    rig.policy = settings(members={"people": [BOB]})
    rig.pass_time(days=1)
    assert row_of(rig, flow_id).unblock.endswith(f": `/{again}`")
    rig.policy = before
    by, now = rig.caller(ALICE), rig.clock.now()
    options = rig.do(lambda s: rig.saved_flows.unschedule(s, by, s.get_one(Flow, flow_id), now))
    assert as_text(unscheduled(row_of(rig, flow_id), options, rig.words)) == (
        f"Flow `nightly` has no schedule any more. Its runs go on. `/{again}` starts the schedule"
        " again."
    )


def test_a_refused_slot_submits_nothing(rig: Rig) -> None:
    flow_id = scheduled(rig)
    rig.policy = settings(limits={"gpus_per_run": 1})
    rig.pass_time(days=2)
    assert list(asked(rig)) == ["prep", "train", "eval"]
    assert row_of(rig, flow_id).last_runs == []
    assert rig.notes(flow_id) == {
        "refused-2026-11-22T02:00:00+00:00": (
            f"<@{ALICE}> Flow `nightly` was not started at {when(NIGHT)}. Run train of the flow"
            " was refused: 2 GPUs exceed the limit of team-a for one run: 1.\n"
            "Use `--gpus 1` or fewer, or ask an admin for a higher limit. No run was submitted.\n"
            f"Its next start is {when(NIGHT + timedelta(days=1))}; `/train flow run nightly`"
            " starts it now."
        )
    }
    rig.policy = settings()
    rig.pass_time(days=1)
    assert list(asked(rig))[3:] == ["prep#2", "train#2", "eval#2"]
    assert shown(rig, flow_id)[0] == "✅ Flow nightly · Scheduled"


def test_a_taken_name_refuses_a_slot(rig: Rig) -> None:
    """A schedule has no other names to choose from."""
    flow_id = scheduled(rig)
    rig.pass_time(hours=13, minutes=20)
    rig.submit("prep", gpus=32)
    rig.pass_time(minutes=20)
    row = row_of(rig, flow_id)
    assert row.reason.startswith("Run prep of the flow was refused: prep#2 has not ended")
    assert row.unblock == (
        "Wait until it ends, or stop it with `/train stop prep`. No run was submitted."
    )


def test_a_missed_slot_is_started_late(rig: Rig) -> None:
    flow_id = scheduled(rig, "0 * * * *")
    asleep(rig, NOON + timedelta(hours=4, minutes=25))
    rig.run()
    rig.pass_time(seconds=30)
    assert list(asked(rig))[3:] == ["prep#2", "train#2", "eval#2"]
    assert shown(rig, flow_id)[1] == "It was started 25m late. Earlier times were missed, too."


def test_a_slot_of_yesterday_starts_nothing(rig: Rig) -> None:
    flow_id = scheduled(rig)
    asleep(rig, NIGHT + timedelta(hours=7))
    rig.run()
    rig.pass_time(minutes=5)
    assert list(asked(rig)) == ["prep", "train", "eval"]
    (note,) = rig.notes(flow_id).values()
    assert "It could not be started within 6h." in note


def test_a_stopped_schedule_starts_nothing(rig: Rig) -> None:
    flow_id = scheduled(rig)
    by, now = rig.caller(ERIN), rig.clock.now()
    rig.do(lambda s: rig.saved_flows.unschedule(s, by, s.get_one(Flow, flow_id), now))
    rig.pass_time(days=1)
    assert list(asked(rig)) == ["prep", "train", "eval"]
