"""Runs that read a folder of a version: what they mount, and folders that do not exist."""

import socket
from functools import partial
from itertools import count
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.config import Store
from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.caches.tables import CachePhase
from bot.datasets.caches.using import THERE
from bot.datasets.manifest import Entry, ManifestWriter, write_index
from bot.datasets.tables import Version
from bot.slack.grammar.container_parameters import DataMount, DatasetMount
from bot.training.mlflow.content import description_of
from bot.training.runs.folders import FolderCheck
from bot.training.spec import asked_spec
from bot.training.submission.data import ReadFolder
from bot.training.tables import RunPhase
from tests.bot.datasets.caches.rows import DIGEST, add_cache, add_dataset, add_version
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_data_runs import refusal, share
from tests.object_stores import Lake

TRAIN = DataMount("chest-xray@v3/train/", "/data")
PLACE = {"storage_class": "shared"}
KEYS = ("labels.csv", "train/0.png", "train/cats/1.png", "val/2.png")


def cached(rig: Rig, **fields: Any) -> Version:
    """A cache of a version, of which nothing but the rows exists."""

    def work(session: Session) -> Version:
        version = add_version(session, add_dataset(session, is_open=True))
        add_cache(session, version, **PLACE, **fields)
        return version

    return rig.do(work)


def recorded(rig: Rig, lake: Lake, **fields: Any) -> None:
    """The same, whose manifest is in a real store."""
    bucket, version = lake.bucket(), cached(rig, **fields)

    def put(name: str, content: bytes) -> None:
        lake.client.put_object(Bucket=bucket, Key=f"m/{name}", Body=content)

    writer = ManifestWriter(put)
    for key in KEYS:
        writer.add(Entry(key, 1, "e"))
    index = writer.close("s3://lake/chest-xray/")
    write_index(put, index)

    def work(session: Session) -> None:
        row = session.get_one(Version, version.id)
        row.digest, row.manifest = index.digest, f"s3://{bucket}/m/"
        session.add(row)

    rig.do(work)
    store = Store(endpoint=lake.server.endpoint, path_style=True, credentials=str(lake.credentials))
    rig.policy = rig.policy.model_copy(update={"stores": {**rig.policy.stores, "state": store}})


def folders(rig: Rig, run_id: str) -> list[tuple[str, str]]:
    """What the containers mount of the caches."""
    pod = rig.job(run_id)["spec"]["template"]["spec"]
    mounts = pod["containers"][0]["volumeMounts"]
    return [(each["subPath"], each["mountPath"]) for each in mounts if "subPath" in each]


def test_cache_of_a_folder_is_mounted_at_it(rig: Rig) -> None:
    cached(rig, part="train/")
    run_id = rig.submit(data=(TRAIN,))
    share(rig)
    rig.pass_time(minutes=1)
    assert folders(rig, run_id) == [("ready/files/train", "/data")]
    (data,) = asked_spec(rig.get(run_id)).data
    assert (data.reference, data.digest) == ("chest-xray@v3/train/", DIGEST)


def test_whole_cache_is_mounted_at_its_folders(rig: Rig, lake: Lake) -> None:
    recorded(rig, lake)
    both = (DataMount("chest-xray@v3/train/cats", "/cats"), DataMount("chest-xray/val", "/val"))
    run_id = rig.submit(data=both)
    share(rig)
    rig.pass_time(minutes=1)
    assert folders(rig, run_id) == [
        ("ready/files/train/cats", "/cats"),
        ("ready/files/val", "/val"),
    ]
    assert rig.get(run_id).phase == RunPhase.RUNNING
    names = [name for name in description_of(rig.get(run_id), "alice").tags if ".dataset." in name]
    assert names == [
        "quartermaster.dataset.chest-xray/train/cats",
        "quartermaster.dataset.chest-xray/val",
    ]


@pytest.mark.parametrize("fields", [{}, {"part": "train/"}])
def test_run_fails_if_its_folder_does_not_exist(
    rig: Rig, lake: Lake, fields: dict[str, str]
) -> None:
    recorded(rig, lake, **fields)
    run_id = rig.submit(data=(DataMount("chest-xray@v3/train/dogs/", "/data"),))
    share(rig)
    rig.pass_time(minutes=1)
    run = rig.get(run_id)
    assert (run.phase, run.reason) == (
        RunPhase.FAILED,
        "chest-xray@v3 has no file or folder train/dogs.",
    )
    assert run.unblock == "Folder train/ is there."
    assert rig.world.list("jobs") == []


def test_run_waits_while_manifests_cannot_be_read(rig: Rig, lake: Lake) -> None:
    recorded(rig, lake)
    stores = rig.policy.stores
    gone = stores["state"].model_copy(update={"endpoint": "http://127.0.0.1:9"})
    rig.policy = rig.policy.model_copy(update={"stores": {**stores, "state": gone}})
    run_id = rig.submit(data=(TRAIN,))
    share(rig)
    rig.pass_time(minutes=1)
    run = rig.get(run_id)
    assert run.phase == RunPhase.DATA
    assert "the store cannot be reached" in run.reason
    rig.policy = rig.policy.model_copy(update={"stores": stores})
    rig.pass_time(minutes=3)
    assert rig.get(run_id).phase == RunPhase.RUNNING


def test_slow_store_is_asked_once_a_minute(rig: Rig, lake: Lake) -> None:
    """Steps of runs that each waited for it would hold up all runs of their cluster."""
    recorded(rig, lake)
    stores = rig.policy.stores
    gone = stores["state"].model_copy(update={"endpoint": "http://127.0.0.1:9"})
    rig.policy = rig.policy.model_copy(update={"stores": {**stores, "state": gone}})
    # Each look at this clock takes 20 s, so that the refused connection is a slow one.
    check = FolderCheck(BrowseReads(rig.settings), partial(next, count(0.0, 20.0)))
    version = rig.do(lambda session: session.exec(select(Version)).one())
    asked = [ReadFolder(version, "train/")]
    assert "the store cannot be reached" in check.readiness(asked).waits
    rig.policy = rig.policy.model_copy(update={"stores": stores})
    paused = "Store state did not answer in time. Retrying within 60 s."
    assert [check.readiness(asked).waits for _ in range(2)] == [paused, paused]
    assert check.readiness(asked) == THERE


def test_stopped_run_does_not_ask_for_folders(rig: Rig, lake: Lake) -> None:
    recorded(rig, lake)
    stores = rig.policy.stores
    run_id = rig.submit(data=(TRAIN,))
    share(rig)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        hangs = stores["state"].model_copy(update={"endpoint": f"http://127.0.0.1:{port}"})
        rig.policy = rig.policy.model_copy(update={"stores": {**stores, "state": hangs}})
        rig.stop(run_id)
        rig.pass_time(minutes=1)
        silent.settimeout(0)
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert rig.get(run_id).phase == RunPhase.STOPPED


def test_part_is_never_taken_for_more(rig: Rig) -> None:
    cached(rig, part="train/")
    hint = (
        "`/dataset cache {}` copies it to fast storage, once for everyone. Submit again as soon as"
        " copying has started: it waits for the copy."
    )
    for name in ("chest-xray@v3", "chest-xray@v3/val/", "chest-xray@v3/train-old/"):
        assert refusal(rig, data=(DataMount(name, "/data"),)) == (
            f"{name} is not cached.",
            hint.format(name),
        )


def test_layout_may_have_moved_the_folder(rig: Rig) -> None:
    cached(rig, layout="imagenet")
    assert refusal(rig, data=(TRAIN,))[0] == "chest-xray@v3/train/ is not cached."


def test_runs_wait_until_folders_are_copied(rig: Rig) -> None:
    cached(
        rig, part="train/",
        phase=CachePhase.FILLING, bytes_done=125_000_000_000,
    )  # fmt: skip
    run_id = rig.submit(data=(TRAIN,))
    rig.pass_time(minutes=1)
    run = rig.get(run_id)
    assert (run.phase, run.reason) == (
        RunPhase.DATA,
        "Waiting for chest-xray@v3/train/: 50 % copied.",
    )


@pytest.mark.parametrize("text", ["chest-xray@v3/../x:/data", "chest-xray//x:/data", "a/:/data"])
def test_mounts_of_odd_folders_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        DatasetMount().read(text)
