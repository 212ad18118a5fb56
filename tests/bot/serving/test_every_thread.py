"""Every thread of the running bot is broken, stuck and killed: it goes on, or health names it."""

import re
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import uvicorn
from structlog.testing import capture_logs

from bot.cluster.api.following import Following
from bot.cluster.api.watch import Pace
from bot.cluster.cluster import following
from bot.config import ConfigurationFile, Settings
from bot.current import CurrentSecrets, CurrentSettings
from bot.database import schema
from bot.quotas.engines.opening import follow, watched_with
from bot.serving.serving import running
from bot.threads import EssentialThread
from playground.loopback import reserved_port
from tests.bot.serving.test_http import get
from tests.bot.slack.conftest import stage
from tests.bot.slack.receiving.dispatchers import secrets_of, wait_until
from tests.playground.cluster.served import BOT_TOKEN, Runner
from tests.playground.cluster.served import Served as ServedCluster
from tests.playground.slack.served import Stage

__all__ = ["stage"]

SETTINGS = """\
workspace: T0QM
database: {{url: "sqlite:///{folder}/bot.db"}}
clusters: {{default: {{kubeconfig: {folder}/kubeconfig}}}}
slack: {{api_url: "{api}"}}
http: {{listen: "127.0.0.1:{port}", ops_listen: "127.0.0.1:{ops}"}}
admins: {{people: [U0CAROL]}}
teams:
  team-a:
    channels: [C0TEAMA]
    members: {{people: [U0ALICE]}}
    namespace: team-a
    local_queue: team-a
"""
# These may end at any time: another follows, or nothing was lost with them.
COME_AND_GO = {
    "socket",  # a connection to Slack; the thread "sockets" keeps two of them
    "Thread",  # (recv_events) reads for a connection, which ends with it
    "AnyIO worker thread",  # answers a page of /readyz or /metrics
}
SLACKS, OURS = "http-listen", "http-ops_listen"  # the latter answers the tests, and probes
SHORT_LIMIT_SECONDS = 10.0
LONG_SECONDS = 200.0
PROBE_SECONDS = 3


@dataclass
class Orders:
    """What is to happen in which thread, in the middle of its next pass."""

    by_thread: dict[str, Callable[[], object]] = field(default_factory=dict)
    passes: dict[str, CodeType] = field(default_factory=dict)

    def trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        """Called by Python in every thread at each call of a function."""
        name = threading.current_thread().name
        order = self.by_thread.get(name)
        if order is not None and frame.f_code is self.passes.get(name):
            self.by_thread.pop(name, None)
            order()


def code_of(work: Any) -> CodeType:
    """The code of a pass; what else its thread calls may swallow what is raised there."""
    while isinstance(work, partial):
        work = work.func
    code: CodeType = work.__code__
    return code


@dataclass
class Bot:
    """A whole bot in this process."""

    url: str
    public: str
    essential: Callable[[], list[EssentialThread]]
    orders: Orders
    others: set[threading.Thread]

    def health(self) -> tuple[int, str]:
        return get(f"{self.url}/healthz")

    def named(self) -> set[str]:
        """The threads that /healthz calls dead or stuck."""
        status, body = self.health()
        lines = body.splitlines() if status == 503 else ()
        return {line.split()[1].removesuffix(":") for line in lines}


@pytest.fixture
def bot(stage: Stage, tmp_path: Path) -> Iterator[Bot]:
    runner = Runner()
    with (
        stage.workspace() as slack,
        runner.running(),
        ServedCluster(runner).serving() as cluster,
        reserved_port() as port,
        reserved_port() as ops,
    ):
        cluster.cluster.write_kubeconfig(tmp_path / "kubeconfig", BOT_TOKEN)
        path = tmp_path / "quartermaster.yaml"
        path.write_text(SETTINGS.format(folder=tmp_path, api=slack.api, port=port, ops=ops))
        file = ConfigurationFile(path)
        settings = file.load()
        schema.upgrade(settings.database.url)
        others = set(threading.enumerate())
        with traced() as orders:
            current, followed = CurrentSettings(file, settings), followed_by(settings)
            with running(current, CurrentSecrets(lambda: secrets_of(slack)), followed) as parts:
                url, public = f"http://127.0.0.1:{ops}", f"http://127.0.0.1:{port}"
                wait_until(lambda: get(f"{url}/readyz")[0] == 200)
                slack.act(slack.workspace.slash("U0ALICE", "C0TEAMA", "/train list"))
                yield Bot(
                    url, public, lambda: [t for part in parts for t in part.threads], orders, others
                )


def followed_by(settings: Settings) -> dict[str, Following]:
    """The clusters, whose watches begin anew all the time."""
    connections = {name: each.connection for name, each in follow(settings).items()}
    pace = Pace(turn=1, absent_pause=0.5)
    return {
        name: following(name, each, watched_with("kueue"), pace=pace)
        for name, each in connections.items()
    }


@contextmanager
def traced() -> Iterator[Orders]:
    """Every thread that is started meanwhile obeys the orders."""
    orders, before = Orders(), threading.gettrace()
    threading.settrace(orders.trace)
    try:
        yield orders
    finally:
        threading.settrace(before)


def give(bot: Bot, order: Callable[[], object], spared: Collection[str] = ()) -> set[str]:
    """Orders something of each essential thread but the spared ones; their names."""
    names = {thread.name for thread in bot.essential()}.difference(spared)
    bot.orders.passes = {each.name: code_of(each._make_pass) for each in bot.essential()}
    # These are in one pass for as long as they serve.
    bot.orders.passes |= dict.fromkeys((SLACKS, OURS), code_of(uvicorn.Server.on_tick))
    bot.orders.by_thread |= dict.fromkeys(names, order)
    until(lambda: not bot.orders.by_thread)
    return names


def until_named(bot: Bot, names: set[str]) -> None:
    until(lambda: bot.named() == names)
    assert bot.named() == names


def until(condition: Callable[[], bool]) -> None:
    """Returns when it holds, or after long: some passes last half a minute on a busy machine."""
    end, pause = time.monotonic() + LONG_SECONDS, threading.Event()
    while not condition() and time.monotonic() < end:
        pause.wait(0.1)


def test_every_thread_is_watched_or_comes_and_goes(bot: Bot) -> None:
    names = {thread.name for thread in bot.essential()}
    assert len(names) == len(bot.essential())  # one that shares its name could hide another
    started = {thread.name for thread in set(threading.enumerate()) - bot.others}
    unwatched = {re.split(r"[_-]\d+ ?", name)[0] for name in started - names}
    assert unwatched <= COME_AND_GO
    assert {
        "due-loop",
        "sender",
        "wakeups",
        "settings",
        "secrets",
        "timetable",
        "http-listen",
        "sockets",
    } < names
    assert {"step-0", "send-0", "answer-0", "look-0", "slack-0", "watch-default-pods"} < names
    assert bot.health() == (200, "alive\n")


def test_details_are_on_a_port_of_their_own(bot: Bot) -> None:
    assert "quartermaster_due_lag_seconds" in get(f"{bot.url}/metrics")[1]
    assert get(f"{bot.url}/readyz")[1].startswith("database: ready\n")
    assert get(f"{bot.public}/metrics") == (404, "Not found.\n")
    assert get(f"{bot.public}/readyz") == (200, "ready\n")
    assert get(f"{bot.public}/healthz") == (200, "alive\n")


def test_every_thread_outlives_what_a_pass_raises(bot: Bot) -> None:
    def breaks() -> None:
        raise ZeroDivisionError

    with capture_logs() as logs:
        names = give(bot, breaks)
        wait_until(lambda: {entry.get("thread") for entry in logs} >= names)
    broken_at = time.monotonic()
    wait_until(lambda: all((t.passed_at or 0) > broken_at for t in bot.essential()))
    assert {thread.name for thread in bot.essential() if thread.is_alive} >= names
    wait_until(lambda: bot.health() == (200, "alive\n"))


@pytest.mark.timeout(600)
def test_a_thread_that_is_killed_is_named(bot: Bot) -> None:
    def dies() -> None:
        raise SystemExit

    with capture_logs():  # to show 50 tracebacks takes a minute
        names = give(bot, dies, {OURS})
        until_named(bot, names)
    assert {line.partition(": ")[2] for line in bot.health()[1].splitlines()} == {
        "It has ended unexpectedly."
    }


@pytest.mark.timeout(600)
def test_a_thread_that_is_stuck_is_named(bot: Bot) -> None:
    opened = threading.Event()
    names = give(bot, lambda: opened.wait(3 * LONG_SECONDS), {OURS})
    for thread in bot.essential():
        if thread.name in names:
            thread.limit_seconds = SHORT_LIMIT_SECONDS
    until_named(bot, names)
    opened.set()
    wait_until(lambda: bot.health() == (200, "alive\n"))


@pytest.mark.timeout(600)
def test_servers_that_cannot_answer_fail_probes(bot: Bot) -> None:
    """Kubernetes asks the port of the probe; a thread that is stuck or dead does not answer it."""
    opened = threading.Event()
    others = {thread.name for thread in bot.essential()} - {OURS}
    give(bot, lambda: opened.wait(3 * LONG_SECONDS), others)
    assert not is_answered(bot.url)
    next(each for each in bot.essential() if each.name == OURS).limit_seconds = 2
    until(lambda: get(f"{bot.public}/healthz") == (503, "dead\n"))
    opened.set()
    wait_until(lambda: get(f"{bot.public}/healthz") == (200, "alive\n"))
    wait_until(lambda: is_answered(bot.url))

    def dies() -> None:
        raise SystemExit

    give(bot, dies, others - {SLACKS})
    wait_until(lambda: not any(each.is_alive for each in bot.essential() if "http-" in each.name))
    assert (is_answered(bot.url), is_answered(bot.public)) == (False, False)


def is_answered(url: str) -> bool:
    """Whether /healthz answers at all, as long as a probe waits for it."""
    try:
        urllib.request.urlopen(f"{url}/healthz", timeout=PROBE_SECONDS).close()
    except OSError:
        return False
    return True
