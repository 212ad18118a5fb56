"""A cache from the wish to its use: what the cluster is asked for, and what people read."""

import pytest

from bot.cluster import labels
from bot.datasets.caches.tables import CachePhase
from playground.ledger import Fault
from tests.bot.datasets.caches.filling import DONE, Filling, settings
from tests.bot.datasets.caches.rows import DIGEST
from tests.bot.ground import ALICE, BOB, TEAM_B
from tests.schemas import fits

MADE = ["create persistentvolumeclaims", "create jobs", "delete jobs"]


def test_a_cache_is_filled_and_ready(filling: Filling) -> None:
    cache_id = filling.cache()
    assert filling.shown(cache_id).splitlines()[0] == "⏳ chest-xray@v3 on standard · Starting"
    filling.pass_time(seconds=34)
    assert filling.shown(cache_id) == _COPYING
    filling.pass_time(minutes=3)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.wanted, cache.is_ready) == (CachePhase.READY, "ready", True)
    assert filling.shown(cache_id) == _READY
    assert filling.notes(cache_id) == {
        "filled": f"<@{ALICE}> chest-xray@v3 is cached on standard: 627,615 files, 250 GB.\n"
        "Runs read it under /data: `/train submit NAME --data chest-xray@v3:/data`"
    }
    assert (filling.effects(), filling.jobs(), len(filling.claims())) == (MADE, [], 1)


def test_the_volume_is_shared_and_sized(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.run()
    cache = filling.found(cache_id)
    (claim,) = filling.claims()
    assert claim["metadata"]["name"] == f"chest-xray-v3-{cache_id[-10:]}"
    assert claim["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "quartermaster",
        labels.INSTALLATION: "0123456789abcdef",
        labels.DATASET_CACHE: cache_id,
        labels.TEAM: "team-a",
        labels.PERSON: ALICE,
    }
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["storageClassName"] == "standard"
    assert claim["spec"]["resources"] == {"requests": {"storage": "257Gi"}}
    assert cache.capacity_bytes == 257 * 2**30


def test_the_worker_is_told_what_to_copy(filling: Filling) -> None:
    filling.policy = settings(umask="0027", fill_cpus=2)
    filling.cache()
    filling.run()
    (job,) = filling.jobs()
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    told = container["args"]
    assert told[:3] == ["fill", "--manifest", "s3://qm-state/prod/manifests/1/"]
    assert told[5:9] == ["--digest", DIGEST, "--source", "s3://lake/chest-xray/"]
    assert told[-4:] == ["--target", "/data", "--umask", "0027"]
    assert container["resources"]["limits"] == {"memory": "512Mi", "cpu": "2"}
    assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]
    assert pod["automountServiceAccountToken"] is False


def test_several_pods_fill_it_together(filling: Filling) -> None:
    filling.policy = settings(shards=2)
    half = DONE | {
        "copied_files": 300_000,
        "verified_by": {"md5": 300_000},
        "verified_bytes": {"md5": 125_000_000_000},
    }
    filling.fills(last=half)
    cache_id = filling.cache()
    filling.run()
    (job,) = filling.jobs()
    assert (job["spec"]["completionMode"], job["spec"]["completions"]) == ("Indexed", 2)
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][-2:] == ["--shards", "2"]
    filling.pass_time(minutes=5)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.verified_by) == (CachePhase.READY, {"md5": 600_000})
    assert (
        "  Verified      all 627,615: 600,000 by MD5, 27,615 in an earlier attempt"
        in filling.shown(cache_id).splitlines()
    )


def test_two_teams_at_once_get_one_fill(filling: Filling) -> None:
    ours, theirs = filling.ask(), filling.ask(BOB, TEAM_B)
    first = filling.begin(ours)
    second = filling.begin(theirs, BOB, TEAM_B)
    assert (first.is_new, second.is_new, second.added) == (True, False, ("team-b",))
    assert first.cache.id == second.cache.id
    filling.pass_time(minutes=3)
    assert filling.found(first.cache.id).teams == ["team-b"]
    assert filling.effects() == MADE


def test_both_objects_fit_the_kubernetes_schema(filling: Filling) -> None:
    filling.policy = settings(shards=2)
    filling.cache()
    filling.run()
    for made, kind in ((filling.claims(), "core.v1.PersistentVolumeClaim"),
                       (filling.jobs(), "batch.v1.Job")):  # fmt: skip
        fits(made[0], kind)


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("verb", MADE)
def test_lost_answers_make_one_of_each(filling: Filling, verb: str, fault: Fault) -> None:
    filling.outside.ledger.by_name[verb] = [fault]
    cache_id = filling.cache()
    filling.pass_time(minutes=5)
    assert (filling.found(cache_id).phase, filling.jobs()) == (CachePhase.READY, [])
    assert (len(filling.claims()), list(filling.notes(cache_id))) == (1, ["filled"])


def test_a_step_that_was_never_saved_repeats(filling: Filling) -> None:
    cache_id = filling.cache()
    for _ in range(4):
        filling.keeper.step(cache_id)
        filling.restart()
    filling.pass_time(minutes=3)
    assert filling.found(cache_id).phase == CachePhase.READY
    assert filling.effects() == MADE


@pytest.mark.parametrize("faults", [[], [Fault.LOSE_ANSWER], [Fault.REFUSE]])
def test_an_end_nobody_heard_is_asked_again(filling: Filling, faults: list[Fault]) -> None:
    """The pod's log is gone; the worker finds everything there and says so."""
    filling.fills(last={"event": "progress"}, seconds=10)
    filling.outside.ledger.by_name["delete jobs"] = list(faults)
    cache_id = filling.cache()
    filling.pass_time(seconds=12)
    filling.fills(
        last=DONE | {"copied_files": 0, "verified_by": {}, "verified_bytes": {}}, seconds=10
    )
    filling.pass_time(minutes=3)
    assert filling.found(cache_id).phase == CachePhase.READY
    assert "  Verified      all 627,615" in filling.shown(cache_id).splitlines()
    assert filling.effects().count("create jobs") == 2


_COPYING = f"""\
▶️ chest-xray@v3 on standard · Copying for 31s
▰▰▰▰▰▰▰▰▱▱▱▱ 74 % · 470,711 of 627,615 files, 188 GB of 250 GB
  Files         627,615
  Size          250 GB (250,000,000,000 bytes)
  Volume        257 GiB on standard
  Teams         team-a
  Requested by  Alice
  Requested     2026-11-21 12:00 UTC
  Rate          6.2 GB/s
  Left          about 10s
  Kept          1d after its last use
  Digest        `{DIGEST}`"""
_READY = f"""\
✅ chest-xray@v3 on standard · Ready
  Files         627,615
  Size          250 GB (250,000,000,000 bytes)
  Volume        257 GiB on standard
  Teams         team-a
  Requested by  Alice
  Requested     2026-11-21 12:00 UTC
  Duration      40s
  Verified      all 627,615: 600,000 by MD5, 27,615 by size alone; of 250 GB 96 % by checksum, 4 % by size
  Kept          1d after its last use
  Digest        `{DIGEST}`"""  # noqa: E501 - a card as it is read
