"""Two people at the same moment: one growth, one repair; the second is told of the first."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlmodel import Session, select

from bot.database.database import Database
from bot.errors import ConflictError
from bot.people.access import Caller
from bot.volumes.growths.tables import Growth
from tests.bot.ground import CAROL, ERIN
from tests.bot.volumes.growths.growing import Growing
from tests.bot.volumes.repairs.repairing import Workshop
from tests.bot.volumes.rig import CLAIM
from tests.databases import ON_BOTH, opened_by_processes

_SECONDS = 30.0


def together(database: Database, *works: Callable[[Session], str]) -> list[str]:
    """What each of them came to in a process of its own: an id, or what it was refused with.

    Where several can write at a time, all have begun before any of them goes on.
    """
    start = Barrier(len(works), timeout=_SECONDS)

    def one(work: Callable[[Session], str], own: Database) -> str:
        tries = 0

        def begun(session: Session) -> str:
            nonlocal tries
            tries += 1
            session.exec(select(Growth)).first()
            if tries == 1 and not database.is_sqlite:
                start.wait()
            return work(session)

        if database.is_sqlite:
            start.wait()
        try:
            return own.transaction(begun)
        except ConflictError as error:
            return error.message

    with (
        opened_by_processes(database, len(works)) as processes,
        ThreadPoolExecutor(len(works)) as pool,
    ):
        return list(pool.map(one, works, processes))


@ON_BOTH
def test_two_people_at_once_get_one_growth(growing: Growing) -> None:
    _, mine = growing.reads.find(growing.policy.teams["team-a"], CLAIM, None)
    asked, now = growing.asked(), growing.clock.now()
    erin, carol = growing.caller(ERIN), growing.caller(CAROL)

    def of(who: Caller) -> Callable[[Session], str]:
        return lambda session: growing.growing.begin(session, who, asked, mine, now).id

    said = together(growing.database, of(erin), of(carol))
    (row,) = growing.do(lambda session: session.exec(select(Growth)).all())
    refused = f"<@{row.person}> already requested growth of lane-data to 2 TiB."
    assert sorted(said) == sorted([row.id, refused])
    assert (row.person == ERIN) == (said[0] == row.id)


@ON_BOTH
def test_two_clicks_at_once_get_one_repair(shop: Workshop) -> None:
    plan, now = shop.plan(), shop.clock.now()
    carol = shop.caller(CAROL)

    def asks(session: Session) -> str:
        return shop.repairs.ask(session, carol, plan, now).id

    said = together(shop.database, asks, asks)
    row = shop.only()
    refused = f"<@{row.person}> already requested the repair of lane-data."
    assert sorted(said) == sorted([row.id, refused])
