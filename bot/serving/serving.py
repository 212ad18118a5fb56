"""The running bot: the threads round an application, started and stopped in order."""

import faulthandler
import gc
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Protocol

import structlog

from bot.app import Application, version
from bot.cluster.api.following import Following
from bot.config import Secrets, Settings
from bot.current import CurrentSecrets, CurrentSettings
from bot.database.database import Session
from bot.database.exclusive import alone
from bot.errors import DatabaseError
from bot.home.opening import HomeOpening
from bot.people.directory import (
    ChannelController,
    Directory,
    GroupController,
    PersonController,
    SharedChannels,
    look_up_all,
)
from bot.reconcile import due
from bot.reconcile.gauges import due_gauges
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeups
from bot.serving.health import Health
from bot.serving.http import Pages, Server, application
from bot.serving.metrics import RowMetrics
from bot.serving.pulse import ClockFollower, pulse
from bot.slack.client import SlackClient
from bot.slack.filing import Filing
from bot.slack.home.publisher import HomePublisher, WritingRights
from bot.slack.receiving.answers import Answers
from bot.slack.receiving.transports import Transport
from bot.slack.sending.sender import Sender
from bot.threads import EssentialThread

log = structlog.get_logger()


class ServerPart(Protocol):
    """Something that runs, in `threads` without which the bot cannot do."""

    @property
    def threads(self) -> Sequence[EssentialThread]:
        """All that it has by now."""
        ...

    def start(self) -> None:
        """Begins."""
        ...

    def stop(self) -> None:
        """Stops after finishing the work in progress."""
        ...


def run(
    settings: CurrentSettings, secrets: CurrentSecrets, followed: Mapping[str, Following]
) -> None:
    """Runs the bot until it is asked to stop, then finishes the work in progress."""
    stopping, at_start = threading.Event(), settings()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    faulthandler.register(signal.SIGUSR1)  # what every thread does at this moment, to stderr
    with alone(at_start.database.url), running(settings, secrets, followed):
        # What is there now stays: looking through it again would stop every thread for 75 ms.
        gc.freeze()
        gc.enable()
        log.info("serving", listen=at_start.http.listen, version=version())
        stopping.wait()
        log.info("stopping")


@contextmanager
def running(
    settings: CurrentSettings, secrets: CurrentSecrets, followed: Mapping[str, Following]
) -> Iterator[Sequence[ServerPart]]:
    """The running parts of the bot; work in progress is finished when the context ends."""
    bot = Application(settings, followed)
    with ExitStack() as stack:
        stack.callback(bot.close)
        _take_up(bot)
        parts = _parts(bot, secrets)
        for part in parts:
            part.start()
            stack.callback(part.stop)
        yield parts


def _parts(bot: Application, secrets: CurrentSecrets) -> list[ServerPart]:
    """Everything that runs, in the order in which it is started."""
    settings = bot.settings()
    client = _client(settings, secrets())
    directory = (
        PersonController(client, bot.clock),
        ChannelController(client, bot.clock, bot.settings),
        GroupController(client, bot.clock, bot.settings),
    )
    anew = Directory(client, bot.database, bot.clock).read_anew
    calling = (bot.services.quotas.reporting(client), bot.services.datasets.copying(client))
    loop = Loop(bot.database, bot.clock, [*bot.controllers(anew), *directory, *calling])
    wakeups = Wakeups(bot.database, bot.clock, bot.watch_handlers())
    for cluster in bot.clusters.values():
        cluster.on_change(wakeups.on_change)
    shared = SharedChannels(client, bot.database, bot.clock, bot.settings)
    sender = _sender(bot, client, shared)
    homes = _homes(bot, client, sender)
    transport = _transport(bot, secrets(), client, sender)
    secrets.on_change(lambda new: client.renew(new.bot_token.get_secret_value()))
    secrets.on_change(transport.renew)
    parts: list[ServerPart] = [bot.database, wakeups, *bot.clusters.values(), loop, sender, homes]
    parts += [bot.timetable, bot.settings, secrets]
    health = Health(
        bot.database,
        bot.clock,
        bot.clusters,
        loop,
        wakeups,
        sender,
        transport,
        bot.timetable.next_at,
        lambda: [thread for part in parts for thread in part.threads],
        homes,
    )
    if settings.clock.url:
        parts.insert(0, ClockFollower(settings.clock.url, bot.clock, lambda: _moved(bot, loop)))
    parts += [*_servers(bot.settings(), _pages(bot, health, transport)), transport]
    return parts


def _client(settings: Settings, secrets: Secrets) -> SlackClient:
    at, token = settings.slack, secrets.bot_token.get_secret_value()
    return SlackClient(token, at.api_url, settings.workspace, at.organisation)


def _homes(bot: Application, client: SlackClient, sender: Sender) -> HomePublisher:
    """What publishes Home tabs, while the sender of this process sends."""
    rights = WritingRights(sender.budgets, sender.lease_seconds)
    return HomePublisher(bot.database, client, bot.home(), bot.settings().workspace, rights)


def _transport(
    bot: Application, secrets: Secrets, client: SlackClient, sender: Sender
) -> Transport:
    """What brings requests; answers that all see are paced with the sender's messages."""
    return Transport(
        bot.settings(),
        secrets,
        Answers(client, sender.budgets),
        _dispatcher(bot),
        _slash_names(bot),
        bot.database.gate.foreground,
    )


def _dispatcher(bot: Application) -> HomeOpening:
    """What requests meet: Home tabs follow clicks, and long answers become files."""
    workspace = bot.settings().workspace
    filing = Filing(bot.dispatcher, bot.database, bot.clock, workspace)
    return HomeOpening(filing, bot.database, bot.clock, workspace)


def _servers(settings: Settings, pages: Pages) -> list[Server]:
    """Where Slack's requests arrive, other visitors see no more than they need."""
    at, slack_comes = settings.http, pages.slack is not None and not settings.playground
    public = replace(pages, is_public=slack_comes or at.ops_listen is not None)
    servers = [Server(application(public), at.listen)]
    if at.ops_listen is not None:
        ops = replace(pages, slack=None)
        servers.append(Server(application(ops), at.ops_listen, "ops_listen"))
    return servers


def _moved(bot: Application, loop: Loop) -> None:
    bot.timetable.look_at_all()
    loop.nudge()


def _sender(bot: Application, client: SlackClient, shared: SharedChannels) -> Sender:
    """What posts messages, each only where and to whom it may be shown."""
    return Sender(
        bot.database,
        client,
        bot.renderers(),
        bot.settings,
        refuse=shared.refuse,
        may_read=bot.services.access.may_read,
    )


def _slash_names(bot: Application) -> list[str]:
    registry = bot.registry
    return [f"/{registry.umbrella}", *(registry.slash.of(name) for name in registry.slash_commands)]


def _pages(bot: Application, health: Health, transport: Transport) -> Pages:
    def beat() -> dict[str, object]:
        return pulse(bot.clock, health.is_quiet, health.next_due)

    def metrics() -> bytes:
        health.refresh_metrics()
        return rows.text()

    sources = (due_gauges(health.loop.kinds), *bot.gauges())
    rows = RowMetrics(bot.database, bot.clock, sources, health.sender.depth)
    return Pages(
        ready=health.conditions(),
        dead=health.dead,
        troubles=health.troubles(),
        pulse=beat if bot.settings().playground else None,
        slack=transport.asgi,
        metrics=metrics,
    )


def _take_up(bot: Application) -> None:
    """Takes up what an earlier process left, and gets to know the people it will meet."""
    if bot.database.is_sqlite:  # no other process serves this file, so none holds a claim
        bot.database.transaction(due.free_all)
    _get_to_know(bot)
    bot.settings.on_change(lambda: _get_to_know(bot))


def _get_to_know(bot: Application) -> None:
    """Has Slack asked about the people, groups and channels that the configuration names."""
    settings = bot.settings()

    def work(session: Session) -> None:
        look_up_all(session, settings, bot.clock.now())

    try:
        bot.database.transaction(work)
    except DatabaseError as error:
        log.warning("people could not be queued for look-up", error=error.message)
