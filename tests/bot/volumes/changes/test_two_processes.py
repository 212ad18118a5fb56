"""Two people ask for different levels of a volume at once, and two processes make it so."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

from sqlmodel import Session, select

from bot.reconcile import due
from bot.reconcile.loop import Loop
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.service import ChangeButton
from bot.volumes.changes.tables import ChangePhase, VolumeChange
from playground.arm.estate import TIB
from tests.bot.volumes.changes.rig import BOB, ERIN, TEAM_A, Rig, level
from tests.bot.volumes.test_at_once import together
from tests.databases import ON_BOTH

DAY = 24 * 3600


@ON_BOTH
def test_two_levels_at_once_are_one_change(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    of, now = rig.claimed("data"), rig.clock.now()

    def begins(person: str, asked: ChangeButton) -> Callable[[Session], str]:
        def work(session: Session) -> str:
            by = rig.access.caller(session, person, TEAM_A)
            return rig.service.begin(session, by, asked, of, now).id

        return work

    wanted = {ERIN: "Premium", BOB: "Ultra"}
    said = together(rig.database, *(begins(who, level("data", it)) for who, it in wanted.items()))
    (row,) = rig.do(lambda session: session.exec(select(VolumeChange)).all())
    refused = (
        f"<@{row.person}> requested another change of this volume: data to {wanted[row.person]}."
        " It has not ended."
    )
    assert sorted(said) == sorted([row.id, refused])
    rig.pass_time(minutes=5)
    assert rig.row(row.id).phase == ChangePhase.DONE
    assert (rig.effects(), data.pool.level) == (["POST poolChange"], wanted[row.person])


@ON_BOTH
def test_two_processes_take_each_step_once(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    rig.volume("models", rig.arm.premium, 2048)
    row_id = rig.ask(level("data", "Premium", seconds=DAY + 60))
    rig.run()
    rig.vote(row_id)
    with closing(NetAppFiles(rig.settings)) as files:
        loops = (rig.loop, rig.process(files))
        _live(rig, loops, timedelta(hours=1))
        assert (data.pool, rig.arm.premium.size) == (rig.arm.premium, 3 * TIB)
        _live(rig, loops, timedelta(days=2))
    assert (data.pool, rig.arm.premium.size) == (rig.arm.standard, 2 * TIB)
    assert rig.row(row_id).phase == ChangePhase.RETURNED
    there_and_back = ["PATCH capacityPools", "POST poolChange"]
    assert rig.effects() == [*there_and_back, *reversed(there_and_back)]


def _live(rig: Rig, loops: tuple[Loop, ...], length: timedelta) -> None:
    """Both processes at work at the same time, from one due time to the next."""
    end = rig.clock.moment + length
    with ThreadPoolExecutor(len(loops)) as pool:
        while rig.clock.moment < end:
            list(pool.map(_settled, loops))
            nearest = rig.do(lambda session: due.earliest(session, rig.loop.kinds))
            rig.clock.moment = max(rig.clock.moment, min(nearest or end, end))


def _settled(loop: Loop) -> None:
    while loop.run_due():
        pass
