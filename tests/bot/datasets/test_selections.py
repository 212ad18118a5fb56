"""Versions of selected files: what their Jobs are told, what people read, and what is newest."""

from dataclasses import replace

import pytest
from sqlmodel import Session

from bot.audit import lines_about
from bot.datasets import finding
from bot.datasets.card import dataset_card
from bot.datasets.finding import Reference
from bot.datasets.selection import Selection
from bot.datasets.service import NewSelection
from bot.datasets.tables import CopyState, Version, VersionPhase
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UserError
from bot.slack.card import Reply
from bot.slack.text import as_text
from tests.bot.datasets.caches.rows import add_dataset, add_version
from tests.bot.datasets.rig import DIGEST, DONE, OTHER_DIGEST, Rig
from tests.bot.datasets.test_copies import COPIED, arguments, recorded
from tests.bot.ground import ALICE, BOB, TEAM_A, TEAM_B

PATHS = ("train/", "val/*.png")
SELECTION = Selection("v1", PATHS, "labels.csv", ("split=train,val",))
ASKED = NewSelection(SELECTION, "pngs", "for a first try")
FOUND = DONE | {"digest": OTHER_DIGEST, "objects": 2, "bytes": 1_500_000}


def select(
    rig: Rig, asked: NewSelection = ASKED, person: str = ALICE, channel: str = TEAM_A
) -> str:
    """Somebody has files of chest-xray recorded; the id of the version."""
    by = rig.caller(person, channel)

    def work(session: Session) -> str:
        dataset = rig.service.find(session, "team-a", "chest-xray")
        return rig.service.select(session, by, dataset, asked, rig.clock.now()).id

    return rig.do(work)


def selected(rig: Rig, asked: NewSelection = ASKED) -> str:
    """Version v1, and files of it that are recorded."""
    rig.add()
    rig.version()
    rig.pass_time(minutes=2)
    rig.says(FOUND, seconds=20)
    version_id = select(rig, asked)
    rig.pass_time(minutes=2)
    return version_id


def refusal(rig: Rig, kind: type[UserError], asked: NewSelection, *by: str) -> tuple[str, str]:
    with pytest.raises(kind) as caught:
        select(rig, asked, *by)
    return caught.value.message, caught.value.hint


def test_job_reads_the_manifest_of_the_version(rig: Rig) -> None:
    rig.add()
    first = rig.get(rig.version())
    rig.pass_time(minutes=2)
    version_id = select(rig)
    rig.run()
    told = arguments(rig)
    assert told[0] == "select"
    assert told[told.index("--manifest") + 1] == f"s3://qm-state/prod/manifests/{version_id}/"
    assert told[told.index("--of") :] == [
        *("--of", first.manifest, "--digest", DIGEST, "--path", "train/", "--path", "val/*.png"),
        *("--labels", "labels.csv", "--label", "split=train,val"),
    ]


def test_card_tells_what_is_selected(rig: Rig) -> None:
    rig.add()
    rig.version()
    rig.pass_time(minutes=2)
    rig.says(FOUND, seconds=40)
    version_id = select(rig)
    rig.pass_time(seconds=36)
    lines = rig.card(version_id).splitlines()
    assert lines[0] == "▶️ chest-xray@pngs · Selecting for 33s"
    rig.pass_time(minutes=2)
    assert rig.card(version_id) == _RECORDED
    assert rig.notes(version_id) == {
        "ended": (
            f"<@{ALICE}> chest-xray@pngs is recorded: 2 objects, 1.5 MB.\n"
            "To see what changed: `/dataset diff chest-xray@v1 chest-xray@pngs`"
        )
    }


def test_selection_is_never_the_newest_version(rig: Rig) -> None:
    selection = selected(rig)

    def found(session: Session) -> tuple[str, str, int]:
        newest = rig.service.find_version(session, "team-a", Reference("chest-xray"))
        named = rig.service.find_version(session, "team-a", Reference("chest-xray", "pngs"))
        (entry,) = rig.service.listing(session, "team-a")
        assert entry.newest is not None
        assert (entry.newest.id, named.id) == (newest.id, selection)
        return newest.name, named.name, entry.versions

    assert rig.do(found) == ("v1", "pngs", 1)
    rig.finds("sha256:" + 64 * "c")
    second = rig.get(rig.version())
    assert [rig.get(each).name for each in second.parents] == ["v1"]
    # Names of selections are names of versions, too.
    assert second.name == "v3"


def test_files_that_a_version_has_are_not_recorded(rig: Rig) -> None:
    rig.add()
    first = rig.version()
    rig.pass_time(minutes=2)
    again = select(rig)
    rig.pass_time(minutes=2)
    found = rig.get(again)
    assert (found.phase, found.same_as) == (VersionPhase.UNCHANGED, first)
    assert rig.notes(again) == {
        "ended": f"<@{ALICE}> chest-xray@v1 has these files already, so there is no version pngs."
    }
    assert rig.card(again).splitlines()[1] == (
        "v1 has these files already, so the name pngs is still free."
    )


def test_source_with_only_the_selected_files_has_changed(rig: Rig) -> None:
    """Without the others it is not what the newest version has."""
    selected(rig)
    second = rig.get(rig.version("v2"))
    rig.pass_time(minutes=2)
    found = rig.get(second.id)
    assert (found.phase, found.digest) == (VersionPhase.READY, OTHER_DIGEST)
    newest = rig.do(lambda s: rig.service.find_version(s, "team-a", Reference("chest-xray")))
    assert newest.name == "v2"


def test_dataset_shows_where_a_selection_is_from(rig: Rig) -> None:
    selected(rig, replace(ASKED, note=""))

    card = rig.do(
        lambda s: dataset_card(
            rig.service.shelf(s, "team-a", "chest-xray"), "words", rig.clock.now()
        )
    )
    assert "Selected from v1" in as_text(Reply(card=card))


def test_selections_share_the_copy_of_their_version(rig: Rig) -> None:
    rig.add()
    first = recorded(rig, "v1", COPIED)
    rig.says(FOUND | {"copy": "made"}, seconds=20)
    version_id = select(rig)
    rig.run()
    told = arguments(rig)
    assert told[told.index("--copies") + 1] == rig.get(first).copies
    rig.pass_time(minutes=2)
    found = rig.get(version_id)
    assert (found.copy_state, found.copies) == (CopyState.MADE, rig.get(first).copies)
    kept = rig.do(lambda s: finding.keeping(s, s.get_one(Version, first)))
    assert found.manifest in kept


def test_request_and_selection_are_audited(rig: Rig) -> None:
    version_id = selected(rig)
    lines = rig.do(lambda session: lines_about(session, version_id))
    assert [each.facts for each in lines] == [
        {
            "name": "chest-xray@pngs",
            "note": "for a first try",
            "selection": "--from v1 --path train/ --path 'val/*.png' --labels labels.csv"
            " --label split=train,val",
        }
    ]


def test_wrong_versions_and_names_are_refused(rig: Rig) -> None:
    selected(rig)
    wrong = NewSelection(Selection("v7", PATHS), "other")
    assert refusal(rig, NotFoundError, wrong)[0] == "chest-xray has no version v7."
    taken = NewSelection(Selection("v1", PATHS), "pngs")
    assert refusal(rig, ConflictError, taken) == (
        "chest-xray already has a version pngs, and a named version never changes.",
        "Choose another name. v3 is free.",
    )
    other = NewSelection(Selection("v1", PATHS), "other")
    assert refusal(rig, NotAllowedError, other, BOB, TEAM_B) == (
        "chest-xray belongs to team-a; only that team can record versions of it.",
        "Ask a member of that team.",
    )


def test_selections_alone_make_no_newest_version(rig: Rig) -> None:
    def work(session: Session) -> None:
        dataset = add_dataset(session)
        for name in ("train-only", "masses"):
            add_version(session, dataset, name, selected_from="v1")

    rig.do(work)
    with pytest.raises(NotFoundError) as caught:
        rig.do(lambda s: rig.service.find_version(s, "team-a", Reference("chest-xray")))
    assert (caught.value.message, caught.value.hint) == (
        "chest-xray has no version of its whole source yet.",
        "`/dataset version chest-xray` records one. Its selections: masses, train-only.",
    )


def test_one_version_is_recorded_at_a_time(rig: Rig) -> None:
    rig.add()
    rig.version()
    rig.pass_time(minutes=2)
    select(rig)
    said = refusal(rig, ConflictError, NewSelection(Selection("v1", PATHS), "other"))
    assert said[0] == f"<@{ALICE}> is already recording chest-xray@pngs."


_RECORDED = f"""\
✅ chest-xray@pngs · Recorded
  Source         `s3://lake/chest-xray/`
  Store          `lake`
  Selected from  `chest-xray@v1`
  Paths          `train/` or `val/*.png`
  Labels         `split=train,val`, by `labels.csv`
  Requested by   Alice
  Requested      2026-11-21 12:02 UTC
  Objects        2
  Size           1.5 MB (1,500,000 bytes)
  Duration       40s
  Digest         `{OTHER_DIGEST}`
  Parents        v1
  Note           for a first try"""
