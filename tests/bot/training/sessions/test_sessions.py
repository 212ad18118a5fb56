"""Interactive sessions: for how long, who is reminded, and who makes them last longer."""

from datetime import timedelta

import pytest

from bot.audit import lines_about
from bot.training.sessions.service import SessionService
from bot.training.tables import RunPhase
from playground.cluster.story import training_job
from tests.bot.ground import ALICE, ERIN, START
from tests.bot.training.rig import Rig, settings
from tests.bot.training.sessions.notebooks import (
    MADE,
    NOTEBOOK,
    begin,
    buttons,
    extend,
    extend_until,
    leap,
    left,
    refused,
    running,
    shown,
    with_ingress,
)


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """A cluster with a way in for browsers."""
    return with_ingress(rig)


def test_its_owner_is_reminded_twice(rig: Rig) -> None:
    run_id = running(rig)
    until = rig.get(run_id).until or START
    leap(rig, until - timedelta(minutes=31))
    assert list(rig.notes(run_id)) == ["admitted-1"]
    leap(rig, until - timedelta(minutes=30))
    leap(rig, until - timedelta(minutes=20))
    assert rig.notes(run_id)["reminder-1"].splitlines() == [
        (
            f"<@{ALICE}> nb ends in 30m, {shown(until)}. Its pod and its data outside PVCs are"
            " then deleted."
        ),
        f"`/train extend nb 30m` extends it, until {shown(until, hours=16)} at most.",
    ]
    assert [each["label"] for each in buttons(rig, run_id, "reminder-1")] == [
        "Extend 1h",
        "Extend 4h",
    ]
    leap(rig, until - timedelta(minutes=5))
    leap(rig, until - timedelta(minutes=1))
    assert list(rig.notes(run_id)) == ["admitted-1", "reminder-1", "reminder-2"]


def test_an_extended_session_is_reminded_anew(rig: Rig) -> None:
    run_id = running(rig)
    until = rig.get(run_id).until or START
    leap(rig, until - timedelta(minutes=10))
    means = int(buttons(rig, run_id, "reminder-1")[0]["value"].partition(" ")[2])
    assert means == int((until + timedelta(hours=1)).timestamp())
    extend_until(rig, run_id, until + timedelta(hours=1))
    extend_until(rig, run_id, until + timedelta(hours=1))
    assert rig.get(run_id).until == until + timedelta(hours=1)
    leap(rig, until)
    assert list(rig.notes(run_id)) == ["admitted-1", "reminder-1"]
    leap(rig, until + timedelta(minutes=30))
    assert list(rig.notes(run_id)) == ["admitted-1", "reminder-1", "reminder-2"]
    leap(rig, until + timedelta(hours=1))
    rig.pass_time(minutes=1)
    assert (rig.get(run_id).phase, left(rig, run_id)) == (RunPhase.EXPIRED, [])


def test_short_sessions_are_not_reminded_at_once(rig: Rig) -> None:
    run_id = running(rig, time=timedelta(minutes=20))
    assert list(rig.notes(run_id)) == ["admitted-1"]
    leap(rig, START + timedelta(minutes=16))
    assert list(rig.notes(run_id)) == ["admitted-1", "reminder-1"]


def test_an_extension_beats_the_end_it_met(rig: Rig) -> None:
    run_id = running(rig)
    until = rig.get(run_id).until or START
    rig.outside.clock.moment = until
    step = rig.controller.step(run_id)
    extend_until(rig, run_id, until + timedelta(hours=1))
    rig.do(step.save)
    rig.run()
    run = rig.get(run_id)
    assert (run.phase, run.removing, rig.effects()) == (RunPhase.RUNNING, None, MADE)


def test_no_session_outlasts_what_its_team_allows(rig: Rig) -> None:
    assert refused(lambda: begin(rig, time=timedelta(days=2))) == (
        "2d exceeds the time limit for sessions of team-a: 1d. Use `--time 1d` or less."
    )
    run_id = running(rig)
    extend(rig, run_id, timedelta(hours=15))
    assert refused(lambda: extend(rig, run_id, timedelta(hours=2))) == (
        "nb may last 1d in total. `/train extend nb 1h` is the most that is possible."
    )
    leap(rig, START + timedelta(hours=22, minutes=40))
    assert [each["label"] for each in buttons(rig, run_id, "reminder-1")] == ["Extend 1h"]
    extend(rig, run_id, timedelta(hours=1))
    assert refused(lambda: extend(rig, run_id, timedelta(minutes=1))) == (
        "nb may last 1d in total. Start another one when it ends."
    )
    leap(rig, START + timedelta(hours=23, minutes=40))
    assert "It cannot be extended" in rig.notes(run_id)["reminder-2"]


def test_an_extension_is_audited(rig: Rig) -> None:
    run_id = running(rig)
    extend(rig, run_id, timedelta(hours=1), person=ERIN)
    audit = rig.do(lambda session: lines_about(session, run_id))
    assert [(line.verb, line.person, line.facts) for line in audit][1:] == [
        ("run.extend", ERIN, {"name": "nb", "until": "2026-11-21T21:00+00:00"})
    ]


def test_what_does_not_run_is_not_extended(rig: Rig) -> None:
    run_id, lane = begin(rig), rig.submit()
    sessions, alice = SessionService(rig.words), rig.caller()
    waits = (
        "nb is not running yet, and its time counts only once it is."
        " `/train why nb` shows what it is waiting for."
    )
    assert refused(lambda: sessions.refuse_opening(alice, rig.get(run_id))) == waits
    assert refused(lambda: extend(rig, run_id, timedelta(hours=1))) == waits
    assert refused(lambda: extend(rig, lane, timedelta(hours=1))) == (
        "lane is not a session: it was not started with `--kind interactive`."
        " `/train show lane` shows what it is."
    )
    rig.stop(run_id)
    rig.pass_time(seconds=30)
    assert refused(lambda: sessions.refuse_opening(alice, rig.get(run_id))) == (
        "nb has ended. `/train resubmit nb` starts it again."
    )


def test_the_usual_priority_is_taken_where_it_is(rig: Rig) -> None:
    rig.policy = settings(defaults={"interactive_priority": "interactive"})
    first = begin(rig)
    rig.policy = settings(defaults={"interactive_priority": "unheard-of"})
    second = rig.submit("other", kind="interactive", image=NOTEBOOK, command=())
    third = rig.submit("third", kind="interactive", image=NOTEBOOK, priority="low")
    found = [rig.get(each).spec["priority"] for each in (first, second, third)]
    assert found == ["interactive", None, "low"]


def preempted_after(rig: Rig, length: timedelta) -> str:
    """A session that team-b pushed out after so long."""
    run_id = running(rig, gpus=8, priority="low")
    leap(rig, rig.get(run_id).since + length)
    rig.world.create("jobs", training_job("base", 8, "team-b", epochs=1), "team-b")
    rig.pass_time(seconds=20)
    assert (rig.get(run_id).phase, rig.get(run_id).until) == (RunPhase.PREEMPTED, None)
    return run_id


def test_the_time_stands_still_while_it_waits(rig: Rig) -> None:
    run_id = preempted_after(rig, timedelta(hours=3))
    assert "  Time left  5h; counted only while it runs\n" in rig.card(run_id)
    assert " It then has 5h of its time left. Its" in rig.notes(run_id)["preempted-1"]
    rig.pass_time(minutes=5)
    run = rig.get(run_id)
    assert (run.phase, run.seconds_left) == (RunPhase.RUNNING, None)
    assert run.until == run.since + timedelta(hours=8) - timedelta(seconds=run.seconds_used)
    assert timedelta(hours=3) <= timedelta(seconds=run.seconds_used) < timedelta(hours=3, minutes=1)
    assert "Time left" not in rig.card(run_id)


def test_the_most_it_may_last_counts_both_stretches(rig: Rig) -> None:
    run_id = preempted_after(rig, timedelta(hours=3))
    rig.pass_time(minutes=5)
    said = refused(lambda: extend(rig, run_id, timedelta(hours=17)))
    assert said == ("nb may last 1d in total. `/train extend nb 16h` is the most that is possible.")
    extend(rig, run_id, timedelta(hours=16))


def test_a_session_stopped_while_it_waits_ends(rig: Rig) -> None:
    run_id = preempted_after(rig, timedelta(hours=3))
    rig.stop(run_id)
    rig.pass_time(minutes=1)
    assert rig.get(run_id).phase == RunPhase.STOPPED
    assert "Time left" not in rig.card(run_id)
