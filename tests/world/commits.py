"""A bot that dies at chosen commits: what its process loads, and what starts it again."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from playground.bot_process import BotError
from playground.world import World

# Python loads a module of this name before the program; the bot itself knows nothing of it. It
# kills its own process with SIGKILL before or after a commit that has written something, or, where
# the database is a server, once a commit is on its way.
_HOOK = """
import os, signal, sys, threading

if "serve" in sys.orig_argv:
    from psycopg.pq import TransactionStatus
    from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
    from sqlalchemy.dialects.sqlite.base import SQLiteDialect

    PLAN, DEATHS = {plan!r}, {deaths!r}
    left = None
    moment = ""
    written = 0

    def die():
        os.unlink(PLAN)
        with open(DEATHS, "a") as deaths:
            print(moment, threading.current_thread().name, file=deaths)
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()

    def wrote_file(connection):
        global written
        changes, written = written, connection.total_changes
        return written != changes

    def wrote_server(connection):
        connection = connection.driver_connection  # the pool's proxy has an info of its own
        if connection.info.transaction_status != TransactionStatus.INTRANS:
            return False
        with connection.cursor() as cursor:
            number = cursor.execute("SELECT pg_current_xact_id_if_assigned()").fetchone()[0]
        return number is not None

    def deadly(commit, wrote):
        def do_commit(self, connection):
            global left, moment
            if not wrote(connection):
                return commit(self, connection)
            if left is None:
                try:
                    with open(PLAN) as plan:
                        number, moment = plan.read().split()
                except FileNotFoundError:
                    return commit(self, connection)
                left = int(number)
            left -= 1
            if left == 0 and moment == "before":
                die()
            if left == 0 and moment == "amid":
                server = connection.driver_connection.pgconn
                server.send_query(b"COMMIT")
                server.flush()
                die()
            commit(self, connection)
            if left == 0:
                die()
        return do_commit

    SQLiteDialect.do_commit = deadly(SQLiteDialect.do_commit, wrote_file)
    PGDialect_psycopg.do_commit = deadly(PGDialect_psycopg.do_commit, wrote_server)
"""


@dataclass
class Deaths:
    """Has a world's bot die at random commits, so many times, and starts it each time."""

    folder: Path
    random: Random
    wanted: int
    moments: Sequence[str] = ("before", "after")
    farthest: int = 40  # so many commits after the plan is known, at most
    at: list[str] = field(default_factory=list)
    """When each death was: before, amid or after its commit, and in which thread."""

    def arrange(self, world: World) -> None:
        """Has bots of this world load the hook from their next start on."""
        hook = _HOOK.format(plan=str(self._plan), deaths=str(self._deaths))
        (self.folder / "sitecustomize.py").write_text(hook)
        for bot in world.bots:
            path = f"{self.folder.resolve()}:{Path(__file__).parents[2]}"
            bot.environment = {**bot.environment, "PYTHONPATH": path}

    async def happen(self, world: World) -> None:
        """Returns once the bot has died so often, and lives again."""
        for _ in range(self.wanted):
            moment = self.random.choice(self.moments)
            number = self.random.randint(1, self.farthest)
            self._plan.write_text(f"{number} {moment}")
            await self._start(world)
            process = world.bot._process
            assert process is not None
            assert await process.wait() == -signal.SIGKILL, world.bot.log_tail()
            self.at = self._deaths.read_text().splitlines()
            world.changes.ring()
        await self._start(world)

    async def _start(self, world: World) -> None:
        """Starts it; one that dies meanwhile as it should has died."""
        try:
            await world.bot.start()
        except BotError:
            if world.bot.state != "ended by SIGKILL":
                raise
        world.changes.ring()

    @property
    def _plan(self) -> Path:
        return self.folder.resolve() / "next-death"

    @property
    def _deaths(self) -> Path:
        return self.folder.resolve() / "deaths"
