"""Caches of folders of a version: counted in a real store, priced, filled, found and evicted."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlmodel import col, select

from bot.database.database import Session
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.tables import Version
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import DatasetMount
from tests.bot.datasets.worker.workers import ended
from tests.handlers.command_client import ALICE, BOB, TEAM_A, TEAM_B, CommandClient
from tests.handlers.test_dataset_browsing import Browser, browsing
from tests.object_stores import Lake
from tests.playground.cluster.served import Served

CACHING = """\
  classes:
    standard: {throughput_mib_per_tib: 16, budget: 2Ti}
    lustre: {fsx: {file_system: fs-0123456789abcdef0, repository: s3://lake/, path: /lake}}
  default_class: standard
  fsx: {region: eu-central-1}
  layouts: {imagenet: {command: [sh, /layouts/imagenet.sh]}}
"""
FILES = {
    "after 2020/3.png": b"3",
    "labels.csv": b"image,finding\n",
    "train/0.png": b"0",
    "train/cats/1.png": b"11",
    "train-old/0.png": b"old",
    "val/2.png": b"222",
}
READING = "Reading the manifest of `chest-xray@v1`…"


class Parts(NamedTuple):
    """A bot that caches, and its dataset in a real store."""

    browser: Browser

    @property
    def client(self) -> CommandClient:
        return self.browser.client

    def reply(self, text: str, person: str = ALICE, channel: str = TEAM_A) -> Reply:
        """What a command answers in the end."""
        name, _, words = text.removeprefix("/").partition(" ")
        incoming = self.client.incoming(person, channel, command=name, words=words)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        return reply.later() if reply.later is not None else reply

    def caches(self, text: str) -> Cache:
        """The cache that the button under an answer creates."""
        (button,) = self.reply(text).buttons
        self.client.clicks(ALICE, TEAM_A, "dataset.cache", button.value)
        newest = select(Cache).order_by(col(Cache.id).desc())
        found = self.client.application.database.read(lambda s: s.exec(newest).first())
        assert found is not None
        return found

    def change(self, **fields: object) -> None:
        """Changes all caches, as their controllers would."""

        def work(session: Session) -> None:
            for cache in session.exec(select(Cache)):
                for name, value in fields.items():
                    setattr(cache, name, value)

        self.client.application.database.transaction(work)


@pytest.fixture
def parts(tmp_path: Path, served: Served, lake: Lake) -> Iterator[Parts]:
    with browsing(tmp_path, served, lake, CACHING, "--readers team-b", FILES) as browser:
        yield Parts(browser)


def test_folders_are_counted_before_they_are_priced(parts: Parts) -> None:
    asked = parts.browser.asks("/dataset cache chest-xray@v1/val,train/ --size 10Gi")
    assert asked == (
        READING,
        (
            "Cache chest-xray@v1/train/,val/?\n"
            "Nothing has started yet. Caching it takes:\n"
            "  Copies      3 files, 6 bytes (6 bytes)\n"
            "  Volume      10 GiB on standard\n"
            "  Free space  2 TiB of 2 TiB (budget in quartermaster.yaml)\n"
            "  Takes       1s at best, at the throughput of the volume\n"
            "  Teams       team-a\n"
            "  Kept        1d after its last use\n"
            "  [Cache it]"
        ),
    )


def test_the_button_caches_only_these_folders(parts: Parts) -> None:
    cache = parts.caches("/dataset cache chest-xray/train/")
    told = (cache.reference, cache.part, cache.objects, cache.size_bytes, cache.team)
    assert told == ("chest-xray@v1/train/", "train/", 2, 3, "team-a")
    shown = parts.browser.asks("/dataset show chest-xray@v1")[0]
    assert "chest-xray@v1/train/ on standard: starting, 1 GiB, for team-a." in shown
    assert "v1/train/ on standard (starting)" in parts.browser.asks("/dataset list")[0]


def test_the_worker_finds_what_was_counted(parts: Parts, lake: Lake, tmp_path: Path) -> None:
    cache = parts.caches("/dataset cache chest-xray@v1/train/,val/")
    volume, bucket, store = tmp_path / "volume", parts.browser.bucket, lake.store()
    volume.mkdir()
    end = ended(
        *("fill", "--source", f"s3://{bucket}/set/", "--source-store", store),
        *("--manifest", f"s3://{bucket}/m/", "--manifest-store", store),
        *("--digest", cache.digest, "--only", "train/", "--only", "val/"),
        *("--target", str(volume), "--patience", "5"),
    )
    assert (end.code, end.last["objects"], end.last["bytes"]) == (0, 3, 6)
    files = volume / "ready" / "files"
    found = sorted(str(each.relative_to(files)) for each in files.rglob("*.*"))
    assert found == ["train/0.png", "train/cats/1.png", "val/2.png"]


@pytest.mark.parametrize(
    ("part", "refusal"),
    [
        ("trian/", "has no file or folder trian. Did you mean train/?"),
        ("train/,vla/", "has no file or folder vla. Did you mean val/?"),
        ("train/cast/", "has no file or folder train/cast. Did you mean train/cats/?"),
        ("labels.csv", "is a file, not a folder. Name the folder it is in."),
    ],
)  # fmt: skip
def test_folders_that_are_not_there_are_refused(parts: Parts, part: str, refusal: str) -> None:
    asked = parts.browser.asks(f"/dataset cache chest-xray@v1/{part}")
    assert asked[0] == READING
    assert asked[1].replace("\n", " ").partition("chest-xray@v1 ")[2] == refusal


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ("--yes", "--yes cannot cache folders of a version: they are counted first."),
        ("--layout imagenet", "A layout needs the files of the whole version."),
        (
            "--class lustre",
            (
                "lustre is a file system that shows the objects of a bucket, so it cannot have some"
                " folders of a version alone."
            ),
        ),
    ],
)
def test_options_that_need_whole_versions_are_refused(
    parts: Parts, options: str, refusal: str
) -> None:
    asked = parts.browser.asks(f"/dataset cache chest-xray@v1/train/ {options}")
    assert (asked[0].splitlines()[0], asked[1]) == (refusal, "")


@pytest.mark.parametrize("part", ["/train/", "train//", "../train/", "train/,", "train/./a"])
def test_misspelled_folders_are_refused_with_an_example(parts: Parts, part: str) -> None:
    answer = parts.browser.asks(f"/dataset cache chest-xray@v1/{part}")
    assert "such as `chest-xray@v3/train/`" in answer[0]
    assert answer[1] == ""


def test_another_request_joins_the_same_folders(parts: Parts) -> None:
    cache = parts.caches("/dataset cache chest-xray@v1/train/")
    again = parts.browser.asks("/dataset cache chest-xray@v1/train", BOB, TEAM_B)
    assert again[0].splitlines()[1] == (
        "It is now also for team-b. Its card in this channel shows the progress."
    )
    parts.change(phase=CachePhase.READY, ready_at=cache.asked_at)
    ready = parts.browser.asks("/dataset cache chest-xray@v1/train/")[0].splitlines()
    assert ready[1] == (
        "Runs read it under /data: `/train submit NAME --data chest-xray@v1/train/:/data`"
    )


def test_whole_version_is_cached_besides_its_folders(parts: Parts) -> None:
    parts.caches("/dataset cache chest-xray@v1/train/")
    whole = parts.browser.asks("/dataset cache chest-xray@v1 --yes")[0].splitlines()[0]
    assert whole == "Caching chest-xray@v1 on standard."
    assert (
        "v1 on standard (starting), v1/train/ on standard" in parts.browser.asks("/dataset list")[0]
    )


def test_cache_that_holds_the_folders_is_named(parts: Parts) -> None:
    parts.browser.asks("/dataset cache chest-xray@v1 --yes")
    asked = parts.browser.asks("/dataset cache chest-xray@v1/train/,val/")
    assert asked == (
        READING,
        (
            "chest-xray@v1 is being cached on standard and holds chest-xray@v1/train/,val/: 3"
            " files, 6 bytes. Nothing has to be copied.\n"
            "Runs read it under /data: `/train submit NAME --data chest-xray@v1/train/:/data/train"
            " --data chest-xray@v1/val/:/data/val`"
        ),
    )
    wrong = parts.browser.asks("/dataset cache chest-xray@v1/trian/")[1].replace("\n", " ")
    assert wrong == "chest-xray@v1 has no file or folder trian. Did you mean train/?"


def test_file_system_that_holds_the_folders_is_named(parts: Parts) -> None:
    parts.browser.asks("/dataset cache chest-xray@v1 --yes")
    parts.change(storage_class="lustre", phase=CachePhase.READY)
    asked = parts.browser.asks("/dataset cache chest-xray@v1/train/ --class lustre")
    assert asked[0] == READING
    assert asked[1].splitlines()[0] == (
        "chest-xray@v1 is cached on lustre and holds chest-xray@v1/train/: 2 files, 3 bytes."
        " Nothing has to be copied."
    )


def test_commands_quote_folders_with_blanks(parts: Parts) -> None:
    folder = "chest-xray@v1/after 2020/"
    assert parts.browser.asks(f'/dataset evict "{folder}"')[0] == (
        f"{folder} is not cached.\n`/dataset cache '{folder}'` caches it."
    )
    submit = f'/train submit xray --image acme/xray:1 --data "{folder}:/data"'
    assert (
        parts.browser.asks(submit)[0]
        .splitlines()[1]
        .startswith(f"`/dataset cache '{folder}'` copies it to fast storage")
    )
    offered = parts.reply(f'/dataset cache "{folder}"').buttons[0]
    told = parts.client.clicks(ALICE, TEAM_A, "dataset.cache", offered.value)
    assert f"`/dataset evict '{folder}'` undoes it." in told
    parts.change(phase=CachePhase.READY)
    again = parts.browser.asks(f'/dataset cache "{folder}"')[0]
    assert f"Runs read it under /data: `/train submit NAME --data '{folder}:/data'`" in again


def test_paths_of_folders_have_no_blanks(parts: Parts) -> None:
    parts.browser.asks("/dataset cache chest-xray@v1 --yes")
    asked = parts.browser.asks('/dataset cache "chest-xray@v1/after 2020/,train/"')
    mounts = (
        "--data 'chest-xray@v1/after 2020/:/data/after_2020'"
        " --data chest-xray@v1/train/:/data/train"
    )
    told = asked[1].splitlines()[1]
    assert told == f"Runs read it under /data: `/train submit NAME {mounts}`"
    for mount in shlex.split(mounts)[1::2]:
        assert DatasetMount().read(mount).path.startswith("/data/")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--for team-b", "--for has"),
        ("--ttl 3d --size 10Gi", "--size and --ttl have"),
    ],
)
def test_options_without_effect_on_a_holder_are_refused(
    parts: Parts, options: str, named: str
) -> None:
    parts.browser.asks("/dataset cache chest-xray@v1 --yes")
    assert parts.browser.asks(f"/dataset cache chest-xray@v1/train/ {options}") == (
        (
            f"chest-xray@v1 on standard holds chest-xray@v1/train/ already, so {named} no effect.\n"
            "Use these options with chest-xray@v1, or name another class with --class."
        ),
        "",
    )


def test_only_the_named_folders_are_evicted(parts: Parts) -> None:
    parts.caches("/dataset cache chest-xray@v1/train/")
    refused = parts.browser.asks("/dataset evict chest-xray@v1")[0]
    assert refused == (
        "chest-xray@v1 is not cached.\nIt is cached as chest-xray@v1/train/ on standard."
    )
    asked = parts.browser.asks("/dataset evict chest-xray@v1/train/")
    assert asked[0] == "Checking what needs `chest-xray@v1/train/`…"
    assert asked[1].splitlines()[0] == (
        "Evicting `chest-xray@v1/train/` frees 1 GiB of standard. 2 files, 3 bytes, are deleted"
        " from there. It was last used 0s ago."
    )


def test_crowded_class_refuses_the_counted_folders(parts: Parts) -> None:
    asked = parts.browser.asks("/dataset cache chest-xray@v1/train/ --size 3Ti")[1]
    assert asked.splitlines()[0] == (
        "chest-xray@v1/train/ needs 3 TiB on standard, but only 2 TiB of 2 TiB are free (budget in"
        " quartermaster.yaml)."
    )


def test_button_of_an_earlier_release_caches_whole(parts: Parts) -> None:
    version = parts.client.application.database.read(lambda s: s.exec(select(Version)).one())
    told = json.dumps({"v": version.id, "c": "standard", "b": 2**30, "t": "team-a"})
    parts.client.clicks(ALICE, TEAM_A, "dataset.cache", told)
    found = parts.client.application.database.read(lambda s: s.exec(select(Cache)).one())
    assert (found.reference, found.digest, found.objects) == (
        "chest-xray@v1",
        version.digest,
        len(FILES),
    )
