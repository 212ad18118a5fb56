"""A workspace served on loopback by a thread, for clients that block."""

import asyncio
import contextlib
import copy
import functools
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import uvicorn
from slack_sdk import WebClient

from bot.app import commands
from bot.slack.grammar.manifest import manifest
from playground.clock import VirtualClock
from playground.ledger import Ledger
from playground.slack.app import Receive, Scope, Send, SlackApp
from playground.slack.people import ORGANISATION, SISTER, User
from playground.slack.shapes import Json
from playground.slack.workspace import Workspace

T = TypeVar("T")

PATIENCE_SECONDS = 60
"""How long a test waits for what has to come; a busy machine may take long."""


_MORE = ("channels:join", "im:read", "reactions:write")
"""Scopes that the playground knows and the bot does not ask for."""


@functools.cache
def usual_manifest() -> Json:
    """The bot's own manifest, with scopes that only the playground's tests use."""
    made = manifest(commands())
    made["oauth_config"]["scopes"]["bot"] += _MORE
    return made


GRACE = "W0GRACE"
"""A person of another workspace of the organisation."""


class Served:
    """A workspace and the address it is served at."""

    def __init__(self, workspace: Workspace, loop: asyncio.AbstractEventLoop) -> None:
        self.workspace = workspace
        self.url = workspace.base_url
        self.api = self.url + "/api/"
        self.bot = WebClient(
            workspace.credentials.bot_token, base_url=self.api, timeout=int(PATIENCE_SECONDS)
        )
        self._loop = loop
        self._tasks: set[asyncio.Task[Any]] = set()

    def act(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine of the workspace where it belongs, and waits for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_SECONDS)

    def call(self, function: Callable[[], T]) -> T:
        """Calls a plain function where the workspace lives."""

        async def called() -> T:
            return function()

        return self.act(called())

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Starts a coroutine from within the workspace's loop, without waiting for it."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def until(self, predicate: Callable[[], T], timeout_seconds: float = PATIENCE_SECONDS) -> T:
        """Waits for something to become true in the workspace."""
        return self.act(self.workspace.until(predicate, timeout_seconds))

    def grow_into_organisation(self) -> None:
        """Installs the app to a whole organisation; Grace comes into #team-a from there."""
        workspace, manifest = self.workspace, copy.deepcopy(usual_manifest())
        manifest["settings"]["org_deploy_enabled"] = True
        colleague = User(GRACE, "grace", "Grace Lindqvist", team_id=SISTER)
        colleague.organisation = ORGANISATION

        def grow() -> None:
            workspace.install(manifest)
            workspace.install_org_wide()
            workspace.users[GRACE] = colleague
            workspace.share_in_organisation("C0TEAMA", GRACE)

        self.call(grow)

    def texts(self, user: str, channel: str) -> list[str]:
        """What a person sees in a channel, as plain text."""
        workspace = self.workspace
        return [workspace.text_of(m) for m in workspace.visible(user, channel)]


class Stage:
    """One server for all tests; each test puts its own workspace on it."""

    def __init__(self) -> None:
        self.url = ""
        self._app: SlackApp | None = None
        self._loop = asyncio.new_event_loop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands requests to the workspace that is on now."""
        assert self._app is not None
        await self._app(scope, receive, send)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Serves until the block ends."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            config = uvicorn.Config(
                self,
                ws="websockets-sansio",
                log_level="error",
                lifespan="off",
                ws_ping_interval=0.2,
                timeout_graceful_shutdown=1,
            )
            server = uvicorn.Server(config)
            serve = self._loop.run_until_complete
            # Until the server takes them, connections queue in the listening socket.
            thread = threading.Thread(target=lambda: serve(server.serve(sockets=[listening])))
            thread.start()
            try:
                yield
            finally:
                server.should_exit = True
                thread.join(PATIENCE_SECONDS)
                self._loop.close()

    @contextlib.contextmanager
    def workspace(
        self, monotonic: Callable[[], float] = lambda: 0.0, clock: VirtualClock | None = None
    ) -> Iterator[Served]:
        """A fresh workspace until the block ends; time for its limits stands still by itself."""
        workspace = Workspace(
            clock or VirtualClock(), Ledger(), base_url=self.url, monotonic=monotonic
        )
        workspace.install(usual_manifest())
        workspace.sockets.ack_seconds = PATIENCE_SECONDS
        self._app = SlackApp(workspace)
        running = Served(workspace, self._loop)
        try:
            yield running
        finally:
            running.act(workspace.close())
