"""What 500 open Home tabs cost: to look which of them have changed, and to publish one.

Compared with answers to `/train list` from the same database, SQLite and PostgreSQL, in processor
time. Each run has links to other tools.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from benchmarks.rig.figures import Aim, Report, command, median
from bot.people.people import Person
from bot.slack.home import tabs
from bot.slack.home.tabs import HomeOpened, OpenTab
from bot.training.tables import Run, RunPhase
from tests.handlers.command_client import SETTINGS, CommandClient, opened
from tests.playground.cluster.served import Runner, Served
from tests.postgres import programs_of_postgres, running

MOST_LOOK_TIMES, MOST_PUBLISH_TIMES, MOST_PERCENT = 1.0, 8.0, 8.0
_PEOPLE, _PEOPLE_QUICK, _TEAMS, _ENDED = 500, 100, 40, 10
_ROUNDS, _AT_ONCE = 7, 50
_LOOKS_A_MINUTE, _POLLS_A_MINUTE = 4, 60
_MINUTE_MS = 60_000
_LINKS = """\
training:
  links:
    - {label: W&B, in_log: "https://wandb.ai/*/*/runs/*"}
    - {label: Grafana, url: "https://grafana.example.com/d/gpu?from={started}&var-pod={pods}"}
"""


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """One bot on each database, in which as many people as given have a live run each."""
    people = [f"U0P{number:04}" for number in range(_PEOPLE_QUICK if quick else _PEOPLE)]
    figures: dict[str, dict[str, float]] = {}
    aims: list[Aim] = []
    with tempfile.TemporaryDirectory() as folder, _databases(Path(folder)) as urls:
        for name, url in urls.items():
            with _bot(Path(folder), people, url) as client:
                _fill(client, people)
                found = _measured(client, people)
            figures |= {f"{name}, {what}": values for what, values in found.items()}
            aims += _aims(name, found, len(people))
    return Report(figures, aims)


@contextmanager
def _databases(folder: Path) -> Iterator[dict[str, str]]:
    """An empty database of each sort; PostgreSQL only where its programs are."""
    lite, programs = f"sqlite:///{folder}/home.db", programs_of_postgres()
    if programs is None:
        yield {"SQLite": lite}
        return
    with running(programs) as server:
        yield {"SQLite": lite, "PostgreSQL": server.fresh()}


def _measured(client: CommandClient, people: list[str]) -> dict[str, dict[str, float]]:
    home, database = client.application.home(), client.application.database
    now = datetime.now(UTC)

    def poll() -> list[OpenTab]:
        return database.read(lambda session: tabs.open_tabs(session, "T0QM", now))

    shown = poll()
    asked = [client.incoming(who, f"D{who[1:]}", command="train", words="list") for who in people]
    look, listed, published = list[float](), list[float](), list[float]()
    for turn in range(_ROUNDS):
        look.append(_cpu_ms(lambda: home.digests(shown)))
        some = asked[10 * turn : 10 * turn + 10]
        listed += [_cpu_ms(partial(client.application.dispatcher.answer, one)) for one in some]
        published += [_cpu_ms(partial(home.prepare, tab)) for tab in shown[:10]]
    return {
        "looking": {"all_ms": median(look), "a_tab_ms": median(look) / len(shown)},
        "polling": {"ms": median([_cpu_ms(poll) for _ in range(_ROUNDS)])},
        "publishing": {"ms": median(published)},
        "/train list": {"ms": median(listed)},
    }


def _aims(name: str, figures: dict[str, dict[str, float]], people: int) -> Iterator[Aim]:
    answer = figures["/train list"]["ms"]
    look, publish = figures["looking"]["a_tab_ms"] / answer, figures["publishing"]["ms"] / answer
    yield Aim(f"{name}: a tab looked at, times an answer", look, MOST_LOOK_TIMES)
    yield Aim(f"{name}: a tab published, times an answer", publish, MOST_PUBLISH_TIMES)
    # The publisher rests for 19 times as long as a look took, and for 15 s at least.
    look_ms = figures["looking"]["all_ms"]
    looks = min(_LOOKS_A_MINUTE, _MINUTE_MS / (20 * look_ms)) * look_ms
    busy = looks + _POLLS_A_MINUTE * figures["polling"]["ms"]
    percent = 100 * busy / _MINUTE_MS
    yield Aim(f"{name}: % of a core for {people} tabs that do not change", percent, MOST_PERCENT)


def _cpu_ms(work: Callable[[], object]) -> float:
    """The processor time of this thread, which does it all."""
    begun = time.thread_time()
    work()
    return 1000 * (time.thread_time() - begun)


@contextmanager
def _bot(folder: Path, people: list[str], url: str) -> Iterator[CommandClient]:
    """A bot that sees the cluster of the story, with many teams, two of which have a queue."""
    half = len(people) // 2
    base = SETTINGS.replace("[U0ALICE, U0MIA]", f"[{', '.join(people[:half])}]")
    base = base.replace("{people: [U0BOB]}", f"{{people: [{', '.join(people[half:])}]}}")
    more = "".join(
        f"  team-{number}: {{channels: [C0{number:03}], namespace: team-{number},"
        f" local_queue: team-{number}}}\n"
        for number in range(_TEAMS - 2)
    )
    base = base.replace("approvals:\n", f"{more}approvals:\n")
    runner = Runner()
    with (
        runner.running(),
        Served(runner).serving() as world,
        opened(folder, url, world, _LINKS, base=base) as client,
    ):
        yield client


def _fill(client: CommandClient, people: list[str]) -> None:
    """Everyone is known, has opened their tab, and has a live run and some that have ended."""
    database, now = client.application.database, datetime.now(UTC)

    def meet(session: Session) -> None:
        for who in people:
            session.add(
                Person(
                    workspace_id="T0QM",
                    user_id=who,
                    name=who,
                    is_guest=False,
                    is_stranger=False,
                    refreshed_at=now,
                )
            )
            tabs.seen(session, "T0QM", HomeOpened(who, f"D{who[1:]}", is_blank=True), now)

    database.transaction(meet)
    submit = "submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py"
    client.answer(client.incoming(people[0], f"D{people[0][1:]}", command="train", words=submit))
    for start in range(0, len(people), _AT_ONCE):
        places = range(start, min(start + _AT_ONCE, len(people)))
        database.transaction(partial(_copy_runs, people=people, places=places, now=now))


def _copy_runs(session: Session, people: list[str], places: range, now: datetime) -> None:
    first = session.scalars(select(Run).order_by(col(Run.id)).limit(1)).one()
    first.phase, first.since, first.started_at = RunPhase.RUNNING, now, now
    first.links = {"W&B": "https://wandb.ai/acme/lane/runs/x7q"}
    usual = first.model_dump(exclude={"id", "name", "person", "team", "ended_at", "phase"})
    for place in places:
        who = people[place]
        team = "team-a" if place < len(people) // 2 else "team-b"
        for number in range(_ENDED + 1 if place else _ENDED):
            is_live = number == _ENDED
            ended_at = None if is_live else now - timedelta(hours=number + 1)
            phase = RunPhase.RUNNING if is_live else RunPhase.SUCCEEDED
            own: dict[str, Any] = {
                "name": f"run-{place}-{number}",
                "person": who,
                "team": team,
            }
            session.add(Run(**usual, **own, ended_at=ended_at, phase=phase))


main = command("home", "Home tabs: finding those that changed, and publishing one.", measure)

if __name__ == "__main__":
    main()
