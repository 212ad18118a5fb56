"""Teams that were created in Slack, whose database was lost: they are settings again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.cluster import labels
from bot.config import Settings, TeamRows
from bot.database.database import Database
from bot.teams.record import teams_of_slack
from playground.cluster.kai_story import kai_cluster
from playground.cluster.story import plain_cluster
from tests.bot.adopting.rig import adopt, lose
from tests.bot.ground import ALICE, ERIN, INSTALLATION, TEAM_A, Outside
from tests.bot.teams.teaming import (
    VISION,
    OnKai,
    OnNone,
    OnRunai,
    Teaming,
    opened_on_runai,
)

TITLE = (
    f"  vision: namespace vision, channels {VISION}, leads {ERIN}, members {ALICE} S0GROUP on"
    " default"
)
BY_HAND = "Add the team to quartermaster.yaml, and run this command again."


@pytest.fixture
def teaming(own_database: Database, outside: Outside) -> Teaming:
    return Teaming(own_database, outside)


@pytest.fixture(params=["kueue", "kai", "none"])
def any_engine(
    request: pytest.FixtureRequest, own_database: Database, tmp_path: Path
) -> Iterator[Teaming]:
    made: dict[str, Any] = {"kai": (OnKai, kai_cluster), "none": (OnNone, plain_cluster)}
    rig, cluster = made.get(request.param, (Teaming, None))
    outside = Outside(tmp_path, *filter(None, [cluster]))
    yield rig(own_database, outside)
    outside.close()


@pytest.fixture
def on_runai(own_database: Database, tmp_path: Path) -> Iterator[OnRunai]:
    with opened_on_runai(own_database, tmp_path) as rig:
        yield rig


def created(rig: Teaming) -> dict[str, Any]:
    """Team vision with its channel and people; what quartermaster.yaml would say of it."""
    rig.created(channel=VISION, members=(ALICE, "S0GROUP"), leads=(ERIN,))
    return dict(said(rig)["vision"])


def said(rig: Teaming) -> TeamRows:
    return rig.do(lambda session: teams_of_slack(session, "T0QM"))


def changed(rig: Teaming, plural: str, namespace: str = "", **metadata: Any) -> None:
    """Somebody changes the metadata of an object of the team."""
    rig.world.patch(plural, "vision", {"metadata": metadata}, namespace)


def refused(rig: Teaming) -> str:
    """Why the team is not adopted."""
    title, line = adopt(rig)
    assert (title, said(rig)) == ("Not adopted:", {})
    name, _, why = line.partition(": ")
    assert name == "  Team vision on default"
    return why


def test_an_adopted_team_is_one_of_the_settings(any_engine: Teaming, tmp_path: Path) -> None:
    before = created(any_engine)
    lose(any_engine, tmp_path)
    assert "vision" not in any_engine.settings().teams
    assert adopt(any_engine, is_trial=True) == ["Teams to adopt:", TITLE]
    assert said(any_engine) == {}
    assert adopt(any_engine) == ["Adopted teams:", TITLE]
    assert adopt(any_engine) == ["Known already: 1 team."]
    assert said(any_engine) == {"vision": before}
    assert any_engine.settings().teams["vision"].members.people == (ALICE,)


def test_an_adopted_team_is_removed_as_any_other(any_engine: Teaming, tmp_path: Path) -> None:
    created(any_engine)
    lose(any_engine, tmp_path)
    adopt(any_engine)
    row_id = any_engine.remove()
    any_engine.pass_time(seconds=10)
    any_engine.decides(row_id)
    any_engine.pass_time(minutes=2)
    assert "vision" not in any_engine.names("namespaces")
    assert said(any_engine) == {}


def test_teams_of_runai_are_not_found(on_runai: OnRunai, tmp_path: Path) -> None:
    on_runai.created()
    description = on_runai.plane.tenant.projects["vision"]["description"]
    assert labels.RECORD not in description
    marks = {labels.INSTALLATION: INSTALLATION, labels.MANAGED_BY: labels.MANAGER}
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"metadata": {"name": "left", "labels": marks}, "spec": spec}
    on_runai.world.create("persistentvolumeclaims", body, "vision")
    lose(on_runai, tmp_path)
    assert adopt(on_runai) == [
        "Not adopted:",
        (
            "  PersistentVolumeClaim vision/left on default: An object that this database does not"
            " know. Nothing deletes it."
        ),
        (
            "The queues of cluster default have no annotations, so it is not known which quotas"
            " are raised. Compare them, and set them back by hand. Teams that were created in"
            " Slack there are not known either: add them to quartermaster.yaml."
        ),
    ]


def test_a_team_asked_for_twice_is_adopted(teaming: Teaming, tmp_path: Path) -> None:
    """The first request failed on the way, and the second used what it had created."""
    asked: dict[str, Any] = {"channel": VISION, "members": (ALICE, "S0GROUP"), "leads": (ERIN,)}
    teaming.fails("clusterqueues", **asked)
    before = created(teaming)
    lose(teaming, tmp_path)
    assert adopt(teaming) == ["Adopted teams:", TITLE]
    assert said(teaming) == {"vision": before}


def test_a_team_of_an_earlier_release_is_named(teaming: Teaming, tmp_path: Path) -> None:
    created(teaming)
    changed(teaming, "clusterqueues", annotations={labels.RECORD: None})
    lose(teaming, tmp_path)
    assert refused(teaming) == (
        "Its objects have no annotation quartermaster.dev/record that this version can read: an"
        f" earlier release created them. {BY_HAND}"
    )


def test_a_team_without_its_namespace_is_refused(teaming: Teaming, tmp_path: Path) -> None:
    created(teaming)
    teaming.world.delete("localqueues", "vision", "vision")
    lose(teaming, tmp_path)
    assert refused(teaming) == f"LocalQueue vision/vision does not exist. {BY_HAND}"


def test_one_forged_record_makes_no_lead(teaming: Teaming, tmp_path: Path) -> None:
    created(teaming)
    queue = teaming.found("clusterqueues")
    record = msgspec.json.decode(queue["metadata"]["annotations"][labels.RECORD])
    record["said"]["leads"] = {"people": ["U0MALLORY"], "groups": []}
    text = msgspec.json.encode(record).decode()
    changed(teaming, "clusterqueues", annotations={labels.RECORD: text})
    lose(teaming, tmp_path)
    assert refused(teaming) == (f"Namespace vision says something else of the team. {BY_HAND}")


def test_an_object_of_others_makes_no_team(teaming: Teaming, tmp_path: Path) -> None:
    created(teaming)
    changed(teaming, "namespaces", labels={labels.INSTALLATION: "fedcba9876543210"})
    lose(teaming, tmp_path)
    assert refused(teaming) == f"Namespace vision is not as it was created for this team. {BY_HAND}"


def test_a_team_that_the_file_has_stays_there(teaming: Teaming, tmp_path: Path) -> None:
    before = created(teaming)
    lose(teaming, tmp_path)
    teams = teaming.policy.model_dump(exclude_unset=True)["teams"] | {"vision": before}
    teaming.policy = teaming.told(teams=teams)
    assert refused(teaming) == (
        "quartermaster.yaml names it, and counts. `/team remove` leaves it alone."
    )


def test_the_namespace_of_another_team_is_refused(teaming: Teaming, tmp_path: Path) -> None:
    created(teaming)
    lose(teaming, tmp_path)
    own = {"channels": [TEAM_A], "namespace": "vision", "local_queue": "vision"}
    policy: Settings = teaming.told(teams={"team-a": own})
    teaming.policy = policy
    assert refused(teaming) == f"Namespace vision belongs to team team-a. {BY_HAND}"


@pytest.mark.parametrize("name", ["a/b?c", "x" * 300, ".", ""])
def test_no_forged_queue_hides_a_team(teaming: Teaming, tmp_path: Path, name: str) -> None:
    """Who may create LocalQueues in a namespace writes the name of an object nobody can ask for."""
    created(teaming)
    named: dict[str, Any] = {"kind": "Namespace", "name": name, "namespace": None, "body": {}}
    text = {"said": {}, "objects": [named], "change_id": "x", "asked_at": "2026-11-21T12:00:00Z"}
    forged = {
        "metadata": {
            "name": "forged",
            "labels": {labels.INSTALLATION: INSTALLATION, labels.TEAM: "forged"},
            "annotations": {labels.RECORD: msgspec.json.encode(text).decode()},
        },
        "spec": {"clusterQueue": "team-a"},
    }
    teaming.world.create("localqueues", forged, "team-a")
    lose(teaming, tmp_path)
    title, adopted, other, why = adopt(teaming)
    assert [title, adopted, other] == ["Adopted teams:", TITLE, "Not adopted:"]
    assert why.startswith("  Team forged on default: ")
    assert why.endswith(BY_HAND)
    assert set(said(teaming)) == {"vision"}
