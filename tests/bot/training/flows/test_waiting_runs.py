"""Runs that wait for other runs: nothing is created before those have ended as they had to."""

from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlmodel import Session

from bot.errors import NotFoundError, QuartermasterError
from bot.reconcile import due
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import DataMount
from bot.slack.grammar.parameters import Nodes, RunEndReference
from bot.slack.text import as_text
from bot.training.flows.awaited import note_successors
from bot.training.runs.card import People
from bot.training.runs.listing import listing
from bot.training.runs.replies import list_card, why_card
from bot.training.spec import Predecessor
from bot.training.submission.building import Submission
from bot.training.submission.new_run import UncachedRunError
from bot.training.tables import Run, RunPhase
from playground.cluster.control.training import Training
from playground.cluster.kueue.configuration import Configuration
from playground.ledger import Fault
from tests.bot.datasets.caches.rows import add_dataset, add_version
from tests.bot.ground import ALICE, BOB, TEAM_B
from tests.bot.training.cards import card
from tests.bot.training.rig import IMAGE, Rig

READ = RunEndReference().read


def waits(rig: Rig, name: str, *ends: str, **more: Any) -> str:
    """Alice submits a run that waits for others, `prep` or `prep:any`; its id."""
    return rig.submit(name, after=tuple(map(READ, ends)), **more)


def fails(rig: Rig, name: str) -> str:
    """Alice submits a run whose program fails; its id."""
    rig.world.behaviours["broken"] = Training(fails_after=2, exit_code=3)
    return rig.submit(name, image="ghcr.io/acme/broken:0.1")


def refusal(rig: Rig, *ends: str, **more: Any) -> tuple[str, str]:
    with pytest.raises(QuartermasterError) as caught:
        waits(rig, "train", *ends, **more)
    return caught.value.message, caught.value.hint


def created(rig: Rig) -> int:
    return rig.effects().count("create jobs")


def test_a_run_starts_after_another_succeeded(rig: Rig) -> None:
    rig.submit("prep", gpus=1)
    run_id = waits(rig, "train", "prep")
    rig.pass_time(seconds=70)
    assert card(rig, run_id) == (
        "⏳ train · Waiting for runs\n"
        "Waiting since 2026-11-21 12:00 UTC.\n"
        "It waits for run prep (running) to succeed.\n"
        "  After      `prep`: running since 2026-11-21 12:00 UTC\n"
        "  [Stop]"
    )
    assert created(rig) == 1
    assert rig.notes(run_id) == {}
    rig.pass_time(minutes=20)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert list(rig.notes(run_id).items())[:2] == [
        ("released", "prep has succeeded, so it starts now."),
        ("admitted-1", "Admitted after 0s."),
    ]
    assert "  After      `prep`: succeeded" in card(rig, run_id).splitlines()
    assert rig.effects() == ["create jobs", "create jobs"]


def test_the_end_of_a_run_wakes_others(rig: Rig) -> None:
    prep = rig.submit("prep")
    run_id = waits(rig, "train", "prep", gpus=1)
    rig.pass_time(minutes=2)
    rig.forget_due()
    rig.stop(prep)
    waits_again = rig.do(lambda session: session.get_one(due.Due, ("run", run_id)).due_at)
    assert waits_again is None
    rig.pass_time(seconds=40)
    assert rig.get(run_id).phase == RunPhase.STOPPED
    assert rig.get(run_id).ended_at == rig.get(prep).ended_at


def test_a_failed_run_stops_the_chain(rig: Rig) -> None:
    fails(rig, "prep")
    train = waits(rig, "train", "prep")
    last = waits(rig, "eval", "train")
    rig.pass_time(seconds=1)
    assert rig.get(last).reason == "It waits for run train (waiting for runs) to succeed."
    rig.pass_time(minutes=20)
    assert card(rig, train) == (
        "⏹️ train · Stopped\n"
        "Run prep, which it waited for, has failed.\n"
        "`/train resubmit prep` starts prep again; after that, `/train resubmit train` waits for"
        " it.\n"
        "  After      `prep`: failed\n"
        "  [Logs] [Resubmit]"
    )
    assert rig.notes(train) == {
        "ended": (
            f"<@{ALICE}> train was stopped by Quartermaster before it started."
            " Run prep, which it waited for, has failed.\n"
            "`/train resubmit prep` starts prep again; after that, `/train resubmit train` waits"
            " for it."
        )
    }
    assert rig.get(last).phase == RunPhase.STOPPED
    assert rig.get(last).reason == "Run train, which it waited for, was stopped."
    assert created(rig) == 1


def test_any_end_is_enough_if_asked(rig: Rig) -> None:
    fails(rig, "prep")
    run_id = waits(rig, "train", "prep:any")
    rig.run()
    assert rig.get(run_id).reason == "It waits for run prep (creating) to end."
    rig.pass_time(minutes=30)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert rig.notes(run_id)["released"] == "prep has failed, so it starts now."


def test_a_run_waits_for_several_others(rig: Rig) -> None:
    rig.submit("prep", gpus=1)
    other = rig.submit("index", gpus=1)
    run_id = waits(rig, "train", "prep", "index:any")
    rig.pass_time(seconds=30)
    assert rig.get(run_id).reason == (
        "It waits for run prep (running) to succeed and run index (running) to end."
    )
    rig.stop(other)
    rig.pass_time(seconds=30)
    assert rig.get(run_id).reason == "It waits for run prep (running) to succeed."
    rig.pass_time(minutes=10)
    assert rig.notes(run_id)["released"] == (
        "prep has succeeded and index was stopped, so it starts now."
    )


def test_a_waiting_run_can_be_stopped(rig: Rig) -> None:
    rig.submit("prep")
    run_id = waits(rig, "train", "prep")
    rig.run()
    rig.stop(run_id)
    rig.pass_time(minutes=10)
    assert rig.get(run_id).phase == RunPhase.STOPPED
    assert rig.notes(run_id) == {
        "ended": f"<@{ALICE}> train was stopped by Alice before it started."
    }
    assert created(rig) == 1


def test_a_run_that_succeeded_holds_nothing_up(rig: Rig) -> None:
    rig.submit("prep")
    rig.pass_time(minutes=10)
    run_id = waits(rig, "train", "prep")
    assert rig.get(run_id).phase == RunPhase.ASKED
    rig.pass_time(minutes=10)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert "released" not in rig.notes(run_id)


def test_runs_that_failed_are_refused(rig: Rig) -> None:
    fails(rig, "prep")
    rig.pass_time(minutes=20)
    assert refusal(rig, "prep") == (
        "prep has failed, so a run that waits for its success would never start.",
        (
            "Start it again first: `/train resubmit prep`. Or wait for any end of it:"
            " `--after prep:any`."
        ),
    )
    assert refusal(rig, "perp") == ("team-a has no run perp.", "It has: prep.")
    assert refusal(rig, "prep:any", "prep#1:any") == (
        "`--after` names prep twice.",
        "Name it once: `--after prep`, or `--after prep:any` for any end.",
    )
    waits(rig, "train", "prep:any")


def test_runs_of_other_teams_are_unknown(rig: Rig) -> None:
    rig.submit("prep")
    by, asked = rig.caller(BOB, TEAM_B), Submission("train", IMAGE, after=(READ("prep"),))
    with pytest.raises(NotFoundError) as caught:
        rig.do(lambda session: rig.service.submit(session, by, asked, rig.clock.now()))
    assert caught.value.message == "team-b has no run prep."


def test_a_newer_run_does_not_count(rig: Rig) -> None:
    prep = rig.submit("prep")
    run_id = waits(rig, "train", "prep", gpus=1)
    rig.run()
    rig.stop(prep)
    rig.pass_time(seconds=1)
    rig.resubmit("prep")
    rig.pass_time(minutes=1)
    assert rig.get(run_id).phase == RunPhase.STOPPED


def test_a_run_started_again_by_the_bot_counts(rig: Rig) -> None:
    rig.world.inside.kueue = Configuration(elastic=False)
    prep = rig.submit("prep", kind="elastic", nodes=Nodes(1, 3), gpus=1)
    run_id, by = waits(rig, "train", "prep", gpus=1), rig.caller()
    rig.pass_time(seconds=30)

    def requeue(session: Session) -> None:
        run = rig.service.get(session, prep)
        rig.scaling.requeue(session, by, run, 1, rig.clock.now())

    rig.do(requeue)
    rig.pass_time(seconds=60)
    assert rig.get(run_id).reason == "It waits for run prep#2 (running) to succeed."
    rig.pass_time(minutes=30)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert rig.notes(run_id)["released"] == "prep#2 has succeeded, so it starts now."


def test_a_resubmitted_run_waits_for_another(rig: Rig) -> None:
    fails(rig, "prep")
    waits(rig, "train", "prep")
    rig.pass_time(minutes=20)
    del rig.world.behaviours["broken"]
    second = rig.resubmit("prep")
    again = rig.resubmit("train")
    rig.run()
    assert rig.get(again).spec["after"] == [{"run": "prep#2", "run_id": second, "is_any": False}]
    rig.pass_time(minutes=30)
    assert rig.get(again).phase == RunPhase.SUCCEEDED


def test_a_resubmitted_run_says_what_it_drops(rig: Rig) -> None:
    fails(rig, "prep")
    run_id = waits(rig, "train", "prep")
    rig.pass_time(minutes=20)
    by = rig.caller(ALICE)

    def again(session: Session) -> tuple[str, tuple[str, ...]]:
        run = session.get_one(Run, run_id)
        found = rig.service.resubmit(session, by, run, rig.clock.now())
        return found.run_id, found.warnings

    second, warnings = rig.do(again)
    assert warnings == ("It does not wait for prep, which has failed.",)
    rig.pass_time(minutes=20)
    assert rig.get(second).phase == RunPhase.SUCCEEDED


def test_a_killed_bot_starts_what_waits(rig: Rig) -> None:
    rig.submit("prep")
    run_id = waits(rig, "train", "prep")
    rig.pass_time(minutes=2)
    while rig.do(lambda session: session.get_one(Run, run_id)).phase == RunPhase.AFTER:
        rig.see_anew()
        rig.pass_time(seconds=1)
    rig.see_anew()
    rig.pass_time(minutes=20)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert created(rig) == 2


def test_a_lost_row_strands_no_run(rig: Rig) -> None:
    rig.submit("prep")
    success, anyhow = waits(rig, "train", "prep"), waits(rig, "eval", "prep:any")

    def forget(session: Session) -> None:
        for run_id in (success, anyhow):
            run = session.get_one(Run, run_id)
            after = [each | {"run_id": "gone"} for each in run.spec["after"]]
            run.spec = run.spec | {"after": after}

    rig.do(forget)
    rig.pass_time(minutes=20)
    assert rig.get(success).reason == "Run prep, which it waited for, no longer exists."
    assert rig.get(anyhow).phase == RunPhase.SUCCEEDED


def test_lists_and_answers_name_the_runs(rig: Rig) -> None:
    rig.submit("prep")
    run_id = waits(rig, "train", "prep")
    rig.pass_time(seconds=30)
    now = rig.clock.now()
    listed = rig.do(lambda session: listing(session, "team-a"))
    shown = as_text(Reply(card=list_card("team-a", listed, (), now, 0.0)))
    assert "Waiting for prep" in shown
    why = as_text(Reply(card=why_card(rig.get(run_id), People("Alice"), now)))
    assert why.splitlines() == [
        "⏳ train · Waiting for runs",
        "Waiting since 2026-11-21 12:00 UTC.",
        "It waits for run prep (running) to succeed.",
    ]


def test_an_offered_run_waits_for_the_same(rig: Rig) -> None:
    prep = rig.submit("prep")
    rig.do(lambda session: add_version(session, add_dataset(session)).id)
    with pytest.raises(UncachedRunError) as caught:
        waits(rig, "train", "prep", data=(DataMount("chest-xray@v3", "/data"),))
    assert caught.value.asked.spec.after == (Predecessor(run="prep", run_id=prep),)


def test_a_run_that_is_refused_waits_no_longer(rig: Rig) -> None:
    rig.submit("prep")
    run_id = waits(rig, "train", "prep")
    rig.pass_time(minutes=2)
    rig.deny("jobs")
    rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == RunPhase.FAILED
    assert "denied the request: no objects of bots." in rig.get(run_id).reason
    assert rig.notes(run_id)["released"] == "prep has succeeded, so it starts now."


def test_a_lost_answer_creates_no_second_job(rig: Rig) -> None:
    rig.submit("prep")
    run_id = waits(rig, "train", "prep")
    rig.pass_time(minutes=1)
    rig.outside.ledger.by_name["create jobs"] = [Fault.LOSE_ANSWER]
    rig.pass_time(minutes=20)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert created(rig) == 2


def statements_of_a_change(rig: Rig, run_id: str) -> int:
    """How many statements find the runs that wait for one that has changed, and wake them."""
    counted = list[str]()

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "FROM runs" in statement or "INTO due" in statement:
            counted.append(statement)

    def work(session: Session) -> None:
        run = session.get_one(Run, run_id)
        event.listen(Engine, "before_cursor_execute", count)
        try:
            note_successors(session, run, rig.clock.now())
        finally:
            event.remove(Engine, "before_cursor_execute", count)

    rig.database.transaction(work)
    return len(counted)


def test_all_runs_that_wait_are_read_together(rig: Rig) -> None:
    prep = rig.submit("prep", gpus=1)
    assert statements_of_a_change(rig, prep) == 1
    waits(rig, "train", "prep")
    waits(rig, "test", "prep")
    assert statements_of_a_change(rig, prep) == 2 + 2
