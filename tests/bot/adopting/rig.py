"""Training whose database is lost, and what `adopt` says and writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlmodel import Session, select

from bot.adopting.adopting import adopt_from
from bot.database.database import Database
from bot.people.people import Person
from bot.training.tables import Run
from tests.bot.ground import INSTALLATION, Ground
from tests.bot.training.rig import Rig
from tests.databases import create_tables

T = TypeVar("T")

LOST_FOR_GOOD = (
    "Lost for good: the audit log, approvals, the history of runs and GPUs, runs that had no object"
    " yet, dataset versions without a cache, pins, and what else was set in Slack, such as digests"
    " and presets."
)


class Restarted(Protocol):
    """The rig of an area."""

    database: Database

    def restart(self) -> None: ...
    def forget_view(self) -> None: ...
    def do(self, work: Callable[[Session], T]) -> T: ...


def lose_database(rig: Rig, folder: Path) -> None:
    """The server stops, and starts later on a database that was migrated and never used."""
    url = f"sqlite:///{folder}/anew.db"
    create_tables(url)
    rig.database.close()
    rig.database = Database(url)
    rig.see_anew()
    rig._introduce()


def adopt(rig: Ground, wanted: str | None = None, *, is_trial: bool = False) -> list[str]:
    """What the command prints."""
    report = adopt_from(
        rig.database, rig.policy, rig.clusters, wanted, now=rig.clock.now(), is_trial=is_trial
    )
    first, *others, last = report.lines()
    assert (first, last) == (f"Installation {INSTALLATION}", LOST_FOR_GOOD)
    return others


def rows(rig: Rig) -> list[Run]:
    return rig.do(lambda session: list(session.scalars(select(Run))))


def relabel(rig: Rig, plural: str, name: str, **metadata: Any) -> None:
    """Somebody changes the metadata of an object in team-a."""
    rig.world.patch(plural, name, {"metadata": metadata}, "team-a")


def found(rig: Rig, plural: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    """An object that the cluster has."""
    object_ = rig.world.get(plural, name, *filter(None, [namespace]))
    assert object_ is not None
    return object_


def job_name(rig: Rig) -> str:
    """The only Job of team-a."""
    (job,) = rig.world.list("jobs", "team-a")
    return str(job["metadata"]["name"])


def lose(rig: Restarted, folder: Path) -> None:
    """The same for another area: only who the people are is known again."""
    url = f"sqlite:///{folder}/anew.db"
    create_tables(url)
    begin_anew(rig, url)


def begin_anew(rig: Restarted, url: str) -> None:
    """The server goes on with this database, which has tables."""
    known = rig.do(lambda session: [each.model_dump() for each in session.scalars(select(Person))])
    rig.database.close()
    rig.database = Database(url)
    rig.forget_view()
    rig.restart()
    rig.do(lambda session: session.add_all(Person(**each) for each in known))
