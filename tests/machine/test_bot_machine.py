"""People say and click, the bot dies, the world fails: what must never happen does not."""

import itertools
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from structlog.testing import capture_logs
from typing_extensions import override

from bot.slack.card import Reply
from bot.slack.receiving.incoming import Arrival, Incoming, button_from, command_from
from bot.slack.text import as_text
from playground.ledger import Fault
from playground.slack import payloads
from playground.slack.people import BOT_USER, Message
from tests.fuzz.acts import CANARY
from tests.handlers.command_client import ALICE, BOB, CAROL, DAN, ERIN, TEAM_A, _meet_everybody
from tests.machine.bot import Bot, KilledError
from tests.machine.installation import cache_dataset, write_settings
from tests.machine.outside import BASE, Outside
from tests.playground.cluster.served import BOT_TOKEN, PATIENCE_SECONDS, Runner, Served
from tests.playground.slack.served import Stage
from tests.seeds import machine_examples

APPROVE = "C0APPROVE"
IMAGE = "--image ghcr.io/acme/lane:3.1 --gpus 1"
NAMES = ("lane", "depth")
SAID = (
    *(f"/train submit {name} {IMAGE} -- python train.py --epochs 3" for name in NAMES),
    *(f"/train stop {name}" for name in NAMES),
    "/quota request +2 --for 1h --reason deadline",
    f"/train submit reader {IMAGE} --data chest-xray@v3:/data -- python train.py --epochs 3",
    "/dataset evict chest-xray@v3",
    f"/train submit leak {IMAGE} --env WANDB={CANARY} -- python train.py",
    "/train list",
    "/quota status",
)
PEOPLE = (ALICE, ALICE, ERIN, CAROL, BOB, DAN)
CLUSTER_CALLS = ("create jobs", "delete jobs", "patch clusterqueues")
SLACK_CALLS = ("chat.postMessage", "chat.update")
STEPS = 30
CARDS_LATE = 4  # times 31 s: a card that has just been edited is not edited again at once
PAUSE = Event()  # never set: watches need a moment to see what has changed


class BotMachine(RuleBasedStateMachine):
    """One installation with everything round it, for as long as one example takes."""

    template: Path
    runner: Runner
    stage: Stage

    @initialize()
    def open(self) -> None:
        """A fresh world and a bot in it."""
        self.ends = ExitStack()
        self.folder = Path(self.ends.enter_context(tempfile.TemporaryDirectory()))
        self.logs: list[Any] = self.ends.enter_context(capture_logs())
        self.cluster = self.ends.enter_context(Served(self.runner).serving())
        self.slack = self.ends.enter_context(
            self.stage.workspace(self._monotonic, self.cluster.clock)
        )
        self.cluster.clock.runs = True  # one clock for all: it never goes back, not by a moment
        self.cluster.ledger.kill = self._die
        self.slack.workspace.ledger.kill = self._die
        self.outside = Outside(self.cluster.cluster, self.slack.workspace)
        self.cluster.cluster.write_kubeconfig(self.folder / "kubeconfig", BOT_TOKEN)
        shutil.copy(self.template, self.folder / "bot.db")
        self.members, self.approvers = [ALICE], [CAROL, ERIN]
        self._write_settings()
        self.bot = Bot(self.folder, self.cluster, self.slack)
        self.ends.callback(self._close)
        self.bot.app.database.transaction(_meet_everybody)
        cache_dataset(self.bot.app, self.cluster.cluster)
        self.numbers = itertools.count(1)
        self.last: Incoming | None = None
        self.recorded: list[str] = []  # runs of which somebody was told so
        self.unsure = 0  # commands at which the bot died
        self.stopped: set[str] = set()
        self.asked = 0
        self.askers: dict[str, str] = {}
        self.approved: set[str] = set()  # requests that an approver said yes to
        self.questions: list[tuple[str, str, str]] = []  # buttons that only one person saw

    def _close(self) -> None:
        self.bot.close()  # the one that is there by then

    def _monotonic(self) -> float:
        return time.monotonic() + self.cluster.clock.offset.total_seconds()

    async def _die(self) -> None:
        self.bot.dead = True

    def _write_settings(self) -> None:
        write_settings(self.folder, self.slack.api, self.members, self.approvers)

    # What people do

    @rule(person=some.sampled_from(PEOPLE), text=some.sampled_from(SAID))
    def types(self, person: str, text: str) -> None:
        """Somebody types a command in team-a's channel."""
        name, _, words = text.partition(" ")
        workspace = self.slack.workspace
        user, place = workspace.users[person], workspace.channels[TEAM_A]
        payload = payloads.slash("token", user, place, name, words)
        self._deliver(command_from({**payload, "trigger_id": self._id()}, _now()))

    @rule(person=some.sampled_from(PEOPLE), choice=some.integers(0, 50))
    def clicks(self, person: str, choice: int) -> None:
        """Somebody clicks a button that stands in Slack."""
        shown = list(self._buttons())
        if shown:
            message, action, value = shown[choice % len(shown)]
            self._deliver(self._click(person, message, action, value))

    @rule(choice=some.integers(0, 50))
    def answers_a_question(self, choice: int) -> None:
        """Somebody clicks a button that only they were shown."""
        if self.questions:
            person, action, value = self.questions[choice % len(self.questions)]
            stamp = f"{self.cluster.clock.now().timestamp():.6f}"
            message = Message(TEAM_A, stamp, BOT_USER, "A question.", viewer=person)
            self._deliver(self._click(person, message, action, value))

    @precondition(lambda self: self.last is not None)
    @rule()
    def does_it_again(self) -> None:
        """The same person types or clicks the same once more."""
        assert self.last is not None
        again = self._id()
        self._deliver(replace(self.last, delivery=again, trigger_id=again))

    @precondition(lambda self: self.last is not None)
    @rule(doubted=some.booleans())
    def slack_delivers_it_again(self, *, doubted: bool) -> None:
        """The same request comes a second time."""
        assert self.last is not None
        self._deliver(replace(self.last, doubted=doubted), is_new=False)

    @rule(who=some.sampled_from(("alice", "carol", "erin")), is_in=some.booleans())
    def roles_change(self, who: str, *, is_in: bool) -> None:
        """Somebody leaves or comes back: Alice to the team, Carol and Erin to the approvers."""
        circle = self.members if who == "alice" else self.approvers
        person = f"U0{who.upper()}"
        kept = [each for each in circle if each != person] + [person] * is_in
        circle[:] = kept or circle  # somebody has to be left
        self._write_settings()
        self.bot.app.settings.refresh()

    # What the world does

    @rule(seconds=some.floats(0.37, 97.3))
    def time_passes(self, seconds: float) -> None:
        """A moment passes, and the bot may do something or not."""
        self.cluster.pass_time(seconds)

    @rule(minutes=some.floats(3.1, 71.7))
    def long_time_passes(self, minutes: float) -> None:
        """Runs end meanwhile, and what somebody was given for an hour."""
        self.cluster.pass_time(60 * minutes)

    @rule(commits=some.integers(1, 6), after=some.booleans())
    def is_to_die(self, commits: int, *, after: bool) -> None:
        """The bot dies at a commit that is to come."""
        self.bot.dies(commits, after=after)

    @rule()
    def is_killed(self) -> None:
        """The bot dies between two passes."""
        self.bot.kill()

    @rule(name=some.sampled_from(CLUSTER_CALLS), fault=some.sampled_from(Fault))
    def cluster_fails(self, name: str, fault: Fault) -> None:
        """The next such request to the cluster fails, or its answer is lost, or the bot dies."""
        self.cluster.ledger.by_name[name] = [fault]

    @rule(name=some.sampled_from(SLACK_CALLS), fault=some.sampled_from(Fault))
    def slack_fails(self, name: str, fault: Fault) -> None:
        """As with the cluster."""
        self.slack.workspace.ledger.by_name[name] = [fault]

    @rule()
    def works(self) -> None:
        """The bot makes one pass."""
        self._work()

    @rule()
    def comes_to_rest(self) -> None:
        """Nothing fails any more, and the bot does all there is to do."""
        self._rest()
        self._look_at_rest()

    # What must never happen

    @invariant()
    def nothing_is_wrong(self) -> None:
        """Holds after each step."""
        if not hasattr(self, "outside"):
            return
        assert self.outside.wrong_now() == ""
        assert BASE <= self.outside.quota() <= BASE + 2 * len(self.approved)

    @override
    def teardown(self) -> None:
        """In the end everything holds, and nothing is left raised."""
        if not hasattr(self, "bot"):
            return
        try:
            self._rest()
            self._look_at_rest()
            self.cluster.pass_time(2 * 3600 + 41.3)
            self._rest()
            self._look_at_rest()
            assert self.outside.quota() == BASE
            self._look_for_secrets()
            broken = [line for line in self.logs if line["log_level"] in {"error", "critical"}]
            assert broken == []
        finally:
            self.ends.close()

    def _look_at_rest(self) -> None:
        now = self.bot.app.clock.now()
        assert self.outside.wrong_at_rest(now) == ""
        cards = {name: self.outside.cards(TEAM_A, name) for name in self.recorded}
        assert {name: len(found) for name, found in cards.items()} == dict.fromkeys(cards, 1)
        made = len(self.outside.made)
        assert len(self.recorded) <= made + self._never_made()
        assert made <= len(self.recorded) + self.unsure
        for name in self.stopped:
            state = cards[name][0].splitlines()[0] if name in cards else "Stopped"
            assert re.search("Stopped|Succeeded|Failed", state), f"{name} was to stop: {state}"
        requests = len(self.outside.cards(APPROVE, "Quota override"))
        assert self.asked <= requests <= self.asked + self.unsure

    def _look_for_secrets(self) -> None:
        for name in ("bot.db", "bot.db-wal"):
            kept = self.folder / name
            assert not kept.exists() or CANARY.encode() not in kept.read_bytes(), name
        assert CANARY not in repr(self.logs), "the log"

    def _never_made(self) -> int:
        """Runs that were stopped before they had a Job."""
        return len(self.stopped)

    # How it is done

    def _deliver(self, incoming: Incoming, *, is_new: bool = True) -> None:
        self.last = incoming
        before = self._may(incoming.person)
        about = incoming.value
        is_approval = incoming.command == "approval.approve"
        if is_approval and incoming.person in self.approvers and incoming.person != self._by(about):
            self.approved.add(about)
        try:
            reply = self.bot.answer(incoming)
        except KilledError:
            self.unsure += 1
            self.bot.kill()
            return
        if self.bot.dead:
            self.bot.kill()
        assert reply is not None or not is_new or incoming.kind == "button"
        if reply is not None:
            self._heard(incoming, reply, may=before, is_new=is_new)

    def _heard(self, incoming: Incoming, reply: Reply, *, may: bool, is_new: bool) -> None:
        text = as_text(reply)
        assert "Something went wrong" not in text
        assert CANARY not in text
        found = re.match(r"Submitted run `(.+?)`", text)
        stops = re.match(r"Stopping `(.+?)`", text)
        if found or stops or text.startswith("Requested for team-a"):
            assert may, f"{incoming.person} may not: {text}"
            assert is_new, f"delivered twice, done twice: {text}"
        if found:
            assert found[1] not in self.recorded, text
            self.recorded.append(found[1])
        if stops:
            self.stopped.add(stops[1])
        self.asked += text.startswith("Requested for team-a")
        self.questions += [(incoming.person, each.action, each.value) for each in reply.buttons]

    def _may(self, person: str) -> bool:
        """Whether the person may do anything for team-a, by what is written above."""
        return person in {*self.members, ERIN, CAROL}

    def _by(self, approval: str) -> str:
        """Who asked for it: their name stands on its card, also once its buttons are gone."""
        for message, action, value in self._buttons():
            if action == "approval.approve" and value not in self.askers:
                text = self.slack.workspace.text_of(message)
                found = re.search(r"(?:Asked|Requested) by\W+(\w+)", text)
                assert found, text
                self.askers[value] = f"U0{found[1].upper()}"
        return self.askers[approval]

    def _click(self, person: str, message: Message, action: str, value: str) -> Incoming:
        workspace = self.slack.workspace
        payload = payloads.interaction("block_actions", "token", workspace.users[person])
        payload |= payloads.in_message(message, workspace.channel(message.channel))
        payload |= {"trigger_id": self._id(), "actions": [{"action_id": action, "value": value}]}
        return button_from(payload, _now())

    def _buttons(self) -> Iterator[tuple[Message, str, str]]:
        for message in self.outside.messages():
            for block in message.blocks:
                for element in block.get("elements", ()):
                    if element.get("type") == "button" and "value" in element:
                        yield message, element["action_id"].partition(":")[0], element["value"]

    def _id(self) -> str:
        return f"1.{next(self.numbers)}.f"

    def _work(self) -> int:
        try:
            done = self.bot.work()
        except KilledError:
            self.bot.kill()
            return 1
        if self.bot.dead:
            self.bot.kill()
        return done

    def _rest(self, hops: int | None = None) -> None:
        """Everything heals, and several minutes pass in which the bot does its work."""
        self.bot.spare()
        for ledger in (self.cluster.ledger, self.slack.workspace.ledger):
            ledger.by_name.clear()
        for seconds in (0.0, 2.9, 31.3, 47.9, 61.7, 97.3)[:hops]:
            self._live(seconds)
        for _ in range(CARDS_LATE):
            if self.outside.wrong_at_rest(self.bot.app.clock.now()):
                self._live(31.3)

    def _live(self, seconds: float) -> None:
        self.cluster.pass_time(seconds)
        self._work_until_idle()

    def _work_until_idle(self, most: int = 400) -> None:
        quiet = 0
        for _ in range(most):
            done = self._work()
            self.cluster.cluster.settle()
            quiet = quiet + 1 if not done and self.bot.is_idle() else 0
            if quiet == 2:
                return
            PAUSE.wait(0.02 if not done else 0)
        raise AssertionError("the bot finds no rest")


def _now() -> Arrival:
    return Arrival(time.monotonic() + PATIENCE_SECONDS)


@pytest.mark.slow
@pytest.mark.timeout(20_000)
def test_what_must_never_happen_never_does(
    request: pytest.FixtureRequest, template: Path, runner: Runner, stage: Stage
) -> None:
    BotMachine.template, BotMachine.runner, BotMachine.stage = template, runner, stage
    run_state_machine_as_test(
        BotMachine,
        settings=settings(
            max_examples=machine_examples(request.config),
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
