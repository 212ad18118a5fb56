"""Dispatchers that answer what a test wants, in front of a real transport and a strict Slack."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bot.config import Secrets, Settings
from bot.database.priority import ForegroundGate
from bot.serving.http import Pages, Server, application
from bot.slack.card import Reply
from bot.slack.client import SlackClient
from bot.slack.home.tabs import HomeOpened
from bot.slack.markup import plain
from bot.slack.receiving.answers import Answers
from bot.slack.receiving.incoming import Incoming, StepRun
from bot.slack.receiving.transports import Transport
from bot.slack.sending.budgets import Budgets
from playground.slack.delivery import RequestUrls
from playground.slack.people import ORGANISATION
from tests.playground.slack.served import PATIENCE_SECONDS, Served

T = TypeVar("T")

COMMANDS = ("train", "quota", "qm")


def begin(slack: Served, act: Coroutine[Any, Any, T]) -> "Future[T]":
    """Lets somebody in the workspace do something without waiting for what comes of it."""
    return asyncio.run_coroutine_threadsafe(act, slack._loop)


def wait_until(condition: Callable[[], object]) -> None:
    """Looks again and again."""
    end, pause = time.monotonic() + PATIENCE_SECONDS, threading.Event()
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        pause.wait(0.01)


def say(text: str) -> Reply:
    """A reply of one line."""
    return Reply(lines=(plain(text),))


@dataclass
class RecordingDispatcher:
    """Remembers requests and answers with what `reply` makes of it."""

    reply: Callable[[Incoming], Reply | None] = field(
        default=lambda incoming: say(f"You said {incoming.words!r}.")
    )
    seen: list[Incoming] = field(default_factory=list)
    gate: ForegroundGate = field(default_factory=ForegroundGate)
    channels: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    homes: list[HomeOpened] = field(default_factory=list)

    def channel_changed(self, channel_id: str) -> None:
        self.channels.append(channel_id)

    def step_begun(self, run: StepRun) -> None:
        """Nothing."""

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        self.joined.append(f"{channel_id} {event_id}")

    def home_opened(self, opened: HomeOpened) -> None:
        self.homes.append(opened)

    def answer(self, incoming: Incoming) -> Reply | None:
        self.seen.append(incoming)
        return self.reply(incoming)


def settings_for(slack: Served, **more: object) -> Settings:
    """Settings of the story's workspace, with its Slack on loopback."""
    team = {"channels": ["C0TEAMA"], "namespace": "team-a", "local_queue": "team-a"}
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "slack": {"api_url": slack.api, "organisation": organisation_of(slack), **more},
            "teams": {"team-a": team},
        }
    )


def organisation_of(slack: Served) -> str | None:
    """The organisation that the bot serves, if its app is installed to one."""
    return ORGANISATION if slack.workspace.is_org_wide else None


def secrets_of(slack: Served) -> Secrets:
    credentials = slack.workspace.credentials
    return Secrets.model_validate(
        {
            "bot_token": credentials.bot_token,
            "app_token": credentials.app_token,
            "signing_secret": credentials.signing_secret,
        }
    )


def client_of(slack: Served) -> SlackClient:
    token = slack.workspace.credentials.bot_token
    return SlackClient(token, slack.api, "T0QM", organisation_of(slack))


def answers_of(slack: Served) -> Answers:
    """What brings the answers that follow an acknowledgement."""
    return Answers(client_of(slack), Budgets())


@contextmanager
def by_sockets(slack: Served, dispatcher: RecordingDispatcher) -> Iterator[Transport]:
    """The dispatcher behind Socket Mode, until the block ends."""
    transport = _transport(slack, dispatcher, settings_for(slack))
    transport.start()
    try:
        slack.until(lambda: len(slack.workspace.sockets.open) == 2)
        wait_until(lambda: transport.health() is None)
        yield transport
    finally:
        transport.stop()


@contextmanager
def by_http(slack: Served, dispatcher: RecordingDispatcher, port: int) -> Iterator[Transport]:
    """The dispatcher behind signed requests to the bot's own server, until the block ends."""
    settings = settings_for(slack, transport="http")
    transport = _transport(slack, dispatcher, settings)
    server = Server(application(Pages(ready={}, slack=transport.asgi)), f"127.0.0.1:{port}")
    transport.start()
    server.start()
    url = f"http://127.0.0.1:{port}/slack/events"
    slack.workspace.courier.urls = RequestUrls(url, url, url)
    try:
        yield transport
    finally:
        server.stop()
        transport.stop()


def _transport(slack: Served, dispatcher: RecordingDispatcher, settings: Settings) -> Transport:
    secrets, foreground = secrets_of(slack), dispatcher.gate.foreground
    return Transport(settings, secrets, answers_of(slack), dispatcher, COMMANDS, foreground)


@dataclass
class Gate:
    """Something that holds threads up until it is opened."""

    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        self.entered.set()
        assert self.opened.wait(PATIENCE_SECONDS)
