"""Which places of object stores teams may make datasets of, now and when it is their turn."""

import pytest

from bot.datasets import bounds
from bot.datasets.bounds import StoreUse
from bot.datasets.service import NewDataset
from bot.datasets.tables import VersionPhase
from bot.errors import NotAllowedError, UserError
from tests.bot.datasets.rig import SETTINGS, Rig, with_places
from tests.bot.ground import ALICE, BOB, TEAM_B

OWN = {"team-a": ["s3://lake/team-a/"], "team-b": ["s3://lake/team-b/", "s3://lake/common/"]}
HINT = (
    "team-a may use s3://lake/team-a/ in store lake, s3://lake/public/ in store lake."
    " A platform admin sets the places of teams in stores.NAME.places of quartermaster.yaml."
)


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.policy = with_places(SETTINGS, OWN, "s3://lake/public/")
    return rig


def add(rig: Rig, source: str, person: str = ALICE, name: str = "mine") -> None:
    by = rig.caller(person, TEAM_B if person == BOB else "C0TEAMA")
    asked = NewDataset(name, source, "lake")
    rig.do(lambda session: rig.service.add(session, by, asked, rig.clock.now()))


def refusal(rig: Rig, source: str, person: str = ALICE, name: str = "mine") -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        add(rig, source, person, name)
    return caught.value.message, caught.value.hint


def test_another_scheme_is_another_place(rig: Rig) -> None:
    assert refusal(rig, "gs://lake/team-a/") == ("team-a may not read gs://lake/team-a/.", HINT)


@pytest.mark.parametrize(
    "source", ["s3://lake/team-a", "s3://lake/team-a/x/", "s3://lake/public/imagenet/"]
)
def test_own_and_shared_places_are_taken(rig: Rig, source: str) -> None:
    add(rig, source)


@pytest.mark.parametrize(
    "source",
    [
        "s3://lake/",
        "s3://lake",
        "s3://lake/team-b/",
        "s3://lake/team-ab/",
        "s3://lake/team/",
        "s3://lake/Team-a/",
        "s3://lake/publicity/",
        "s3://lakes/team-a/",
        "s3://other/team-a/",
        "s3://lake/x/team-a/",
    ],
)
def test_any_other_place_is_refused(rig: Rig, source: str) -> None:
    assert refusal(rig, source) == (f"team-a may not read {source}.", HINT)


@pytest.mark.parametrize(
    "source",
    [
        "s3://lake/x/../team-b/",
        "s3://lake/team-a/../team-b/",
        "s3://lake/team-a/%2e%2e/team-b/",
        "s3://lake//team-b/",
        "s3://lake/team-a//x/",
        "s3://LAKE/team-a/",
    ],
)
def test_places_with_two_meanings_are_refused(rig: Rig, source: str) -> None:
    assert refusal(rig, source)[0] == f"{source} can mean several places."


@pytest.mark.parametrize(
    "source", ["s3://qm-state/", "s3://qm-state/prod/", "s3://qm-state/prod/manifests/1/"]
)
def test_the_state_is_for_nobody(rig: Rig, source: str) -> None:
    rig.policy = with_places(SETTINGS, {"team-a": ["s3://qm-state/"]}, "s3://qm-state/")
    said = (
        "s3://qm-state/prod/ is reserved for the bot, which keeps the manifests of versions there."
    )
    assert refusal(rig, source)[0] == said
    add(rig, "s3://qm-state/production/")


def test_datasets_of_others_are_out_of_bounds(rig: Rig) -> None:
    common = {"team-a": ["s3://lake/common/"], "team-b": ["s3://lake/common/"]}
    rig.policy = with_places(SETTINGS, common)
    add(rig, "s3://lake/common/faces/", BOB, "faces")
    for source in ("s3://lake/common/", "s3://lake/common/faces/", "s3://lake/common/faces/val/"):
        assert refusal(rig, source)[0] == (
            f"{source} overlaps a dataset of another team, which team-a may not use."
        )
    add(rig, "s3://lake/common/faces-2/")


def test_nobody_takes_what_was_granted(rig: Rig) -> None:
    rig.policy = with_places(
        SETTINGS, {"team-a": ["s3://lake/team-a/"], "team-b": ["s3://lake/"]}, "s3://lake/public/"
    )
    add(rig, "s3://lake/", BOB, "everything")
    add(rig, "s3://lake/team-a/x/", name="narrower")
    add(rig, "s3://lake/public/imagenet/", name="shared")


def test_versions_need_the_place_still(rig: Rig) -> None:
    add(rig, "s3://lake/team-a/chest-xray/", name="chest-xray")
    rig.policy = with_places(SETTINGS, {"team-a": ["s3://lake/team-a/other/"]})
    with pytest.raises(NotAllowedError) as caught:
        rig.version()
    assert caught.value.message == "team-a may not read s3://lake/team-a/chest-xray/."


def test_surveys_begin_where_allowed_still(rig: Rig) -> None:
    add(rig, "s3://lake/team-a/chest-xray/", name="chest-xray")
    version_id = rig.version()
    rig.policy = with_places(SETTINGS, {"team-b": ["s3://lake/team-a/"]})
    rig.pass_time(minutes=1)
    version = rig.get(version_id)
    assert (version.phase, version.reason) == (
        VersionPhase.FAILED,
        "team-a may not read s3://lake/team-a/chest-xray/.",
    )
    assert rig.jobs() == []


def test_later_datasets_take_nothing_away(rig: Rig) -> None:
    rig.policy = with_places(SETTINGS, {"team-a": ["s3://lake/"], "team-b": ["s3://lake/b/"]})
    add(rig, "s3://lake/", name="chest-xray")
    add(rig, "s3://lake/b/", BOB, "inner")
    rig.pass_time(minutes=1)
    version_id = rig.version()
    rig.pass_time(minutes=2)
    assert rig.get(version_id).phase == VersionPhase.READY


def test_shared_places_are_not_for_writing(rig: Rig) -> None:
    use = StoreUse("team-a", "lake", "s3://lake/public/imagenet/", is_writing=True)
    why = bounds.refusal(rig.policy, use)
    assert why is not None
    assert (why.message, why.hint) == (
        "team-a may not push to s3://lake/public/imagenet/.",
        (
            "team-a may use s3://lake/team-a/ in store lake."
            " A platform admin sets the places of teams in stores.NAME.places of"
            " quartermaster.yaml."
        ),
    )
