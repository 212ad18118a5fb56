"""The outside world in one process: Slack, a cluster, time, and the bot as its child."""

import asyncio
import contextlib
import secrets
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TypeVar

from typing_extensions import override

from playground.arm.azure import Azure
from playground.bot_process import BotProcess, Look
from playground.bucket import WORKER_IMAGE, Bucket
from playground.changes import Changes
from playground.children import Launch, launch
from playground.clock import VirtualClock
from playground.clusters import cluster_of
from playground.fsx.service import Fsx
from playground.ledger import Ledger
from playground.loopback import App, Loopback, reserved_port
from playground.mlflow.service import Mlflow
from playground.pace import Pace
from playground.prometheus.service import Metrics
from playground.runai.service import tenants
from playground.settings import (
    CONFIG,
    KUBECONFIG,
    Addresses,
    Setup,
    configuration,
    kubeconfig,
    merged,
    rights,
    write_yaml,
)
from playground.slack.app import SlackApp
from playground.slack.shapes import Json
from playground.slack.workspace import Workspace

T = TypeVar("T")

_WORKER = (sys.executable, "-m", "bot")

LOG = "bot.log"
DATABASE = "quartermaster.db"
BUCKET, PODS, TEMPORARY = "bucket", "kubelet", "tmp"
_OURS = (CONFIG, f"{KUBECONFIG}*", LOG, f"{DATABASE}*", "bot-*.log", "quartermaster-*.yaml")
# A person who mentions the bot while it is away is heard soon after, not a minute later.
_RETRIES = (0.0, 0.5, 2.0)


_MANIFESTS: dict[tuple[str, ...], Json] = {}  # by the options of the command
_LIVED_THROUGH, _LAST_MINUTES = timedelta(hours=1), timedelta(minutes=2)


class WorldError(Exception):
    """The world itself broke, so that nothing can be said about the bot."""


@dataclass(frozen=True)
class Options:
    """Where a world keeps its files and how it is set up; ports 0 mean any free one.

    `template` is a migrated SQLite database to begin with, which saves the migration; `launch`
    is how its bots are started.
    """

    out: Path
    setup: Setup = field(default_factory=Setup)
    database_url: str = ""
    seed: int = 1
    bots: int = 1
    ports: tuple[int, int, int] = (0, 0, 0)  # control API, Slack, Kubernetes
    template: Path | None = None
    launch: Launch = launch


class _Workspace(Workspace):
    """A workspace that rings the world's bell."""

    def __init__(self, clock: VirtualClock, ledger: Ledger, changes: Changes) -> None:
        super().__init__(clock, ledger)
        self._changes = changes

    @override
    def changed(self) -> None:
        super().changed()
        self._changes.ring()


class World:
    """Everything outside the bot, and the bot; `playground.opening` begins and ends it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.changes = Changes()
        self.clock = VirtualClock()
        self.random = Random(options.seed)  # noqa: S311  # chance of a story, not a secret
        self.ledger = Ledger(kill=self._killed)
        self.slack = _Workspace(self.clock, self.ledger, self.changes)
        self.slack.courier.retry_seconds = _RETRIES
        self.clusters = {
            name: cluster_of(self.clock, self.ledger, options.setup, engine)
            for name, engine in options.setup.clusters.items()
        }
        self.cluster = next(iter(self.clusters.values()))
        self.bucket = Bucket(options.out.resolve() / BUCKET) if options.setup.bucket else None
        self.azure = Azure(self.ledger, self.clock.now) if options.setup.azure else None
        self.fsx = self._fsx() if options.setup.fsx else None
        self.runai = tenants(self.ledger, self.clock.now, self.clusters)
        self._arrange(options.setup)
        self.metrics = Metrics(self.clusters, self.clock.now) if options.setup.prometheus else None
        self.mlflow = Mlflow(self.ledger) if options.setup.mlflow else None
        self._prepare_clusters()
        self.bots: list[BotProcess] = []
        self.revives = True  # whether a bot that a fault killed is started again at once
        self.kills = 0
        self.addresses = Addresses("", "", "", "")
        self.looks: dict[str, Look] = {}
        self._servers = Loopback()
        self._ports = contextlib.ExitStack()
        self._revivals: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self.pace = Pace(
            self.clock,
            self.changes,
            tuple(self.clusters.values()),
            self.bots,
            self._is_settled,
            self._check,
            Random(options.seed),  # noqa: S311  # a chance of its own, however often it is asked
        )

    async def _manifest(self) -> Json:
        """What the bot's command line prints; asked once in a process, as it never differs."""
        setup = self.options.setup
        prefix = str(setup.settings.get("slack", {}).get("command_prefix", ""))
        named = ("--prefix", prefix) if prefix else ()
        options = (*named, *setup.manifest)
        if options not in _MANIFESTS:
            _MANIFESTS[options] = await self.bot.manifest(options)
        return _MANIFESTS[options]

    def _prepare_clusters(self) -> None:
        for cluster in self.clusters.values():
            cluster.programs.folder = self.options.out / PODS
            cluster.programs.images[WORKER_IMAGE] = _WORKER
            cluster.inside.store.listeners.append(lambda _change: self.changes.ring())

    def _fsx(self) -> Fsx:
        if self.bucket is None:
            raise WorldError("FSx is linked to a bucket: Setup(bucket=True, fsx=True)")
        volumes = self.options.out.resolve() / PODS / "volumes"
        return Fsx(self.ledger, self.clock.now, self.bucket, volumes)

    def _arrange(self, setup: Setup) -> None:
        """Puts into the world what a story finds there."""
        if self.bucket is not None:
            for cluster in self.clusters.values():
                self.bucket.prepare(cluster)
        if self.azure is not None and setup.azure is not None:
            setup.azure(self.cluster, self.azure.estate)
        setup.arrange(self.cluster, self.slack)

    @property
    def bot(self) -> BotProcess:
        """The first bot; most worlds have no other."""
        return self.bots[0]

    async def serve(self, control_app: App) -> None:
        """Serves everything on loopback, writes the bot's files, and installs its Slack app."""
        out = self.options.out
        _clean(out)
        if self.bucket is not None:
            await asyncio.to_thread(self.bucket.open)
        control, slack, kubernetes = self.options.ports
        at = Addresses(
            slack=self._servers.serve(SlackApp(self.slack), slack),
            kubernetes=await self.cluster.start(kubernetes),
            control=self._servers.serve(control_app, control),
            bot="",
            files=out.resolve(),
        )
        self.slack.base_url = at.slack
        self._serve_services()
        token = secrets.token_hex(16)
        for name, cluster in self.clusters.items():
            if cluster is not self.cluster:
                await cluster.start()
            setup = self.options.setup
            makes_teams = "team_creation" in setup.settings
            cluster.admit_bot(token, rights(setup.clusters[name], makes_teams=makes_teams))
            cluster.write_kubeconfig(out / kubeconfig(name), token)
        for number in range(self.options.bots):
            self.bots.append(self._bot(at, number))
        self.addresses = replace(at, bot=self.bot.url)
        self.slack.install(await self._manifest())

    def _serve_services(self) -> None:
        """Serves what there is beside Slack and the clusters."""
        for part in (self.azure, self.fsx, self.mlflow):
            if part is not None:
                part.url = self._servers.serve(part.app)
        for runai in self.runai.values():
            runai.url = self._servers.serve(runai.app)
        if self.metrics is not None:
            self.metrics.serve(self._servers.serve)

    async def start_bots(self) -> None:
        """Migrates the database and starts the bots; returns when they know their people."""
        if self.options.template is not None:
            shutil.copy(self.options.template, self.options.out / DATABASE)
        else:
            await self.bot.migrate()
        await self.bot.start()  # so that it is the one that sends, and faults kill that one
        await asyncio.gather(*(bot.start() for bot in self.bots[1:]))
        await self.pace.rest()

    async def until(self, predicate: Callable[[], T]) -> T:
        """The first truthy value of the predicate; time moves on while the bot is quiet."""
        return await self.pace.until(predicate)

    async def pass_time(self, duration: timedelta) -> None:
        """Lives through that much time; of more than an hour only the last minutes one by one."""
        end = self.clock.now() + duration
        if duration > _LIVED_THROUGH:
            await self.pace.rest()
            await self.jump(duration - _LAST_MINUTES)
        await self.pace.pass_until(end)

    async def jump(self, duration: timedelta) -> None:
        """Lets that much time pass at once: what happens outside meanwhile does so unseen."""
        await self.clock.move_to(self.clock.now() + duration)
        for cluster in self.clusters.values():
            cluster.settle()
        self.changes.ring()

    async def look(self) -> None:
        """Asks the bots how they are, for a report."""
        for bot in self.bots:
            self.looks[bot.url] = await bot.look()

    async def kill_bot(self, bot: BotProcess | None = None) -> None:
        """Kills a bot with SIGKILL, without starting it again."""
        self.kills += 1
        await (bot or self.bot).kill()
        self.changes.ring()

    async def close(self) -> None:
        """Ends the bots, then everything else."""
        for task in list(self._revivals):
            task.cancel()
        await asyncio.gather(*self._revivals, return_exceptions=True)
        await asyncio.gather(*(bot.close() for bot in self.bots))
        await self.slack.close()
        await asyncio.gather(*(cluster.stop() for cluster in self.clusters.values()))
        await self._servers.close()
        self._ports.close()
        if self.bucket is not None:
            self.bucket.close()

    async def _killed(self) -> None:
        """A fault of the ledger says the bot dies now."""
        await self.kill_bot()
        if self.revives:
            task = asyncio.get_running_loop().create_task(self._revive())
            self._revivals.add(task)
            task.add_done_callback(self._revivals.discard)

    async def _revive(self) -> None:
        kills = self.kills
        try:
            await self.bot.start()
        except Exception as error:  # noqa: BLE001  # told to whoever waits, by _check
            if self.kills == kills:  # else it was killed again, and is revived for that
                self._broken = error
        self.changes.ring()

    def _check(self) -> None:
        if self._broken is not None:
            raise WorldError(f"{self._broken}") from self._broken

    def _is_settled(self) -> bool:
        """Whether nothing is on its way to a bot; a call that Slack holds back still is."""
        is_held = self.slack.rates.is_holding
        is_working = any(cluster.programs.is_busy for cluster in self.clusters.values())
        is_idle = self.slack.courier.is_idle and not self._revivals
        return is_idle and not is_held and not is_working

    def _bot(self, at: Addresses, number: int) -> BotProcess:
        out = self.options.out.resolve()
        url = f"http://127.0.0.1:{self._ports.enter_context(reserved_port())}"
        database_url = self.options.database_url or f"sqlite:///{out / DATABASE}"
        config = out / (f"quartermaster-{number + 1}.yaml" if number else CONFIG)
        document = configuration(replace(at, bot=url), self.options.setup, "sqlite://")
        if self.bucket is not None:
            document = merged(self.bucket.settings(), document)
        if self.azure is not None:
            document = merged(self.azure.settings(), document)
        if self.fsx is not None:
            document = merged(document, self.fsx.settings(out))
        for part in (self.mlflow, self.metrics):
            if part is not None:
                document = merged(document, part.settings())
        for name, runai in self.runai.items():
            document = merged(document, runai.settings(name, out))
        del document["database"]
        write_yaml(config, document)
        credentials = self.slack.credentials
        environment = {
            "SLACK_BOT_TOKEN": credentials.bot_token,
            "SLACK_APP_TOKEN": credentials.app_token,
            "SLACK_SIGNING_SECRET": credentials.signing_secret,
            "SLACK_API_URL": f"{at.slack}/api/",
            "KUBECONFIG": str(out / KUBECONFIG),
            "QUARTERMASTER_DATABASE_URL": database_url,
            "TMPDIR": str(out / TEMPORARY),
            **(self.azure.identity() if self.azure is not None else {}),
        }
        log = out / (f"bot-{number + 1}.log" if number else LOG)
        return BotProcess(config, url, log, environment, self.options.launch)


def _clean(out: Path) -> None:
    """Removes what an earlier world left there, and nothing else."""
    out.mkdir(parents=True, exist_ok=True)
    for pattern in _OURS:
        for path in out.glob(pattern):
            path.unlink()
    for folder in (BUCKET, PODS, TEMPORARY):
        shutil.rmtree(out / folder, ignore_errors=True)
    (out / TEMPORARY).mkdir()
