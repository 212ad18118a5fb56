"""Versions with copies: what their Jobs are told, and what people read before and after."""

from functools import partial
from typing import Any

import pytest
from sqlmodel import Session

from bot.config import Settings
from bot.datasets import finding
from bot.datasets.caches.job import JobTarget, fill_job
from bot.datasets.caches.tables import CachePhase
from bot.datasets.finding import Reference
from bot.datasets.tables import CopyState, Version, VersionPhase
from bot.errors import ConflictError, NotAllowedError, UserError
from tests.bot.datasets.caches.rows import add_cache
from tests.bot.datasets.rig import DIGEST, DONE, OTHER_DIGEST, Rig
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, TEAM_A, TEAM_B

COPIED = DONE | {
    "digest": DIGEST,
    "phase": "copying",
    "copy": "made",
    "copied_files": 3,
    "copied_bytes": 2_500_000,
    "verified_by": {"md5": 2, "checksum": 1},
    "verified_bytes": {"md5": 2_000_000, "checksum": 500_000},
}
SWEPT = {
    "event": "done",
    "phase": "removing",
    "objects": 1,
    "bytes": 1_000,
    "removed_files": 2,
    "removed_bytes": 2_499_000,
    "seconds": 1.0,
}


def priced(rig: Rig, price: float) -> Settings:
    """The settings with a price of the store of copies."""
    state = rig.settings().stores["state"].model_copy(update={"price_per_gib_month": price})
    stores = rig.settings().stores | {"state": state}
    return rig.settings().model_copy(update={"stores": stores})


def recorded(rig: Rig, name: str, said: dict[str, Any], *, has_copy: bool = True) -> str:
    """A survey that ended."""
    rig.says(said, seconds=20)
    version_id = rig.version(name, has_copy=has_copy)
    rig.pass_time(minutes=2)
    return version_id


def two_versions(rig: Rig) -> tuple[str, str]:
    """Two versions of a dataset, both with copies."""
    rig.add()
    first = recorded(rig, "v1", COPIED)
    second = recorded(rig, "v2", COPIED | {"digest": OTHER_DIGEST, "copied_files": 1})
    return first, second


def arguments(rig: Rig) -> list[str]:
    """Those of the only Job."""
    (job,) = rig.jobs()
    found: list[str] = job["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def removed(rig: Rig, name: str, person: str = ALICE, channel: str = TEAM_A) -> Version:
    """Somebody has the copy of a version of chest-xray removed."""
    by = rig.caller(person, channel)

    def work(session: Session) -> Version:
        version = rig.service.find_version(session, "team-a", Reference("chest-xray", name))
        return rig.service.copies.remove(session, by, version, rig.clock.now())

    return rig.do(work)


def refusal(rig: Rig, kind: type[UserError], person: str = ALICE, channel: str = TEAM_A) -> str:
    with pytest.raises(kind) as caught:
        removed(rig, "v1", person, channel)
    return f"{caught.value.message} {caught.value.hint}"


def test_version_with_copy_tells_its_cost(rig: Rig) -> None:
    rig.policy = priced(rig, 20.0)
    dataset = rig.add()
    rig.says(COPIED, seconds=40, phase="copying")
    version_id = rig.version(note="as delivered", has_copy=True)
    rig.run()
    told = arguments(rig)
    place = f"s3://qm-state/prod/copies/{dataset.id}/"
    assert told[told.index("--copies") + 1] == place
    assert told[told.index("--copies-store") + 1] == told[told.index("--manifest-store") + 1]
    rig.pass_time(seconds=36)
    assert rig.card(version_id) == _COPYING.format(place=place)
    rig.pass_time(minutes=2)
    assert rig.card(version_id) == _COPIED.format(place=place, digest=DIGEST)
    assert rig.notes(version_id) == {
        "ended": f"<@{ALICE}> chest-xray@v1 is recorded: 3 objects, 2.5 MB.\n"
        "Its copy is complete: 3 objects, 2.5 MB, 0.05 a month."
    }


def test_version_without_copy_has_no_such_arguments(rig: Rig) -> None:
    rig.add()
    rig.version()
    rig.run()
    assert "--copies" not in arguments(rig)


def test_unchanged_content_gives_the_earlier_version_a_copy(rig: Rig) -> None:
    rig.add()
    first = recorded(rig, "v1", DONE | {"digest": DIGEST}, has_copy=False)
    again = recorded(rig, "v2", COPIED)
    assert rig.notes(again) == {
        "ended": f"<@{ALICE}> chest-xray has not changed since v1, so there is no version v2.\n"
        "Its copy is complete: 3 objects, 2.5 MB, price unknown."
    }
    found = rig.get(first)
    assert (found.copy_state, found.copies) == (CopyState.MADE, rig.get(again).copies)
    assert "Copy           3 objects, 2.5 MB, price unknown" in rig.card(first)


def test_shared_copies_are_told_apart_from_new_ones(rig: Rig) -> None:
    _, second = two_versions(rig)
    assert rig.notes(second)["ended"].splitlines()[1] == (
        "Its copy is complete: 1 object, 2.5 MB were new, price unknown; the others had copies"
        " already."
    )
    third = recorded(rig, "v3", COPIED | {"digest": "sha256:" + 64 * "c", "copied_files": 0})
    assert rig.notes(third)["ended"].splitlines()[1] == (
        "Its copy is complete: all 3 objects had copies already."
    )


def test_bucket_with_versions_needs_no_copy(rig: Rig) -> None:
    rig.add()
    version_id = recorded(rig, "v1", DONE | {"digest": DIGEST, "copy": "not_needed"})
    said = "not needed: the bucket keeps versions, and the manifest names that of each object"
    assert rig.notes(version_id)["ended"].splitlines()[1] == f"A copy is {said}."
    assert f"Copy          {said}" in rig.card(version_id)
    assert "has no copy." in refusal(rig, ConflictError)


def test_failed_copy_records_no_version(rig: Rig) -> None:
    rig.add()
    said = {"event": "failed", "reason": "changed", "message": "a/one was overwritten.",
            "hint": "Record it when nothing writes.", "keys": ["a/one"]}  # fmt: skip
    rig.says(said, seconds=20, code=65)
    version_id = rig.version(has_copy=True)
    rig.pass_time(minutes=2)
    assert rig.notes(version_id) == {
        "ended": f"<@{ALICE}> chest-xray@v1 was not recorded. a/one was overwritten.\n"
        "First keys affected: a/one.\nRecord it when nothing writes."
    }


def test_fill_reads_copies_of_its_version_only(rig: Rig) -> None:
    first, second = two_versions(rig)
    removed(rig, "v1")
    datasets = rig.settings().datasets
    assert datasets is not None
    for version_id, expected in ((first, []), (second, [rig.get(second).copies])):
        version = rig.get(version_id)
        cache = rig.do(partial(add_cache, version=version))
        place = JobTarget("installation", 60)
        job = fill_job(cache, version, datasets, rig.settings().stores, place)
        told = job["spec"]["template"]["spec"]["containers"][0]["args"]
        assert [told[n + 1] for n, word in enumerate(told) if word == "--copies"] == expected


def test_copy_of_a_version_is_removed_alone(rig: Rig) -> None:
    first, second = two_versions(rig)
    rig.says(SWEPT, seconds=20)
    sweep = removed(rig, "v1")
    rig.run()
    told = arguments(rig)
    assert told[0] == "sweep"
    assert told[told.index("--keep") :] == ["--keep", f"s3://qm-state/prod/manifests/{second}/"]
    assert "Copies of chest-xray are being removed." in refusal_of_version(rig)
    assert rig.card(sweep.id).splitlines()[0] == "⏳ Copy of chest-xray@v1 · Starting"
    rig.pass_time(minutes=2)
    assert rig.notes(sweep.id) == {
        "ended": f"<@{ALICE}> Removed the copy of chest-xray@v1: 2 objects, 2.5 MB, price unknown."
        " Other versions keep 1 object."
    }
    assert (rig.get(sweep.id).phase, rig.jobs()) == (VersionPhase.REMOVED, [])
    assert (rig.get(first).copy_state, rig.get(second).copy_state) == ("removed", "made")
    assert refusal(rig, ConflictError) == (
        "chest-xray@v1 has no copy. `/dataset show chest-xray` shows the versions."
    )


def refusal_of_version(rig: Rig) -> str:
    with pytest.raises(ConflictError) as caught:
        rig.version("v3")
    return caught.value.message


def test_failed_removal_can_be_repeated(rig: Rig) -> None:
    two_versions(rig)
    said = {"event": "failed", "reason": "no_access", "message": "The store denied it.",
            "hint": "", "keys": []}  # fmt: skip
    rig.says(said, seconds=20, code=65)
    sweep = removed(rig, "v1")
    rig.pass_time(minutes=2)
    assert rig.notes(sweep.id) == {
        "ended": f"<@{ALICE}> Copies of chest-xray were not removed. The store denied it.\n"
        "Try again: `/dataset remove chest-xray@v1 --copy --yes`."
    }
    rig.says(SWEPT, seconds=20)
    again = removed(rig, "v1")
    rig.pass_time(minutes=2)
    assert rig.get(again.id).phase == VersionPhase.REMOVED


def test_removed_dataset_leaves_no_copies(rig: Rig) -> None:
    first, _ = two_versions(rig)
    rig.says(SWEPT | {"objects": 0, "removed_files": 3}, seconds=20)
    by = rig.caller()

    def work(session: Session) -> str:
        dataset = rig.service.find(session, "team-a", "chest-xray")
        return rig.service.remove(session, by, dataset, rig.clock.now()).id

    rig.do(work)
    rig.run()
    assert "--keep" not in arguments(rig)
    rig.pass_time(minutes=2)
    gone = rig.get(first)
    sweep = rig.do(lambda session: finding.latest_sweep(session, gone.dataset_id))
    assert sweep is not None
    assert (sweep.phase, gone.copy_state) == (VersionPhase.REMOVED, CopyState.REMOVED)
    assert rig.notes(sweep.id) == {
        "ended": f"<@{ALICE}> Removed the copies of chest-xray: 3 objects, 2.5 MB, price unknown."
    }


def test_removed_dataset_without_copies_needs_no_job(rig: Rig) -> None:
    rig.add()
    recorded(rig, "v1", DONE | {"digest": DIGEST}, has_copy=False)
    by = rig.caller()

    def work(session: Session) -> str:
        dataset = rig.service.find(session, "team-a", "chest-xray")
        return rig.service.remove(session, by, dataset, rig.clock.now()).id

    rig.do(work)
    rig.run()
    assert rig.jobs() == []


def test_copies_are_removed_by_those_who_may(rig: Rig) -> None:
    first, _ = two_versions(rig)
    assert refusal(rig, NotAllowedError, BOB, TEAM_B) == (
        "chest-xray belongs to team-a; only that team can remove copies. Ask a member of that team."
    )
    rig.do(lambda session: hand_over(session, first))
    assert refusal(rig, NotAllowedError) == (
        f"chest-xray@v1 was recorded by <@{CAROL}>. That person, a lead of the team or an admin can"
        " remove its copy."
    )
    assert removed(rig, "v1", ERIN).is_sweep


def hand_over(session: Session, version_id: str) -> None:
    """Carol recorded it."""
    session.get_one(Version, version_id).person = CAROL


def test_copy_that_fills_a_cache_stays(rig: Rig) -> None:
    first, _ = two_versions(rig)
    rig.do(
        lambda s: (
            add_cache(s, s.get_one(Version, first), phase=CachePhase.FILLING, ready_at=None).id
        )
    )
    assert refusal(rig, ConflictError) == (
        f"chest-xray@v1 is being cached, perhaps from its copy. Its card in <#{TEAM_A}> shows the"
        " progress. Try again when it is ready."
    )


_COPYING = """\
▶️ chest-xray@v1 · Copying for 3s
▰▰▰▰▰▰▰▰▰▱▱▱ 75 % · 3,000 of 4,000 objects, 30 MB of 40 MB
  Source        `s3://lake/chest-xray/`
  Store         `lake`
  Requested by  Alice
  Requested     2026-11-21 12:00 UTC
  Objects       4,000
  Size          40 MB (40,000,000 bytes)
  Copy          at most 40 MB, 0.75 a month
  Copied to     `{place}`
  Note          as delivered"""
_COPIED = """\
✅ chest-xray@v1 · Recorded
  Source         `s3://lake/chest-xray/`
  Store          `lake`
  Requested by   Alice
  Requested      2026-11-21 12:00 UTC
  Objects        3
  Size           2.5 MB (2,500,000 bytes)
  Duration       40s
  Digest         `{digest}`
  Copy           3 objects, 2.5 MB, 0.05 a month
  Copied to      `{place}`
  Copy verified  1 by a checksum, 2 by MD5
  Note           as delivered"""
