"""Runs that ended long ago: one that really ran, copied with all that was written about it."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.rig.bot import Command, server_of
from benchmarks.rig.processes import RigError, load
from playground.world import DATABASE, World

_LOOK_SECONDS = 0.2
_LOOKS = 600
_SAY = {"rate": 1.0, "seconds": 1.0}
_SUBMIT = Command(
    "U0ALICE",
    "C0TEAMA",
    "/train",
    "submit done --image ghcr.io/acme/live:1 --gpus 0 --cpu 1 --memory 1Gi -- sleep 1",
    "Submitted run `done",
)
_STOP = Command("U0ALICE", "C0TEAMA", "/train", "stop done", "is being stopped")
ABOUT: Mapping[str, str] = {
    "runs": "id",
    "messages": "subject_id",
    "audit": "subject_id",
    "due": "id",
    "run_spans": "run_id",
    "kept_logs": "run_id",
}
"""The tables with rows about a run, and the column of each that names it."""

# What tells a copy from its original.
_COPIED = {"id", "subject_id", "parent_id", "run_id", "name", "job_name", "job_uid"}
# What is still to be said or done about the original is over for a copy, which ended long ago.
_OVER: Mapping[str, str] = {"shown": "wants", "due_at": "NULL", "live": "0"}


async def finish_one(world: World) -> str:
    """The id of a run that was submitted, stopped, and has ended."""
    secret = world.slack.credentials.signing_secret
    for number, said in enumerate((_SUBMIT, _STOP), start=1):
        await load(said.order(server_of(world), secret, first=number, **_SAY))
    for _ in range(_LOOKS):
        with _opened(world) as rows:
            ended = rows.execute(
                "SELECT id FROM runs WHERE name = 'done' AND ended_at IS NOT NULL"
            ).fetchone()
        if ended is not None:
            return str(ended[0])
        await world.changes.wait(_LOOK_SECONDS)
    raise RigError("the stopped run did not end")


def copy(world: World, run_id: str, count: int) -> None:
    """Makes it so many ended runs beside the original; the bot must not run meanwhile."""
    with _opened(world) as rows:
        for table, names_run in ABOUT.items():
            rows.execute(
                f"DELETE FROM {table} WHERE {names_run} LIKE ?",  # noqa: S608 - our own names
                (f"{run_id}-%",),
            )
            _copy(rows, table, names_run, (run_id, count))


def _copy(rows: sqlite3.Connection, table: str, names_run: str, what: tuple[str, int]) -> None:
    columns = [column[1] for column in rows.execute(f"PRAGMA table_info({table})")]
    values = [
        f"{name} || '-' || copy" if name in _COPIED else _OVER.get(name, name) for name in columns
    ]
    rows.execute(
        f"INSERT INTO {table} ({', '.join(columns)})"  # noqa: S608 - our own names
        " WITH copies(copy) AS (SELECT value FROM json_each(?2))"
        f" SELECT {', '.join(values)} FROM {table}, copies WHERE {names_run} = ?1",
        (what[0], str([*range(what[1])])),
    )


@contextmanager
def _opened(world: World) -> Iterator[sqlite3.Connection]:
    path: Path = world.options.out / DATABASE
    with closing(sqlite3.connect(path)) as rows, rows:
        yield rows
