"""A large company: its teams and people, and a cluster full of their queues, runs and pods.

One run really starts. All others are copies of it, with its objects, rows and messages.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from sqlmodel import Session

from benchmarks.rig.bot import SETTINGS, Command
from benchmarks.rig.finished import ABOUT
from benchmarks.rig.pods import training_pod
from benchmarks.rig.processes import RigError
from bot.cluster import labels
from bot.database.database import Database
from bot.people.people import Channel as KnownChannel
from bot.people.people import Person
from bot.slack.home import tabs
from bot.slack.home.tabs import HomeOpened
from playground.cluster.cluster import Cluster
from playground.cluster.kueue.workloads import workload_name
from playground.cluster.objects.kinds import JOB, POD, Kind, Object
from playground.cluster.objects.store import Key
from playground.cluster.story import add_team, cluster_queue
from playground.settings import Setup, merged
from playground.slack.people import BOT_USER, Channel, Message, User
from playground.slack.workspace import Workspace
from playground.world import DATABASE, World

RUN = Command(
    "U0ALICE",
    "C0TEAMA",
    "/train",
    "submit live-{n} --image ghcr.io/acme/live:1 --gpus 1 --cpu 100m --memory 1Gi"
    " -- sleep infinity",
    "Submitted run `live-",
)
_FIRST = ("team-a", "C0TEAMA", "U0ALICE")
_STORY = ("team-a", "team-b")
_NAME = "live-0"
_GPUS = "64"
_PODS_OF_A_RUN = 10
_TAIL = 10  # so many characters at the end of an id tell a copy from its original
# Live cards are refreshed, and logs read, 25 times a minute in all.
_REFRESH_SECONDS = 60 / 25
_COHORT = 10
_MOMENT = "%Y-%m-%d %H:%M:%S.%f"  # as SQLite keeps them


@dataclass(frozen=True)
class Size:
    """How many there are of everything; `pods` includes one of each run."""

    teams: int
    people: int
    runs: int
    pods: int
    queues: int

    def team(self, number: int) -> str:
        """The name of a team, of its namespace and of its queue."""
        number %= self.teams
        return _STORY[number] if number < len(_STORY) else f"team-{number:03d}"

    def channel(self, number: int) -> str:
        """The channel of a team."""
        number %= self.teams
        return ("C0TEAMA", "C0TEAMB")[number] if number < len(_STORY) else f"C0T{number:03d}"

    def person(self, number: int) -> str:
        """A member of the team of that number."""
        return f"U0P{number % self.people:04d}"


@dataclass(frozen=True)
class LiveRun:
    """A run: its pod, and its card in Slack."""

    pod: Key
    card: Message


def setup(size: Size) -> Setup:
    """A world with these teams, people and queues."""
    people: dict[str, list[str]] = {}
    for number in range(size.people):
        people.setdefault(size.team(number), []).append(size.person(number))
    people["team-a"].append("U0ALICE")
    teams = {
        size.team(number): {
            "channels": [size.channel(number)],
            "members": {"people": people[size.team(number)]},
            "namespace": size.team(number),
            "local_queue": size.team(number),
        }
        for number in range(size.teams)
    }
    return Setup(merged(SETTINGS, {"teams": teams}), arrange=lambda *world: _arrange(size, *world))


def _arrange(size: Size, cluster: Cluster, workspace: Workspace) -> None:
    cluster.switch_kueue(on=False)  # it would look at all queues after each
    for number in range(size.people):
        who = size.person(number)
        workspace.users[who] = User(who, who.lower(), f"Person {number}")
    for number in range(size.teams):
        team, channel = size.team(number), size.channel(number)
        if team in _STORY:
            cluster.set_quota(team, _GPUS)
            continue
        workspace.channels[channel] = Channel(channel, team, [BOT_USER])
        add_team(cluster, team, _GPUS, cohort=f"cohort-{number // _COHORT:03d}")
    with cluster.inside.lock:
        for number in range(size.teams, size.queues):
            name, cohort = f"queue-{number:04d}", f"cohort-{number // _COHORT:03d}"
            queue = cluster_queue(name, _GPUS, cohort=cohort)
            cluster.inside.operations.create(cluster.kind("clusterqueues"), "", queue)
    cluster.switch_kueue(on=True)
    for number in range(size.people):
        place = workspace.channels[size.channel(number)]
        place.members.append(size.person(number))


def get_known(world: World, size: Size) -> None:
    """Everyone is known, and looks at their Home tab; the bot must not run meanwhile."""
    now = datetime.now(UTC)

    def work(session: Session) -> None:
        for number in range(size.teams):
            known = KnownChannel(
                workspace_id="T0QM", channel_id=size.channel(number), refreshed_at=now
            )
            session.add(known)
        members = [size.person(number) for number in range(size.people)]
        for who in ("U0ALICE", "U0BOB", *members):
            person = Person(
                workspace_id="T0QM",
                user_id=who,
                name=who,
                is_guest=False,
                is_stranger=False,
                refreshed_at=now,
            )
            session.add(person)
            tabs.seen(session, "T0QM", HomeOpened(who, f"D{who[1:]}", is_blank=True), now)

    database = Database(f"sqlite:///{world.options.out / DATABASE}")
    database.transaction(work)
    database.close()


def add_pods(world: World, size: Size) -> None:
    """Fills the teams' namespaces with pods of another installation, ten for each of its runs."""
    body, left, number = training_pod(), size.pods - size.runs, 0
    while left > 0:
        run = f"other-{number:05d}"
        metadata = {"name": run, "labels": {**body["metadata"]["labels"], labels.RUN: run}}
        pods = min(left, _PODS_OF_A_RUN)
        world.cluster.add_pods(size.team(number), pods, {**body, "metadata": metadata})
        left, number = left - pods, number + 1


class Copies:
    """Copies of the one live run; the bot must not run while they are made."""

    def __init__(self, world: World, size: Size) -> None:
        self._world = world
        self._size = size
        with _opened(world) as rows:
            [(self._run_id, name)] = rows.execute("SELECT id, name FROM runs").fetchall()
            if name != _NAME:
                raise RigError(f"the first submission was refused, so the run is called {name}")
            self._rows = [*_rows_about(rows, self._run_id)]
        # Owners first: what belongs to nothing that is there would be deleted.
        self._objects = sorted(
            self._objects_of_run(), key=lambda each: "ownerReferences" in each[1]["metadata"]
        )
        self._job = next(obj for kind, obj in self._objects if kind is JOB)
        self._workload = workload_name(self._job)
        self._messages = [
            message
            for message in world.slack.channels[_FIRST[1]].messages
            if message.user == BOT_USER and not message.viewer
        ]
        ids = [self._run_id, *(obj["metadata"]["uid"] for _, obj in self._objects)]
        ids += [row["id"] for _, row in self._rows if "id" in row]
        self._tails = sorted({each[-_TAIL:] for each in ids})

    def make(self) -> list[LiveRun]:
        """Makes them all; what comes back has the original, too."""
        made = [self._made(number) for number in range(1, self._size.runs)]
        with _opened(self._world) as rows:
            for table in ABOUT:
                copies = [row for of_run, _ in made for about, row in of_run if about == table]
                _insert(rows, table, copies)
        self._world.cluster.settle()
        return [self._live({}), *(self._live(words) for _, words in made)]

    def _made(self, number: int) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, str]]:
        """The rows of a copy, whose objects and messages are made, and what it says instead."""
        who = number % self._size.people
        new = (self._size.team(who), self._size.channel(who), self._size.person(who))
        words = dict(zip(_FIRST, new, strict=True))
        words |= {_NAME: f"live-{number}"}
        words |= dict.fromkeys(self._tails, f"{number:0{_TAIL}x}")
        words = {self._workload: self._workload_like(words), **words}
        for message in self._messages:
            words[message.ts] = self._copy_message(message, words)
        store = self._world.cluster.inside.store
        with self._world.cluster.inside.lock:
            for kind, obj in self._objects:
                store.put(kind, _replaced(obj, words))
        rows = [(table, _replaced(row, words)) for table, row in self._rows]
        later = datetime.now(UTC) + timedelta(seconds=_REFRESH_SECONDS * number)
        for table, row in rows:
            if table == "due":
                row["due_at"] = later.strftime(_MOMENT)
            elif table == "runs":
                row["read_at"] = datetime.now(UTC).strftime(_MOMENT)  # its log, a moment ago
        return rows, words

    def _workload_like(self, words: Mapping[str, str]) -> str:
        """The name that Kueue gives the Workload of a copy."""
        return workload_name(_replaced(self._job, words))

    def _copy_message(self, message: Message, words: Mapping[str, str]) -> str:
        slack = self._world.slack
        parent = message.thread_ts
        copy = Message(
            words[message.channel],
            slack.next_ts(),
            message.user,
            message.text,
            _replaced(message.blocks, words),
            metadata=_replaced(message.metadata, words),
        )
        copy.thread_ts = words.get(parent, copy.ts) if parent else None
        slack.channels[copy.channel].messages.append(copy)
        return copy.ts

    def _live(self, words: Mapping[str, str]) -> LiveRun:
        (pod,) = (obj for kind, obj in self._objects if kind is POD)
        first = self._messages[0]
        namespace, name = (_replaced(pod["metadata"][key], words) for key in ("namespace", "name"))
        channel, ts = words.get(first.channel, first.channel), words.get(first.ts, first.ts)
        card = self._world.slack.message(channel, ts)
        assert card is not None  # noqa: S101  # it was made above
        return LiveRun((namespace, name), card)

    def _objects_of_run(self) -> Iterator[tuple[Kind, Object]]:
        """All objects in the namespace that name the run, or belong to its root."""
        inside, tail = self._world.cluster.inside, self._run_id[-_TAIL:]
        with inside.lock:
            for kind in inside.kinds:
                for entry in inside.store.entries(kind, _FIRST[0]) if kind.namespaced else ():
                    if tail.encode() in entry.raw and kind.plural != "events":
                        yield kind, orjson.loads(entry.raw)


def unsaid(world: World) -> int:
    """How many messages Slack does not show as they are now."""
    with _opened(world) as rows:
        statement = "SELECT count(*) FROM messages WHERE wants > shown AND NOT is_dead"
        return int(rows.execute(statement).fetchone()[0])


def _rows_about(rows: sqlite3.Connection, run_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for table, names_run in ABOUT.items():
        found = rows.execute(f"SELECT * FROM {table} WHERE {names_run} = ?", (run_id,))  # noqa: S608 - our own names
        names = [column[0] for column in found.description]
        for row in found:
            yield table, dict(zip(names, row, strict=True))


def _insert(rows: sqlite3.Connection, table: str, copies: list[dict[str, Any]]) -> None:
    if copies:
        names = [*copies[0]]
        marks = ", ".join("?" * len(names))
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - our own names
        rows.executemany(statement, [[*row.values()] for row in copies])


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    """The same value with other words in all its texts."""
    text = orjson.dumps(value).decode()
    for old, new in words.items():
        text = text.replace(old, new)
    return orjson.loads(text)


@contextmanager
def _opened(world: World) -> Iterator[sqlite3.Connection]:
    path: Path = world.options.out / DATABASE
    with closing(sqlite3.connect(path)) as rows, rows:
        yield rows
