"""The application behind Bolt as Slack reaches it, without a network: what is delivered, judged."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from slack_bolt import BoltRequest
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from bot.slack.blocks import encoded
from bot.slack.card import Button, Reply
from bot.slack.client import SlackClient
from bot.slack.home.page import REFRESH
from bot.slack.receiving.answers import Answers, draft_of
from bot.slack.receiving.incoming import Arrival, Dispatcher, Incoming, StepRun
from bot.slack.receiving.listeners import ARRIVAL, bolt_app
from bot.slack.receiving.reception import RequestReceiver
from bot.slack.sending.budgets import Budgets
from bot.training.links import LINK
from playground.slack.limits import MESSAGE_TEXT, checked_blocks, checked_text
from tests.fuzz.acts import CANARY, Act, Acts
from tests.fuzz.judge import Changes, wrongs
from tests.handlers.furnished import Furnished, furnished
from tests.handlers.test_permissions import TABLE
from tests.playground.cluster.served import PATIENCE_SECONDS, Served

BATCH = 200
"""So many acts follow one another in one client before everything is put back."""

ROWS = [row for row in TABLE if row.startswith("/")]
BROKEN = "Something went wrong"
# Bolt's answer where the bot listens to nothing of the kind; Slack gets no acknowledgement then.
NOT_OURS = 404
_LOOKED_UP = 0.2


class Listening:
    """A dispatcher between Bolt and the real one, that keeps requests and their answers."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.heard: list[tuple[Incoming, Reply | None]] = []

    def answer(self, incoming: Incoming) -> Reply | None:
        """What the real dispatcher says."""
        reply = self._dispatcher.answer(incoming)
        self.heard.append((incoming, reply))
        return reply

    def channel_changed(self, channel_id: str) -> None:
        """What the real dispatcher does."""
        self._dispatcher.channel_changed(channel_id)

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        """What the real dispatcher does."""
        self._dispatcher.bot_joined(channel_id, event_id)

    def step_begun(self, run: StepRun) -> None:
        """Tells the dispatcher."""
        self._dispatcher.step_begun(run)


@dataclass
class Figures:
    """How much was done, so that a run that did nothing is none."""

    acts: int = 0
    commands: int = 0
    clicks: int = 0
    changes: int = 0
    looked_up: int = 0


class Fuzzed:
    """Delivers batch after batch; a batch depends on the seed and its number alone."""

    def __init__(self, found: Furnished, seed: int, dispatcher: Dispatcher | None = None) -> None:
        self.figures = Figures()
        self._found = found
        self._seed = seed
        self._changes = Changes(found.client.application.database)
        self._dispatcher = Listening(dispatcher or found.client.application.dispatcher)
        client = SlackClient("xoxb-nobody", "http://127.0.0.1:9/api/", "T0QM")
        names = ["qm", *found.client.application.registry.commands]
        # Nothing is sent: what would follow an acknowledgement is looked at here.
        self._reception = RequestReceiver(
            bolt_app(names, None, {"T0QM"}),
            self._dispatcher,
            Answers(client, Budgets(), most=10**9),
        )

    def close(self) -> None:
        """Ends it."""
        self._changes.close()

    def batch(self, number: int) -> None:
        """Delivers a batch; AssertionError says with what it began and what went wrong."""
        random = Random(f"{self._seed}:{number}")  # noqa: S311  # repeatable
        self._found.put_back()
        self._changes.forget()
        acts = Acts(random, ROWS, self._found.values)
        answered: set[str] = set()
        for place in range(BATCH):
            act = acts.draw()
            with capture_logs((format_exc_info,)) as logs:
                wrong = self._wrong(act, answered, random) or _logged(logs)
            if wrong:
                where = f"--fuzz-seed {self._seed} --fuzz-batch {number}, act {place}"
                raise AssertionError(f"{wrong}\n{where}: {act.told()}\n{_traces(logs)}")
            for button in self._buttons():
                acts.shown(button.action, button.value)
        written = self._changes.text()
        assert CANARY not in written, f"--fuzz-seed {self._seed} --fuzz-batch {number}: a secret"

    def _buttons(self) -> Iterator[Button]:
        for _, reply in self._dispatcher.heard:
            if reply is not None:
                yield from reply.buttons
                yield from reply.card.buttons if reply.card else ()

    def _wrong(self, act: Act, answered: set[str], random: Random) -> str:
        """What is wrong with what came of an act; empty where nothing is."""
        self._dispatcher.heard.clear()
        arrival = Arrival(time.monotonic() + PATIENCE_SECONDS, doubted=act.doubted)
        make = partial(_request, act.payload, arrival)
        response = self._reception.answer(make)
        changes = self._changes.look()
        self.figures.acts += 1
        self.figures.changes += bool(changes)
        if not self._dispatcher.heard:
            is_nothing = response.status in {200, NOT_OURS} and not changes
            return "" if is_nothing and not _is_for_us(act) else f"answered {response.status}"
        (said,) = self._dispatcher.heard
        is_new = act.delivery not in answered
        answered.add(act.delivery)
        return (
            self._ill_said(act, said, is_new=is_new, random=random)
            or ("" if response.status == 200 else f"answered {response.status}")
            or wrongs(said[0].person, changes, self._changes.approval)
        )

    def _ill_said(
        self, act: Act, said: tuple[Incoming, Reply | None], *, is_new: bool, random: Random
    ) -> str:
        incoming, reply = said
        self.figures.clicks += incoming.kind == "button"
        self.figures.commands += incoming.kind != "button"
        if reply is None:
            return "no answer" if is_new or act.kind == "slash_commands" else ""
        if reply.later is not None and random.random() < _LOOKED_UP:
            self.figures.looked_up += 1
            later = _ill_shown(incoming, reply.later())
            if later:
                return later
        return _ill_shown(incoming, reply)


def _request(payload: Mapping[str, Any], arrival: Arrival) -> BoltRequest:
    return BoltRequest(mode="socket_mode", body=dict(payload), context={ARRIVAL: arrival})


_SILENT = {REFRESH, LINK}
"""Buttons whose effect is seen elsewhere: on the Home tab, and in the browser."""


def _ill_shown(incoming: Incoming, reply: Reply) -> str:
    """Why Slack would not show it, or why it should not be shown."""
    draft = draft_of(incoming, reply)
    if not draft.text and reply.later is None:
        return "" if incoming.command.partition(":")[0] in _SILENT else "an empty answer"
    checked_text(draft.text, MESSAGE_TEXT)
    shown = encoded(draft.as_json()).decode()
    checked_blocks(json.loads(shown).get("blocks", []))
    for word in (BROKEN, CANARY):
        if word in shown:
            return f"it says {word}: {draft.text}"
    return ""


def _is_for_us(act: Act) -> bool:
    """Whether it is a command, a click, or somebody's words to the bot."""
    inner = act.payload.get("event", {})
    kind = act.payload.get("type")
    return (
        act.kind == "slash_commands"
        or kind == "block_actions"
        or inner.get("type") == "app_mention"
        or (inner.get("channel_type") == "im" and "subtype" not in inner)
    ) and not (inner.get("type") == "app_mention" and inner["channel"].startswith("D"))


def _logged(logs: Iterable[Mapping[str, Any]]) -> str:
    for line in logs:
        if line["log_level"] in {"error", "critical"}:
            return f"it logged {line['event']}"
        if CANARY in repr(line):
            return "a secret in the log"
    return ""


def _traces(logs: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(str(line.get("exception", line["event"])) for line in logs)


@contextmanager
def fuzzed(folder: Path, world: Served, seed: int) -> Iterator[Fuzzed]:
    """A bot with all kinds of rows, to be fuzzed."""
    with furnished(folder, world) as found:
        made = Fuzzed(found, seed)
        try:
            yield made
        finally:
            made.close()
