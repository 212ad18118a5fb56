"""The bot as a child process: started, watched, stopped, killed, and never left behind."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx

from playground.children import ROOT, Child, Launch, die_with_parent, launch
from playground.loopback import PLAIN_HTTP
from playground.slack.shapes import Json

START_SECONDS = 180.0  # it takes about one; a busy machine may take long
STOP_SECONDS = 60.0
_LOOK_SECONDS = 0.02
_ANSWER_SECONDS = 5.0
_STACKS_SECONDS = 1.0


class BotError(Exception):
    """The bot did not start or did not stop; the end of its log says why."""


@dataclass(frozen=True)
class Pulse:
    """What the bot says about itself: whether it has work, until when it rests, its clock."""

    quiet: bool
    next_due: datetime | None
    offset_seconds: float


@dataclass(frozen=True)
class Look:
    """How a bot stands: its pulse, the end of its log, and what its threads do if it is busy."""

    pulse: Pulse | None
    log_tail: str
    stacks: str


@dataclass
class BotProcess:
    """One `python -m bot serve`; it dies with this process, even when this one is killed.

    `url` is where it serves /readyz and /pulse. Its log goes to `log`, one run after another.
    """

    config: Path
    url: str
    log: Path
    environment: Mapping[str, str]
    launch: Launch = launch
    started_in: list[float] = field(default_factory=list)  # seconds from start to ready
    _was_ready: bool = False
    _process: Child | None = None
    _client: httpx.AsyncClient | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.returncode is None

    @property
    def is_ready(self) -> bool:
        """Whether it has said that it is ready, and lives."""
        return self._was_ready and self.is_running

    @property
    def pid(self) -> int | None:
        """The id of the process, None when there is none."""
        return self._process.pid if self._process is not None and self.is_running else None

    @property
    def state(self) -> str:
        """Whether it runs, or how it ended; a signal leaves nothing in its log."""
        if self._process is None:
            return "not started"
        code = self._process.returncode
        if code is None:
            return f"runs as {self._process.pid}"
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"

    async def manifest(self, options: tuple[str, ...]) -> Json:
        """The app manifest that the command line prints with these options."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "manifest", *options),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={"PYTHONPATH": str(ROOT), **self.environment},
            preexec_fn=die_with_parent,
        )
        printed, _ = await process.communicate()
        if process.returncode:
            raise BotError(f"`quartermaster manifest` ended with {process.returncode}")
        printed_manifest: Json = json.loads(printed)
        return printed_manifest

    async def migrate(self) -> None:
        """Brings the database up to date."""
        process = await self._spawn("migrate")
        if await process.wait():
            raise BotError(f"migrating failed:\n{self.log_tail()}")

    async def start(self) -> None:
        """Starts the bot unless it runs, and returns when it is ready."""
        async with self._lock:
            if self.is_running:
                return
            begun, self._was_ready = time.monotonic(), False
            self._process = await self._spawn("serve")
            ended = asyncio.ensure_future(self._process.wait())
            try:
                async with asyncio.timeout(START_SECONDS):
                    while not await self._says_ready():
                        await asyncio.wait({ended}, timeout=_LOOK_SECONDS)
                        if ended.done():
                            raise BotError(f"the bot {self.state} at its start:\n{self.log_tail()}")
            except TimeoutError:
                readiness = await self._text("/readyz")
                raise BotError(f"the bot is not ready:\n{readiness}{self.log_tail()}") from None
            self.started_in.append(time.monotonic() - begun)
            self._was_ready = True

    async def stop(self) -> int | None:
        """Asks the bot to end (SIGTERM) and returns its exit code."""
        if self._process is None or not self.is_running:
            return None
        self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            await self.kill()
            raise BotError(f"the bot did not stop on SIGTERM:\n{self.log_tail()}") from None

    async def kill(self) -> None:
        """Kills the bot (SIGKILL) and returns when it is gone."""
        if self._process is not None and self.is_running:
            self._process.kill()
            await self._process.wait()

    async def close(self) -> None:
        """Kills the bot for good."""
        await self.kill()
        if self._client is not None:
            await self._client.aclose()

    async def pulse(self) -> Pulse | None:
        """What the bot says about itself, None while it cannot be asked."""
        answer = await self._get("/pulse") if self.is_running else None
        if answer is None or answer.status_code != httpx.codes.OK:
            return None
        told = answer.json()
        due = datetime.fromisoformat(told["next_due"]) if told["next_due"] else None
        return Pulse(told["quiet"], due, told["offset_seconds"])

    async def look(self) -> Look:
        """How it stands, for a report."""
        pulse, tail = await self.pulse(), self.log_tail()
        is_busy = self.is_ready and not (pulse and pulse.quiet)
        return Look(pulse, tail, await self.stacks() if is_busy else "")

    async def stacks(self) -> str:
        """What each of its threads does, which it writes to its log when it is asked."""
        if self._process is None:
            return ""
        before = len(_read(self.log))
        self._process.send_signal(signal.SIGUSR1)
        await asyncio.sleep(_STACKS_SECONDS)
        return "\n".join(line for line in _read(self.log)[before:] if not line.startswith("{"))

    def log_tail(self, lines: int = 15) -> str:
        """The end of the log."""
        return "\n".join(_read(self.log)[-lines:])

    def errors(self) -> list[str]:
        """What the bot logged as an error, whole lines; also what it wrote outside its log."""
        return [line for line in _read(self.log) if _is_error(line)]

    def resident_bytes(self) -> int:
        """The memory the process holds now; 0 when it does not run."""
        if self.pid is None:
            return 0
        words = Path(f"/proc/{self.pid}/status").read_text("ascii").split()
        return int(words[words.index("VmRSS:") + 1]) * 1024

    async def _says_ready(self) -> bool:
        answer = await self._get("/readyz")
        return answer is not None and answer.status_code == httpx.codes.OK

    async def _text(self, path: str) -> str:
        answer = await self._get(path)
        return answer.text if answer is not None else "it does not answer\n"

    async def _get(self, path: str) -> httpx.Response | None:
        if self._client is None:
            self._client = httpx.AsyncClient(
                base_url=self.url,
                timeout=_ANSWER_SECONDS,
                trust_env=False,
                verify=PLAIN_HTTP,
            )
        try:
            return await self._client.get(path)
        except httpx.HTTPError:
            return None

    async def _spawn(self, command: str) -> Child:
        arguments = (command, "--config", str(self.config))
        environment = {"PYTHONPATH": str(ROOT), **self.environment}
        return await self.launch(arguments, self.config.parent, environment, self.log)


def _read(log: Path) -> list[str]:
    return log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []


def _is_error(line: str) -> bool:
    try:
        told = json.loads(line)
    except ValueError:
        return line.startswith("Traceback")
    return isinstance(told, dict) and told.get("level") in {"error", "critical"}
