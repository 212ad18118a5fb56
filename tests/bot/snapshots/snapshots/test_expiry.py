"""Which snapshots go because their time is up, over a simulated year."""

from datetime import timedelta
from random import Random

from sqlmodel import select

from bot import holds
from bot.database.columns import new_id
from bot.holds import Hold
from bot.snapshots.snapshots.service import expire
from bot.snapshots.tables import SNAPSHOT, Snapshot, SnapshotIntent, SnapshotPhase
from tests.bot.ground import ALICE, START
from tests.bot.snapshots.rig import Rig

DAY = timedelta(days=1)


def kept(
    rig: Rig, claim: str, age: timedelta, phase: SnapshotPhase = SnapshotPhase.READY
) -> Snapshot:
    """A row of a snapshot that is kept for a week from when it was taken."""
    row_id, at = new_id(), START - age
    row = Snapshot(
        id=row_id,
        workspace_id="T0QM",
        team="team-a",
        person=ALICE,
        channel="C0TEAMA",
        cluster="default",
        namespace="team-a",
        claim_name=claim,
        claim_uid=f"uid-of-{claim}",
        storage_class="standard",
        driver="csi.playground",
        capacity_bytes=2**40,
        name=f"{claim}-{row_id[-10:]}",
        asked_at=at,
        since=at,
        keep_until=at + 7 * DAY,
        phase=phase,
        taken_at=at if phase is SnapshotPhase.READY else None,
    )
    rig.do(lambda session: session.add(row))
    return row


def going(rig: Rig) -> set[str]:
    rig.do(lambda session: expire(session, START))
    return {each.id for each in rows(rig) if each.wanted == SnapshotIntent.DELETED}


def rows(rig: Rig) -> list[Snapshot]:
    return rig.do(lambda session: list(session.exec(select(Snapshot))))


def test_the_newest_stays_however_old(rig: Rig) -> None:
    first, second = kept(rig, "results", 30 * DAY), kept(rig, "results", 20 * DAY)
    kept(rig, "results", DAY, SnapshotPhase.TAKING)
    alone = kept(rig, "other", 300 * DAY)
    assert going(rig) == {first.id}
    assert {second.id, alone.id} & going(rig) == set()


def test_what_is_held_stays(rig: Rig) -> None:
    first, _ = kept(rig, "results", 30 * DAY), kept(rig, "results", 20 * DAY)
    hold = Hold(
        thing_kind=SNAPSHOT,
        thing_id=first.id,
        subject_kind="pin",
        subject_id=ALICE,
        why="paper",
        until=START + DAY,
    )
    rig.do(lambda session: holds.take(session, hold))
    assert going(rig) == set()


def test_a_year_never_takes_the_last(rig: Rig) -> None:
    chance = Random(20261122)  # noqa: S311 -- a story, not a secret
    claims = ("results", "models", "logs")
    for _ in range(60):
        kept(rig, chance.choice(claims), timedelta(hours=chance.randrange(24 * 365)))
    going(rig)
    found = rows(rig)
    for claim in claims:
        mine = [each for each in found if each.claim_name == claim]
        newest = max(mine, key=lambda each: each.asked_at)
        left = [each for each in mine if each.wanted == SnapshotIntent.KEPT]
        assert newest in left
        assert all(each is newest or (each.keep_until or START) > START for each in left)
