"""People who wait for GPUs are told once: that they are free, or that the time is over."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import delete
from sqlmodel import col, select
from typing_extensions import override

from bot.database.database import Database
from bot.errors import LimitError, NotAllowedError, NotFoundError
from bot.gpus.waits.controller import GpuWaitController
from bot.gpus.waits.free import FreeGpuReader, FreeGpus
from bot.gpus.waits.service import MOST_OF_A_PERSON, WaitAnswer, WaitRequest, WaitService, forget
from bot.gpus.waits.tables import GpuWait
from bot.people.people import Person
from bot.quotas import Engine
from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.slack.markup import when
from bot.slack.messages import Message
from playground.cluster.story import training_job
from tests.bot.ground import ALICE, ERIN, START, Outside
from tests.bot.training.rig import Rig, settings

FREE = (
    "6 GPUs of h100 are free for team-a in cluster default: 12 can be used now, 8 of them"
    " borrowed.\nYou asked {time}. They are not reserved for you:"
    " `/train submit lane --gpu-type h100 ...` starts a run."
)
EXPIRED = (
    "6 GPUs of h100 were not free for team-a in cluster default within 2h, so this wait has"
    " expired.\n`/gpu wait 6 --type h100` waits again, and `/quota status` shows what is in use."
)


class Waiting(Rig):
    """A cluster for whose GPUs people wait; `silence` is why it does not answer, if so."""

    silence = ""

    @override
    def restart(self) -> None:
        super().restart()
        reader = FreeGpuReader(self.settings, self.clusters, self.engine_of)
        self.waits = WaitService(reader, self.words)
        self.waiter = GpuWaitController(self.context, self.access, reader)
        self.loop = Loop(self.database, self.clock, [self.controller, self.waiter])

    def engine_of(self, cluster: str) -> Engine:
        return replace(self.engines.of(cluster), trouble=lambda: self.silence)

    def theirs(self, gpus: int = 8, epochs: int = 900) -> None:
        """Team-b uses GPUs; an epoch takes a minute."""
        job = training_job("theirs", gpus, "team-b", epochs=epochs)
        self.world.create("jobs", job, "team-b")
        self.pass_time(seconds=20)

    def waits_for(
        self, gpus: str, gpu_type: str = "", person: str = ALICE, **length: float
    ) -> WaitAnswer:
        by, team = self.caller(person), self.policy.teams["team-a"]
        asked = WaitRequest(Decimal(gpus), gpu_type, timedelta(**(length or {"days": 3})))
        return self.do(lambda s: self.waits.wait(s, by, team, asked, self.clock.now()))

    def said(self) -> list[tuple[str, str]]:
        """The messages of waits: to whom, and what."""
        chosen = select(Message).where(col(Message.subject_kind) == "gpu-wait")
        rows = self.do(lambda s: s.scalars(chosen.order_by(col(Message.id))).all())
        assert {row.team for row in rows} <= {"team-a"}
        return [(row.channel, "\n".join(row.content or ())) for row in rows]

    def rows(self) -> list[tuple[str, str, str]]:
        rows = self.do(lambda s: s.scalars(select(GpuWait).order_by(col(GpuWait.id))).all())
        return [(row.person, f"{row.wanted:f}", row.phase) for row in rows]


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Waiting:
    return Waiting(own_database, outside, settings())


def test_free_gpus_are_told_once(rig: Waiting) -> None:
    rig.theirs(epochs=30)
    answer = rig.waits_for("6")
    assert answer.free == FreeGpus("h100", Decimal(4), Decimal(12))
    rig.pass_time(minutes=20)
    assert rig.said() == []
    asked = answer.row.asked_at if answer.row else START
    rig.pass_time(minutes=30)
    time = when(asked)
    assert rig.said() == [(ALICE, FREE.format(time=time))]
    assert rig.rows() == [(ALICE, "6", "free")]
    rig.restart()
    rig.pass_time(days=4)
    assert len(rig.said()) == 1


def test_what_is_free_already_is_not_waited_for(rig: Waiting) -> None:
    answer = rig.waits_for("12", "h100")
    assert answer == WaitAnswer(FreeGpus("h100", Decimal(12), Decimal(12), Decimal(8)), None)
    assert rig.rows() == []


def test_numbers_are_those_of_why(rig: Waiting) -> None:
    rig.theirs(gpus=6)
    run_id = rig.submit(gpus=8)
    rig.pass_time(seconds=20)
    assert "6 can be used now: team-a uses 0 of its nominal quota of 4, and 2" in rig.card(run_id)
    free = rig.waits_for("8").free
    assert free == FreeGpus("h100", Decimal(6), Decimal(12), Decimal(2))


def test_a_wait_expires_and_says_so_once(rig: Waiting) -> None:
    rig.theirs()
    rig.waits_for("6", "h100", hours=2)
    rig.pass_time(hours=1, minutes=59)
    assert rig.said() == []
    rig.pass_time(minutes=5)
    assert rig.said() == [(ALICE, EXPIRED)]
    rig.pass_time(hours=5)
    assert (len(rig.said()), rig.rows()) == (1, [(ALICE, "6", "expired")])


def test_the_same_wait_lasts_longer(rig: Waiting) -> None:
    rig.theirs()
    first = rig.waits_for("6", hours=1)
    rig.pass_time(minutes=50)
    again = rig.waits_for("6", hours=1)
    assert first.row
    assert again.row
    assert first.row.id == again.row.id
    rig.pass_time(minutes=50)
    assert rig.rows() == [(ALICE, "6", "waiting")]
    rig.pass_time(minutes=20)
    assert rig.rows() == [(ALICE, "6", "expired")]


def test_two_people_wait_for_the_same(rig: Waiting) -> None:
    rig.theirs(epochs=10)
    rig.waits_for("6")
    rig.waits_for("6", person=ERIN)
    rig.pass_time(minutes=30)
    assert sorted(person for person, _ in rig.said()) == sorted((ALICE, ERIN))


def test_more_than_there_can_be_is_refused(rig: Waiting) -> None:
    with pytest.raises(LimitError) as caught:
        rig.waits_for("20", "h100")
    assert (caught.value.message, caught.value.hint) == (
        (
            "20 GPUs of h100 can never be free for team-a in cluster default: it can use 12 GPUs at"
            " most, borrowed ones included."
        ),
        'Wait for 12 or fewer. `/quota request +8 --for 1d --reason "..."` requests more quota.',
    )


def test_an_unknown_type_is_refused(rig: Waiting) -> None:
    with pytest.raises(NotFoundError) as caught:
        rig.waits_for("2", "a100")
    assert (caught.value.message, caught.value.hint) == (
        "team-a has no GPU type a100 in cluster default.",
        "It has: h100.",
    )


def test_an_unseen_queue_is_refused(rig: Waiting) -> None:
    rig.policy = settings(local_queue="elsewhere")
    with pytest.raises(NotFoundError, match="elsewhere"):
        rig.waits_for("2")


def test_a_person_has_so_many_waits(rig: Waiting) -> None:
    rig.theirs()
    for number in range(MOST_OF_A_PERSON):
        rig.waits_for(str(5 + number))
    with pytest.raises(LimitError) as caught:
        rig.waits_for("12")
    assert caught.value.message == "You already wait for GPUs 5 times, the maximum."
    assert rig.waits_for("5").row is not None
    assert rig.waits_for("12", person=ERIN).row is not None


def test_a_cancelled_wait_is_silent(rig: Waiting) -> None:
    rig.theirs(epochs=10)
    rig.waits_for("6")
    alice, erin = rig.caller(ALICE), rig.caller(ERIN)
    mine = rig.do(lambda s: rig.waits.of(s, ALICE))
    with pytest.raises(NotAllowedError, match="<@U0ALICE> asked for this, and only they can end"):
        rig.do(lambda s: rig.waits.cancel(s, erin, rig.waits.of(s, ALICE), rig.clock.now()))
    for _ in range(2):
        rig.do(
            lambda s: rig.waits.cancel(s, alice, [rig.waits.get(s, mine[0].id)], rig.clock.now())
        )
    rig.pass_time(minutes=30)
    assert (rig.said(), rig.rows()) == ([], [(ALICE, "6", "cancelled")])


def leave_team(rig: Waiting) -> None:
    rig.policy = settings(members={"people": []})


def lose_team(rig: Waiting) -> None:
    teams = {"team-b": rig.policy.teams["team-b"]}
    rig.policy = rig.policy.model_copy(update={"teams": teams})


def become_guest(rig: Waiting) -> None:
    rig.do(lambda s: setattr(s.get_one(Person, ("T0QM", ALICE)), "is_guest", True))


@pytest.mark.parametrize("change", [leave_team, lose_team, become_guest])
def test_only_members_are_told(rig: Waiting, change: Callable[[Waiting], None]) -> None:
    rig.theirs(epochs=10)
    rig.waits_for("6")
    change(rig)
    rig.pass_time(minutes=30)
    assert (rig.said(), rig.rows()) == ([], [(ALICE, "6", "revoked")])


def test_a_new_process_tells_what_became_free(rig: Waiting) -> None:
    rig.theirs(epochs=10)
    rig.waits_for("6")
    rig.pass_time(minutes=2)
    rig.outside.clock.moment += timedelta(minutes=30)
    rig.see_anew()
    rig.pass_time(minutes=2)
    assert [person for person, _ in rig.said()] == [ALICE]


def test_a_step_that_died_is_taken_again(rig: Waiting) -> None:
    """The process dies after it has seen free GPUs, before and after that is saved."""
    rig.theirs()
    row = rig.waits_for("6").row
    assert row is not None
    rig.do(lambda s: s.connection().execute(delete(due.Due)))
    rig.world.delete("jobs", "theirs", "team-b")
    rig.pass_time(seconds=30)
    controller = rig.waiter
    step = controller.step(row.id)
    assert rig.said() == []
    rig.do(step.save)
    rig.do(controller.step(row.id).save)
    rig.do(step.save)
    assert len(rig.said()) == 1


def test_a_silent_cluster_has_nothing_free(rig: Waiting) -> None:
    """Old figures are no reason to tell anybody anything."""
    rig.theirs(epochs=10)
    rig.waits_for("6")
    rig.silence = "503 ServiceUnavailable"
    rig.pass_time(minutes=30)
    assert rig.said() == []
    assert rig.waits_for("6").free.gpus is None
    rig.silence = ""
    rig.pass_time(minutes=2)
    assert len(rig.said()) == 1


def test_what_ended_is_forgotten_after_a_day(rig: Waiting) -> None:
    rig.theirs()
    rig.waits_for("6", hours=1)
    rig.waits_for("7", days=3)
    rig.pass_time(hours=2)
    rig.do(lambda s: forget(s, rig.clock.now()))
    assert len(rig.rows()) == 2
    rig.outside.clock.moment += timedelta(days=1)
    rig.do(lambda s: forget(s, rig.clock.now()))
    assert rig.rows() == [(ALICE, "7", "waiting")]
