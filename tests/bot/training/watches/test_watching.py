"""People who watch a run of another person, and what they are notified of."""

from dataclasses import dataclass

import pytest
from sqlmodel import Session, col, select

from bot.audit import AuditLine
from bot.errors import ConflictError
from bot.notices import NoticeKind, Way, choose
from bot.slack.messages import Message
from bot.training.tables import RunWatch
from bot.training.watches.service import WatchService, forget
from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.bot.ground import ALICE, CAROL, ERIN
from tests.bot.training.rig import IMAGE, Rig

WATCHED = "watched-"


@dataclass(frozen=True)
class Told:
    """A direct message of a watcher."""

    person: str
    text: str
    buttons: int
    team: str | None
    is_of_card: bool


def watch(rig: Rig, run_id: str, person: str = ERIN) -> bool:
    by, run = rig.caller(person), rig.get(run_id)
    return rig.do(lambda s: WatchService(rig.words).watch(s, by, run, rig.clock.now()))


def unwatch(rig: Rig, run_id: str, person: str = ERIN) -> bool:
    by, run = rig.caller(person), rig.get(run_id)
    return rig.do(lambda s: WatchService(rig.words).unwatch(s, by, run, rig.clock.now()))


def watches(rig: Rig) -> list[str]:
    people = select(col(RunWatch.person)).order_by(col(RunWatch.person))
    return rig.do(lambda session: list(session.scalars(people)))


def told(rig: Rig, run_id: str) -> list[Told]:
    """What watchers of a run were written, in order."""
    of_run = (col(Message.subject_id) == run_id, col(Message.purpose).startswith(WATCHED))
    chosen = select(Message).where(*of_run).order_by(col(Message.id))
    return [
        Told(
            row.channel,
            "\n".join(row.content or ()),
            len(row.buttons or ()),
            row.team,
            row.parent_id is not None,
        )
        for row in rig.do(lambda session: session.scalars(chosen).all())
    ]


def test_watchers_are_told_the_end_once(rig: Rig) -> None:
    run_id = rig.submit()
    assert watch(rig, run_id, ERIN)
    rig.pass_time(seconds=1)
    assert watch(rig, run_id, CAROL)
    rig.pass_time(minutes=10)
    assert rig.get(run_id).phase == "succeeded"
    first, second = told(rig, run_id)
    assert [first.person, second.person] == [ERIN, CAROL]
    assert first.text.splitlines()[0].startswith("Alice's run lane succeeded after ")
    assert first.text == second.text
    assert (first.buttons, first.team, first.is_of_card) == (0, "team-a", True)
    assert watches(rig) == []
    rig.pass_time(minutes=10)
    assert len(told(rig, run_id)) == 2


def test_a_failure_comes_with_its_last_lines(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(exit_code=3, fails_after=20)
    run_id = rig.submit()
    watch(rig, run_id)
    rig.pass_time(minutes=30)
    assert rig.get(run_id).phase == "failed"
    [end] = told(rig, run_id)
    owner = rig.notes(run_id)["ended"].removeprefix(f"<@{ALICE}> ")
    assert end.text == f"Alice's run {owner}"
    assert "Last lines of lane-" in end.text


def test_a_preemption_offers_to_stop_watching(rig: Rig) -> None:
    run_id = rig.submit(gpus=6)
    watch(rig, run_id)
    rig.pass_time(seconds=70)
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=2), "team-b")
    rig.pass_time(seconds=10)
    [note] = told(rig, run_id)
    owner = rig.notes(run_id)["preempted-1"].removeprefix(f"<@{ALICE}> ")
    assert note.text == f"Alice's run {owner}"
    assert note.buttons == 1
    assert watches(rig) == [ERIN]


def test_the_owners_choice_does_not_matter(rig: Rig) -> None:
    by = rig.caller(ALICE)
    rig.do(lambda s: choose(s, by, Way.NONE, NoticeKind, rig.clock.now()))
    run_id = rig.submit()
    watch(rig, run_id)
    rig.pass_time(minutes=10)
    assert [each.person for each in told(rig, run_id)] == [ERIN]


def test_watching_twice_has_one_effect(rig: Rig) -> None:
    run_id = rig.submit()
    assert [watch(rig, run_id), watch(rig, run_id)] == [True, False]
    assert watches(rig) == [ERIN]
    lines = rig.do(lambda s: s.scalars(select(AuditLine).order_by(col(AuditLine.id))).all())
    assert [(each.verb, each.person) for each in lines] == [
        ("run.submit", ALICE),
        ("run.watch", ERIN),
    ]
    assert [unwatch(rig, run_id), unwatch(rig, run_id)] == [True, False]
    rig.pass_time(minutes=10)
    assert told(rig, run_id) == []


def test_owners_hear_that_they_are_told_already(rig: Rig) -> None:
    run_id = rig.submit()
    with pytest.raises(ConflictError) as caught:
        watch(rig, run_id, ALICE)
    assert (caught.value.message, caught.value.hint) == (
        "lane is your own run, so you are notified of it already.",
        "`/notices show` shows how.",
    )


def test_what_has_ended_cannot_be_watched(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    with pytest.raises(ConflictError) as caught:
        watch(rig, run_id)
    assert (caught.value.message, caught.value.hint) == (
        "lane has ended, so there is nothing left to watch.",
        "`/train show lane` shows how it ended.",
    )


def test_a_card_in_direct_messages_is_not_linked(rig: Rig) -> None:
    run_id = rig.submit()

    def move(session: Session) -> None:
        rig.service.get(session, run_id).channel = "D0ALICE"

    rig.do(move)
    watch(rig, run_id)
    rig.pass_time(minutes=10)
    [end] = told(rig, run_id)
    assert (end.person, end.is_of_card) == (ERIN, False)


def test_a_new_process_goes_on_with_watches(rig: Rig) -> None:
    run_id = rig.submit()
    watch(rig, run_id)
    rig.pass_time(seconds=30)
    rig.see_anew()
    rig.pass_time(minutes=10)
    rig.see_anew()
    rig.pass_time(minutes=1)
    assert len(told(rig, run_id)) == 1


def test_watches_of_ended_runs_are_forgotten(rig: Rig) -> None:
    """A bot of an older version ended one of the runs."""
    ended, live = rig.submit("ended"), rig.submit("live")
    rig.world.behaviours[IMAGE] = Training(never_ends=True)
    rig.pass_time(seconds=5)
    watch(rig, live)
    watch(rig, ended, CAROL)

    def end(session: Session) -> None:
        rig.service.get(session, ended).ended_at = rig.clock.now()

    rig.do(end)
    rig.do(forget)
    assert watches(rig) == [ERIN]
