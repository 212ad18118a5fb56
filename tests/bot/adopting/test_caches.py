"""Caches whose database was lost: version and dataset are known again, and nothing is copied."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, select

from bot.cluster import labels
from bot.database.database import Database
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.finding import Reference
from bot.datasets.tables import Dataset, Version, VersionPhase
from tests.bot.adopting.rig import adopt, lose
from tests.bot.datasets.caches.filling import DONE, Filling
from tests.bot.datasets.caches.rows import DIGEST, add_dataset, add_version
from tests.bot.datasets.caches.test_filling_parts import COPIED, offered
from tests.bot.datasets.rig import with_places
from tests.bot.ground import Outside


@pytest.fixture
def filling(own_database: Database, outside: Outside) -> Filling:
    return Filling(own_database, outside)


def cached(rig: Filling) -> Cache:
    """Alice's cache of chest-xray@v3, which is ready."""
    row_id = rig.cache()
    rig.pass_time(minutes=5)
    row = rig.found(row_id)
    assert row.phase == CachePhase.READY
    return row


def all_of(rig: Filling, table: type[SQLModel]) -> list[Any]:
    return rig.do(lambda session: list(session.scalars(select(table))))


def line(row: Cache) -> str:
    return f"  chest-xray@v3 of team-a: PVC datasets/{row.claim_name} on default"


def refused(rig: Filling, row: Cache) -> str:
    """Why the cache is not adopted."""
    title, told = adopt(rig)
    assert title == "Not adopted:"
    assert [all_of(rig, each) for each in (Dataset, Version, Cache)] == [[], [], []]
    name = f"  PVC datasets/{row.claim_name} on default: "
    assert told.startswith(name)
    return told.removeprefix(name)


def test_an_adopted_cache_is_checked_and_ready(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    (version,), (dataset,) = all_of(filling, Version), all_of(filling, Dataset)
    lose(filling, tmp_path)
    filling.fills(seconds=5, last=DONE | {"copied_files": 0, "copied_bytes": 0})
    assert adopt(filling, is_trial=True) == ["Caches to adopt:", line(before)]
    assert all_of(filling, Cache) == []
    assert adopt(filling) == ["Adopted caches:", line(before)]
    assert adopt(filling) == ["Known already: 1 cache."]
    begun = len(filling.effects())
    filling.pass_time(hours=1)
    assert filling.effects()[begun:] == ["create jobs", "delete jobs"]
    after = filling.found(before.id)
    told = ("reference", "digest", "team", "storage_class", "capacity_bytes", "claim_uid", "phase")
    assert {key: getattr(after, key) for key in told} == {key: getattr(before, key) for key in told}
    assert (after.keep_seconds, filling.notes(after.id)) == (None, {})
    (known,), (owned,) = all_of(filling, Version), all_of(filling, Dataset)
    assert (known.phase, known.digest, known.id) == (VersionPhase.READY, DIGEST, version.id)
    assert known.manifest == version.manifest
    assert (owned.id, owned.source, owned.team) == (dataset.id, dataset.source, "team-a")
    assert (owned.readers, owned.is_open) == (["team-b"], False)


def test_a_cache_of_folders_stays_one(filling: Filling, tmp_path: Path) -> None:
    whole = cached(filling)
    filling.fills(last=COPIED)
    before = filling.begin(offered(filling)).cache
    filling.pass_time(minutes=5)
    lose(filling, tmp_path)
    part = f"  {before.reference} of team-a: PVC datasets/{before.claim_name} on default"
    assert sorted(adopt(filling)[1:]) == sorted([line(whole), part])
    after = filling.found(before.id)
    told = ("part", "reference", "digest", "objects", "size_bytes", "capacity_bytes")
    assert {key: getattr(after, key) for key in told} == {key: getattr(before, key) for key in told}
    assert filling.found(whole.id).part == ""
    filling.run()
    names = {job["metadata"]["name"]: job for job in filling.jobs()}
    pod = names[before.job_name]["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"][-4:] == ["--only", "train/", "--only", "val/"]


def test_a_selection_may_have_every_file(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)

    def selected(session: Session) -> None:
        dataset = session.scalars(select(Dataset)).one()
        add_version(session, dataset, "all", selected_from=before.version_id)

    filling.do(selected)
    filling.cache(reference=Reference("chest-xray", "all"))
    filling.pass_time(minutes=5)
    lose(filling, tmp_path)
    title, *lines = adopt(filling)
    assert title == "Adopted caches:"
    named = sorted(each.partition(":")[0] for each in lines)
    assert named == ["  chest-xray@all of team-a", "  chest-xray@v3 of team-a"]


def test_a_whole_version_of_the_same_content_stays(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    lose(filling, tmp_path)

    def recorded(session: Session) -> None:
        add_version(session, add_dataset(session, id=before.dataset_id), "v1")

    filling.do(recorded)
    assert adopt(filling)[1] == (
        f"  PVC datasets/{before.claim_name} on default: chest-xray has another version of that"
        " name or content."
    )


def test_a_fill_goes_on_without_its_row(filling: Filling, tmp_path: Path) -> None:
    row_id = filling.cache()
    filling.pass_time(seconds=20)
    before = filling.found(row_id)
    assert before.phase == CachePhase.FILLING
    lose(filling, tmp_path)
    adopt(filling)
    begun = len(filling.effects())
    filling.pass_time(minutes=5)
    after = filling.found(row_id)
    assert (after.phase, after.claim_uid) == (CachePhase.READY, before.claim_uid)
    assert filling.effects()[begun:] == ["delete jobs"]


def test_an_old_cache_has_time_for_its_check(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    filling.pass_time(days=3)
    lose(filling, tmp_path)
    filling.fills(seconds=300)
    adopt(filling)
    filling.outside.clock.moment += timedelta(hours=3)
    filling.pass_time(minutes=2)
    assert filling.found(before.id).phase in {CachePhase.STARTING, CachePhase.FILLING}
    filling.pass_time(minutes=20)
    assert filling.found(before.id).phase == CachePhase.READY


def test_a_cache_of_an_earlier_release_is_named(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    note = {"metadata": {"annotations": {labels.RECORD: None}}}
    filling.world.patch("persistentvolumeclaims", before.claim_name, note, "datasets")
    lose(filling, tmp_path)
    assert refused(filling, before) == (
        "It has no annotation quartermaster.dev/record that this version can read: an earlier"
        " release created it, or FSx imports it. Nothing deletes it; once the dataset is cached"
        " again, `/qm leftovers --platform` offers to."
    )


def test_a_team_reads_no_more_than_it_may(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    lose(filling, tmp_path)
    filling.policy = with_places(filling.policy, {"team-b": ["s3://lake/"]})
    assert refused(filling, before).startswith("team-a may not read s3://lake/chest-xray/.")


def test_a_dataset_of_the_same_name_stays(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    lose(filling, tmp_path)
    filling.add()
    assert adopt(filling)[1] == (
        f"  PVC datasets/{before.claim_name} on default: team-a has another dataset chest-xray."
    )


def test_a_cache_in_another_namespace_is_refused(filling: Filling, tmp_path: Path) -> None:
    before = cached(filling)
    claim = filling.world.get("persistentvolumeclaims", before.claim_name, "datasets")
    assert claim is not None
    copied = {key: claim["metadata"][key] for key in ("labels", "annotations")}
    copied["labels"] = copied["labels"] | {labels.DATASET_CACHE: "forged"}
    copied["annotations"] = {labels.RECORD: copied["annotations"][labels.RECORD]}
    body = {
        "metadata": {"name": "forged", **copied},
        "spec": {key: claim["spec"][key] for key in ("accessModes", "resources")},
    }
    filling.world.create("persistentvolumeclaims", body, "team-a")
    lose(filling, tmp_path)
    assert adopt(filling)[2:] == [
        "Not adopted:",
        "  PVC team-a/forged on default: Caches are in namespace datasets.",
    ]
