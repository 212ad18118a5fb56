"""The verbs of datasets: who may do what, and what is said to those who may not."""

import pytest

from bot.audit import lines_about
from bot.datasets.finding import Reference
from bot.datasets.service import NewDataset
from bot.datasets.tables import Version, VersionPhase
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError, UserError
from tests.bot.datasets.rig import SETTINGS, Rig
from tests.bot.ground import ALICE, BOB, ERIN, TEAM_B


def refusal(rig: Rig, kind: type[UserError], asked: NewDataset, person: str = ALICE) -> str:
    by = rig.caller(person, TEAM_B if person == BOB else "C0TEAMA")
    with pytest.raises(kind) as caught:
        rig.do(lambda session: rig.service.add(session, by, asked, rig.clock.now()))
    return f"{caught.value.message} {caught.value.hint}"


def found(rig: Rig, reference: Reference) -> Version:
    return rig.do(lambda session: rig.service.find_version(session, "team-a", reference))


def test_a_dataset_is_added_with_its_audit(rig: Rig) -> None:
    row = rig.add(source="s3://lake/chest-xray", readers=("team-b", "team-a"))
    assert (row.source, row.store, row.readers) == ("s3://lake/chest-xray/", "lake", ["team-b"])
    (line,) = rig.do(lambda session: lines_about(session, row.id))
    assert (line.verb, line.person, line.team) == ("dataset.add", ALICE, "team-a")
    assert line.facts == {
        "name": "chest-xray",
        "store": "lake",
        "source": "s3://lake/chest-xray/",
        "readers": "team-b",
    }


@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        (
            {"store": "lak"},
            NotFoundError,
            "There is no store lak. Did you mean lake?",
        ),
        (
            {"store": "state"},
            NotAllowedError,
            (
                "team-a may not read s3://lake/x/. team-a may use s3://lake/ in store lake. A"
                " platform admin sets the places of teams in stores.NAME.places of"
                " quartermaster.yaml."
            ),
        ),
        (
            {"readers": ("team-bb",)},
            NotFoundError,
            "There is no team team-bb. Did you mean team-b?",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    rig: Rig, more: dict[str, object], kind: type[UserError], said: str
) -> None:
    fields: dict[str, object] = {"source": "s3://lake/x/", **more}
    assert refusal(rig, kind, NewDataset("x", **fields)) == said  # type: ignore[arg-type]


def test_a_store_is_for_named_teams_alone(rig: Rig) -> None:
    asked = NewDataset("mine", "s3://lake/mine/")
    assert refusal(rig, NotAllowedError, asked, BOB) == (
        "team-b may not use any object store."
        " A platform admin sets the places of teams in stores.NAME.places of quartermaster.yaml."
    )


def test_several_stores_must_be_told_apart(rig: Rig) -> None:
    both = {
        name: store.model_copy(update={"places": {"team-a": ("s3://lake/",)}})
        for name, store in SETTINGS.stores.items()
    }
    rig.policy = SETTINGS.model_copy(update={"stores": both})
    assert refusal(rig, UsageError, NewDataset("x", "s3://lake/x/")) == (
        "team-a may use s3://lake/x/ in several stores. Add --store with one of: lake, state."
    )


def test_names_are_taken_for_all_teams(rig: Rig) -> None:
    rig.add()
    asked = NewDataset("chest-xray", "s3://lake/other/")
    assert refusal(rig, ConflictError, asked) == (
        "Dataset chest-xray already exists: s3://lake/chest-xray/ of team-a. `/dataset show"
        " chest-xray` shows it. Choose another name for yours."
    )
    places = {"team-a": ("s3://lake/",), "team-b": ("s3://lake/team-b/",)}
    lake = SETTINGS.stores["lake"].model_copy(update={"places": places})
    rig.policy = SETTINGS.model_copy(update={"stores": SETTINGS.stores | {"lake": lake}})
    theirs = NewDataset("chest-xray", "s3://lake/team-b/chest-xray/")
    assert refusal(rig, ConflictError, theirs, BOB) == (
        "The name chest-xray is taken by a dataset of another team. Choose another name."
    )


def test_without_configuration_there_are_no_datasets(rig: Rig) -> None:
    rig.policy = SETTINGS.model_copy(update={"datasets": None})
    assert refusal(rig, ConflictError, NewDataset("x", "s3://lake/x/")) == (
        "Datasets are not configured. A platform admin must add `stores` and `datasets` to"
        " quartermaster.yaml (see docs/datasets.md)."
    )


@pytest.mark.parametrize(
    ("readers", "is_seen"), [((), False), (("team-b",), True), (("everyone",), True)]
)
def test_only_readers_see_a_dataset(rig: Rig, readers: tuple[str, ...], is_seen: bool) -> None:  # noqa: FBT001 - one of a table
    rig.add(readers=readers)
    listed = rig.do(lambda session: rig.service.listing(session, "team-b"))
    assert [each.dataset.name for each in listed] == (["chest-xray"] if is_seen else [])


def test_misspelled_names_get_a_suggestion(rig: Rig) -> None:
    rig.add()
    with pytest.raises(NotFoundError) as caught:
        rig.do(lambda session: rig.service.find(session, "team-a", "chest-xry"))
    assert (caught.value.message, caught.value.hint) == (
        "There is no dataset chest-xry for team-a.",
        "Did you mean chest-xray?",
    )


def test_versions_are_found_by_their_names(rig: Rig) -> None:
    rig.add()
    first = rig.version(name="delivered")
    rig.pass_time(minutes=2)
    named = found(rig, Reference("chest-xray", "delivered"))
    newest = found(rig, Reference("chest-xray"))
    assert (named.id, newest.id) == (first, first)
    with pytest.raises(NotFoundError) as caught:
        found(rig, Reference("chest-xray", "deliverd"))
    assert caught.value.hint == "Did you mean chest-xray@delivered?"


def test_a_named_version_is_never_recorded_again(rig: Rig) -> None:
    rig.add()
    rig.version(name="v1")
    rig.pass_time(minutes=2)
    with pytest.raises(ConflictError) as caught:
        rig.version(name="v1")
    assert (caught.value.message, caught.value.hint) == (
        "chest-xray already has a version v1, and a named version never changes.",
        "Choose another name. v2 is free.",
    )


def test_one_survey_of_a_dataset_at_once(rig: Rig) -> None:
    rig.add()
    rig.version()
    rig.pass_time(seconds=20)
    with pytest.raises(ConflictError) as caught:
        rig.version(person=ERIN)
    assert caught.value.message == (f"<@{ALICE}> is already recording chest-xray@v1.")
    assert rig.effects() == ["create jobs"]


def test_readers_cannot_record_versions(rig: Rig) -> None:
    rig.add(readers=("team-b",))
    with pytest.raises(NotAllowedError) as caught:
        rig.version(person=BOB, channel=TEAM_B)
    assert caught.value.message == (
        "chest-xray belongs to team-a; only that team can record versions of it."
    )


def test_removing_frees_the_name_and_nothing_else(rig: Rig) -> None:
    row = rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=2)
    by = rig.caller()
    rig.do(lambda session: rig.service.remove(session, by, row, rig.clock.now()))
    assert rig.get(version_id).phase == VersionPhase.READY
    assert rig.add().id != row.id


def test_others_things_are_removed_by_leads(rig: Rig) -> None:
    erin, alice = rig.caller(ERIN), rig.caller()

    asked = NewDataset("x", "s3://lake/x/")
    row = rig.do(lambda session: rig.service.add(session, erin, asked, rig.clock.now()))
    with pytest.raises(NotAllowedError) as caught:
        rig.do(lambda session: rig.service.remove(session, alice, row, rig.clock.now()))
    assert caught.value.message == f"x was added by <@{ERIN}>."
    mine = rig.add("y")
    rig.do(lambda session: rig.service.remove(session, erin, mine, rig.clock.now()))
    assert rig.do(lambda session: len(rig.service.listing(session, "team-a"))) == 1
