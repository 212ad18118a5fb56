"""Runs that read datasets: they wait for the cache, mount it for reading, and keep what it was."""

from typing import Any

import pytest
from sqlmodel import Session

from bot import holds
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CACHE, CacheIntent, CachePhase, SharePhase
from bot.datasets.tables import Dataset
from bot.errors import ConflictError, QuartermasterError
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import DataMount
from bot.slack.text import as_text
from bot.training.kinds import KINDS
from bot.training.records.record import details, record_of
from bot.training.records.spans import times_of
from bot.training.runs.card import people_of
from bot.training.runs.replies import why_card
from bot.training.spec import asked_spec
from bot.training.tables import RunPhase
from playground.cluster.operators.catalogue import OPERATORS
from playground.cluster.story import claim
from playground.ledger import Fault
from tests.bot.datasets.caches.rows import (
    DIGEST,
    SIZE,
    add_cache,
    add_cached,
    add_dataset,
    add_version,
    only_cache,
)
from tests.bot.ground import ALICE, START
from tests.bot.training.rig import Rig

DATA = (DataMount("chest-xray@v3", "/data"),)
OF_NODES = {"mpi", "sync", "elastic"}


def change(rig: Rig, **fields: Any) -> None:
    """Changes the cache, and wakes who holds it, as its controller does."""

    def work(session: Session) -> None:
        cache = only_cache(session)
        for name, value in fields.items():
            setattr(cache, name, value)
        now = rig.clock.now()
        for hold in holds.on(session, CACHE, cache.id, now):
            wake(session, hold.subject_kind, hold.subject_id, cluster_lane(cache.cluster), now)

    rig.do(work)


def share(rig: Rig) -> str:
    """Has the namespace of team-a see the cache; the PVC."""

    def work(session: Session) -> str:
        (row,) = service.live(session, only_cache(session).id)
        row.phase = SharePhase.READY
        return row.claim_name

    name = rig.do(work)
    rig.world.create("persistentvolumeclaims", claim(name), "team-a")
    return name


def cached(rig: Rig, **fields: Any) -> None:
    """A cache on a class of which nothing is known, unless `fields` say otherwise."""
    told = {"storage_class": "shared", **fields}
    rig.do(lambda session: add_cached(session, **told).id)


def held(rig: Rig) -> list[str]:
    def work(session: Session) -> list[str]:
        found = holds.on(session, CACHE, only_cache(session).id, rig.clock.now())
        return [each.why for each in found]

    return rig.do(work)


def refusal(rig: Rig, **fields: Any) -> tuple[str, str]:
    with pytest.raises(QuartermasterError) as caught:
        rig.submit(**fields)
    return caught.value.message, caught.value.hint


def test_a_run_mounts_its_data_for_reading(rig: Rig) -> None:
    cached(rig)
    run_id = rig.submit(data=(*DATA, DataMount("chest-xray", "/again")))
    name = share(rig)
    rig.pass_time(minutes=1)
    pod = rig.job(run_id)["spec"]["template"]["spec"]
    assert pod["volumes"][1:-1] == [
        {"name": "data-0", "persistentVolumeClaim": {"claimName": name, "readOnly": True}}
    ]
    mount = {"name": "data-0", "subPath": "ready/files", "readOnly": True}
    assert pod["containers"][0]["volumeMounts"][1:-1] == [
        {**mount, "mountPath": "/data"},
        {**mount, "mountPath": "/again"},
    ]
    assert rig.get(run_id).phase == RunPhase.RUNNING


KNOWN = [each for each in KINDS if each[0] != "nccl" and each[1] != "deployment"]


@pytest.mark.parametrize(("kind", "form"), KNOWN, ids=str)
def test_pods_of_every_kind_mount_data(rig: Rig, kind: str, form: str) -> None:
    cached(rig)
    for operator in OPERATORS:
        rig.world.install(operator)
    rig.look()
    nodes = 2 if kind in OF_NODES else None
    run_id = rig.submit(data=DATA, kind=kind, form=form or None, gpus=1, nodes=nodes)
    run = rig.get(run_id)
    manifest = KINDS[kind, form].manifest(run, "installation")
    manifest["spec"].pop("submitterPodTemplate", None)  # of Ray: it reads nothing
    templates = list(_pods_within(manifest))
    assert templates
    for pod in templates:
        assert any(each["name"] == "data-0" for each in pod["volumes"])
        paths = {each["mountPath"] for c in pod["containers"] for each in c["volumeMounts"]}
        assert "/data" in paths


def _pods_within(part: Any) -> Any:
    """Every spec of pods in a manifest."""
    if isinstance(part, dict):
        if "containers" in part:
            yield part
        for each in part.values():
            yield from _pods_within(each)
    elif isinstance(part, list):
        for each in part:
            yield from _pods_within(each)


def test_a_run_waits_for_its_fill(rig: Rig) -> None:
    cached(rig, phase=CachePhase.FILLING, bytes_done=SIZE * 2 // 5, bytes_per_second=SIZE / 1200)
    run_id = rig.submit(data=DATA)
    rig.pass_time(minutes=15)
    waits = "Waiting for chest-xray@v3: 40 % copied, about 12m left."
    run = rig.get(run_id)
    assert rig.card(run_id).splitlines() == [
        "⏳ lane · Waiting for data",
        "Waiting since 2026-11-21 12:00 UTC.",
        waits,
        "  Image      `ghcr.io/acme/lane:3.1`",
        "  GPUs       2",
        "  By         Alice",
        "  Data       `chest-xray@v3` at /data, read-only",
        f"  Where      `team-a/{run.job_name}`",
        "  Submitted  2026-11-21 12:00 UTC",
        "  [Stop]",
    ]
    people = rig.do(lambda session: people_of(session, run))
    assert as_text(Reply(card=why_card(run, people, rig.clock.now()))).splitlines() == [
        "⏳ lane · Waiting for data",
        "Waiting since 2026-11-21 12:00 UTC.",
        waits,
    ]
    assert (run.is_late, rig.effects()) == (False, [])


def test_the_end_of_a_fill_lets_it_start(rig: Rig) -> None:
    cached(rig, phase=CachePhase.FILLING)
    run_id = rig.submit(data=DATA)
    rig.pass_time(minutes=3)
    change(rig, phase=CachePhase.READY)
    rig.pass_time(seconds=1)
    waits = "Waiting until namespace team-a can mount chest-xray@v3."
    assert (rig.get(run_id).phase, rig.get(run_id).reason) == (RunPhase.DATA, waits)
    share(rig)
    change(rig)
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    run = rig.get(run_id)
    waited = rig.do(lambda session: times_of(session, run, rig.clock.now()))
    assert waited.phases[RunPhase.DATA].total_seconds() == 181
    spent = "waited for data 3m 1s, created 2s, ran 3m 4s"
    assert dict(details(run, waited))["Times"] == spent


def test_a_lost_create_is_an_admission(rig: Rig) -> None:
    cached(rig)
    run_id = rig.submit(data=DATA)
    rig.pass_time(minutes=3)
    share(rig)
    rig.outside.ledger.by_name["create jobs"] = [Fault.LOSE_ANSWER]
    change(rig)
    rig.pass_time(minutes=1)
    assert (list(rig.notes(run_id)), rig.get(run_id).admissions) == (["admitted-1"], 1)


def test_a_failed_fill_ends_who_waits(rig: Rig) -> None:
    cached(rig, phase=CachePhase.FILLING)
    run_id = rig.submit(data=DATA)
    rig.pass_time(minutes=3)
    why = {"reason": "The volume is too small.", "unblock": "Ask for `--size 400Gi`."}
    change(rig, phase=CachePhase.FAILED, ended_at=rig.clock.now(), **why)
    rig.pass_time(seconds=1)
    assert rig.card(run_id).splitlines()[:3] == [
        "❌ lane · Failed",
        "chest-xray@v3 could not be cached. The volume is too small.",
        "Ask for `--size 400Gi`.",
    ]
    assert rig.notes(run_id)["ended"] == (
        f"<@{ALICE}> lane failed before it started. chest-xray@v3 could not be cached."
        " The volume is too small.\nAsk for `--size 400Gi`."
    )
    assert (held(rig), rig.effects()) == ([], [])


def test_a_run_that_waits_can_be_stopped(rig: Rig) -> None:
    cached(rig, phase=CachePhase.FILLING)
    run_id = rig.submit(data=DATA)
    rig.pass_time(minutes=3)
    assert held(rig) == ["run lane of team-a"]
    rig.stop(run_id)
    rig.pass_time(seconds=1)
    assert (rig.get(run_id).phase, held(rig), rig.effects()) == (RunPhase.STOPPED, [], [])


def test_the_end_of_a_run_lets_go(rig: Rig) -> None:
    cached(rig)
    run_id = rig.submit(data=DATA)
    share(rig)
    rig.pass_time(minutes=1)
    assert held(rig) == ["run lane of team-a"]
    rig.pass_time(minutes=5)
    ended_at = rig.get(run_id).ended_at
    assert (rig.get(run_id).phase, held(rig)) == (RunPhase.SUCCEEDED, [])
    used_at = rig.do(lambda session: only_cache(session).used_at)
    assert ended_at is not None
    assert used_at >= ended_at


def test_the_record_names_version_and_digest(rig: Rig) -> None:
    cached(rig)
    run_id = rig.submit(data=(DataMount("chest-xray", "/data"),))
    run = rig.get(run_id)
    times = rig.do(lambda session: times_of(session, run, rig.clock.now()))
    assert record_of(run, times, rig.clock.now())["data"] == [
        {"version": "chest-xray@v3", "digest": DIGEST, "path": "/data"}
    ]
    facts = dict(details(run, times))
    assert facts["Data digest"] == f"`{DIGEST}`, of chest-xray@v3"


def test_a_run_again_reads_the_same(rig: Rig) -> None:
    cached(rig)
    first = rig.submit(data=(DataMount("chest-xray", "/data"),))
    rig.stop(first)
    rig.pass_time(seconds=1)

    def newer(session: Session) -> None:
        dataset = only_cache(session).dataset_id
        add_version(session, session.get_one(Dataset, dataset), "v4", "sha256:b")

    rig.do(newer)
    again = rig.resubmit("lane")
    assert asked_spec(rig.get(again)).data == asked_spec(rig.get(first)).data
    assert held(rig) == ["run lane#2 of team-a"]


def test_other_content_under_the_name_is_refused(rig: Rig) -> None:
    cached(rig)
    first = rig.submit(data=DATA)
    rig.stop(first)
    rig.pass_time(seconds=1)
    rig.do(_replace_the_dataset)
    with pytest.raises(ConflictError) as caught:
        rig.resubmit("lane")
    assert caught.value.message == (
        "chest-xray@v3 has changed since the run read it: a dataset of the same name has replaced"
        " it."
    )


def _replace_the_dataset(session: Session) -> None:
    cache = only_cache(session)
    cache.ended_at, cache.phase = START, CachePhase.EVICTED
    session.get_one(Dataset, cache.dataset_id).removed_at = START
    session.flush()
    version = add_version(session, add_dataset(session, is_open=True), digest="sha256:b")
    add_cache(session, version, storage_class="shared")


def test_what_cannot_be_read_is_refused(rig: Rig) -> None:
    assert refusal(rig, data=DATA)[0] == "There is no dataset chest-xray for team-a."
    cached(rig, wanted=CacheIntent.EVICT)
    assert refusal(rig, data=DATA)[0] == "chest-xray@v3 is being evicted from shared."
    assert refusal(rig, data=(DataMount("chest-xray@v9", "/data"),)) == (
        "chest-xray has no version v9.",
        "Available: v3.",
    )
    assert held(rig) == []
