"""Runs that start on a snapshot and read datasets: they wait for both, and say which versions."""

import pytest
from sqlmodel import Session, select

from bot.datasets.caches.tables import CachePhase
from bot.datasets.tables import Version
from bot.people.access import Caller
from bot.slack.grammar.container_parameters import VolumeMount
from bot.snapshots.tables import Restore
from bot.training.spec import asked_spec
from bot.training.submission.new_run import AskedRun, UncachedRunError
from bot.training.tables import RunPhase
from tests.bot.datasets.caches.rows import DIGEST, add_cache, only_cache
from tests.bot.training.keeping import SnapshotRig
from tests.bot.training.runs.test_data_runs import DATA, cached, change, share

OUT = (VolumeMount("imagenet", "/out", read_only=False),)


def ended(keeping: SnapshotRig) -> str:
    """A run that has read chest-xray@v3, and whose end is kept."""
    cached(keeping)
    run_id = keeping.train(data=DATA, pvc=OUT)
    share(keeping)
    keeping.pass_time(minutes=6)
    assert keeping.get(run_id).phase == RunPhase.SUCCEEDED
    return run_id


def test_a_snapshot_says_what_was_read(keeping: SnapshotRig) -> None:
    row = keeping.kept(ended(keeping))
    assert row.data == [["chest-xray@v3", DIGEST]]


def test_it_waits_for_copy_and_pvc(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    change(keeping, phase=CachePhase.FILLING, bytes_done=0)
    again = keeping.start_on()
    keeping.do(keeping.controller.step(again).save)
    made, name = keeping.made(again).claim_name, keeping.kept(first).name
    assert keeping.get(again).reason == (
        "Waiting for chest-xray@v3: 0 % copied. "
        f"Waiting for PVC {made}, which is being created from {name}."
    )
    keeping.pass_time(minutes=3)
    assert keeping.get(again).reason == "Waiting for chest-xray@v3: 0 % copied."
    change(keeping, phase=CachePhase.READY)
    keeping.pass_time(minutes=6)
    assert keeping.get(again).phase == RunPhase.SUCCEEDED
    assert keeping.kept(again).data == [["chest-xray@v3", DIGEST]]


def test_nothing_is_restored_without_the_cache(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    change(keeping, phase=CachePhase.EVICTED, ended_at=keeping.clock.now())
    by = keeping.caller()
    asked = keeping.do(lambda session: offered(keeping, session, by, first))
    assert restores(keeping) == []
    keeping.do(cached_again)
    run = keeping.do(lambda s: keeping.service.begin(s, by, asked, keeping.clock.now()))
    (made,) = restores(keeping)
    assert (made.run_id, made.claim_name) == (run.run_id, f"imagenet-{run.run_id[-10:]}")
    assert asked_spec(keeping.get(run.run_id)).mounts == (
        VolumeMount(made.claim_name, "/out", read_only=False),
    )


def offered(keeping: SnapshotRig, session: Session, by: Caller, run_id: str) -> AskedRun:
    """What is offered where only the cache is lacking, in the transaction that keeps the offer."""
    run = keeping.service.get(session, run_id)
    with pytest.raises(UncachedRunError) as lacking:
        keeping.service.restart(session, by, run, "", keeping.clock.now())
    return lacking.value.asked


def cached_again(session: Session) -> None:
    version = session.exec(select(Version)).one()
    assert only_cache(session).version_id == version.id
    add_cache(session, version, storage_class="shared")


def restores(keeping: SnapshotRig) -> list[Restore]:
    return keeping.do(lambda session: list(session.exec(select(Restore))))
