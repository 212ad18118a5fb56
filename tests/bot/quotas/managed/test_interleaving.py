"""Whatever happens between a look and its save, quotas end where they began."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.database.database import Database
from bot.errors import ClusterError, UserError
from bot.reconcile import due
from bot.reconcile.controller import Step
from bot.reconcile.due import Claim
from tests.bot.cluster.api.api_server import serving
from tests.bot.quotas.people import CAROL
from tests.bot.quotas.rig import Rig
from tests.databases import create_tables

MOST = 25
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("raise"), st.integers(1, 5)),
        st.tuples(st.just("transfer"), st.integers(1, 3)),
        st.tuples(st.just("revoke"), st.integers(0, 9)),
        st.tuples(st.just("look"), st.just(0)),
        st.tuples(st.just("save"), st.integers(0, 9)),
        st.tuples(st.just("forget"), st.integers(0, 9)),
        st.tuples(st.just("step"), st.integers(1, 8)),
        st.tuples(st.just("watch"), st.just(0)),
        st.tuples(st.just("lose"), st.just(0)),
    ),
    max_size=30,
)


class Interleaved:
    """A rig whose steps are cut in two: what was seen, and later its save, or none."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.held: list[tuple[Claim, Step]] = []
        self.overrides: list[str] = []

    def play(self, event: str, number: int) -> None:
        acts: dict[str, Callable[[int], None]] = {
            "raise": self.ask,
            "transfer": lambda amount: self.ask(amount, "team-b"),
            "revoke": self.revoke,
            "look": lambda _: self.look(),
            "save": self.save,
            "forget": self.forget,
            "step": self.step,
            "watch": lambda _: self.rig.wake_quotas(),
            "lose": lambda _: self.lose(),
        }
        acts[event](number)

    def step(self, times: int) -> None:
        for _ in range(times):
            self.rig.loop.run_due()

    def lose(self) -> None:
        self.rig.kueue.fault.lose_answer = 1

    def ask(self, amount: int, donor: str | None = None) -> None:
        try:
            override_id = self.rig.ask(f"+{amount}", donor=donor)
        except UserError:
            return
        self.rig.vote(override_id)
        self.overrides.append(override_id)

    def revoke(self, number: int) -> None:
        if self.overrides:
            with suppress(UserError):
                self.rig.revoke(self.overrides[number % len(self.overrides)], CAROL)

    def look(self) -> None:
        wanted, now = due.ClaimQuery(("quota", "override"), 1, 1), self.rig.clock.now()
        real_now = datetime.now(UTC)
        for held in self.rig.do(lambda s: due.claim(s, wanted, now, real_now)):
            controller = next(c for c in self.rig.controllers if c.kind == held.kind)
            try:
                self.held.append((held, controller.step(held.id)))
            except ClusterError:
                self.give_back(held)

    def save(self, number: int) -> None:
        if self.held:
            self.rig.loop._save(*self.held.pop(number % len(self.held)))

    def forget(self, number: int) -> None:
        """The process died; in time somebody else takes the row."""
        if self.held:
            self.give_back(self.held.pop(number % len(self.held))[0])

    def give_back(self, held: Claim) -> None:
        now = self.rig.clock.now()
        self.rig.do(lambda session: due.back_off(session, held, now, now))

    def finish(self) -> None:
        while self.held:
            self.save(0)
        self.rig.run()
        for number in range(len(self.overrides)):
            self.revoke(number)
        self.rig.run()


@given(EVENTS)
@settings(max_examples=MOST, deadline=None)
def test_any_interleaving_ends_at_the_baselines(events: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        url = f"sqlite:///{folder}/test.db"
        create_tables(url)
        database = Database(url)
        rig = Rig(database, server, Path(folder))
        play = Interleaved(rig)
        for event, number in events:
            play.play(event, number)
        play.finish()
        queues = ("team-a", "team-b")
        assert [rig.kueue.value(each) for each in queues] == ["4", "8"]
        assert [rig.kueue.annotated(each) for each in queues] == [None, None]
        assert rig.baselines() <= {None}
        assert {rig.row(each).phase for each in play.overrides} <= {"revoked", "failed"}
        database.close()
