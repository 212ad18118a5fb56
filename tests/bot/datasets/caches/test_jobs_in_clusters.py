"""Surveys, uploads and removals of copies in several clusters: where their Jobs run."""

from collections import Counter
from typing import Any

import pytest
from sqlmodel import Session, col, select

from bot.audit import AuditLine
from bot.config import Settings
from bot.datasets.caches.refreshing import refresh
from bot.datasets.finding import Reference
from bot.datasets.pushes.card import PushRenderer
from bot.datasets.pushes.plan import PushRequest
from bot.datasets.pushes.service import PushService
from bot.datasets.selection import Selection
from bot.datasets.service import NewSelection
from bot.datasets.tables import Push, Version, VersionPhase
from bot.errors import UserError
from bot.slack.card import Reply
from bot.slack.text import as_text
from playground.cluster.story import claim, storage_class
from tests.bot.datasets.caches.clusters import TwoCaching, policy
from tests.bot.datasets.caches.filling import settings
from tests.bot.datasets.caches.rows import add_cache, add_dataset, add_version
from tests.bot.datasets.rig import DONE, IMAGE, OTHER_DIGEST
from tests.bot.datasets.test_selections import select as select_files
from tests.bot.ground import TEAM_A

EAST = [("east", "datasets-east")]
COPIED = DONE | {"digest": OTHER_DIGEST, "copy": "made", "copied_files": 3, "copied_bytes": 2_500}
PUSHED = DONE | {"copied_files": 3, "copied_bytes": 2_500_000, "verified_by": {"md5": 3}}


def says(two: TwoCaching, last: dict[str, Any]) -> None:
    """How the next Jobs go in both clusters."""
    two.says(last, seconds=20)
    two.other.behaviours[IMAGE] = two.world.behaviours[IMAGE]


def recorded(two: TwoCaching, cluster: str = "", **more: Any) -> str:
    """A survey that ended."""
    version_id = two.version(cluster=cluster, **more)
    two.pass_time(minutes=2)
    return version_id


def fact(text: str, name: str) -> str:
    """What a card says after a name."""
    found = (each.split() for each in text.splitlines())
    return next((" ".join(words[1:]) for words in found if words[:1] == [name]), "")


def test_survey_runs_in_the_named_cluster(two: TwoCaching) -> None:
    says(two, DONE | {"digest": OTHER_DIGEST})
    version_id = two.version("v4", cluster="east")
    two.pass_time(seconds=10)
    assert two.places("jobs") == EAST
    (job,) = two.other.list("jobs", "datasets-east")
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "fills"
    two.pass_time(minutes=2)
    row = two.get(version_id)
    assert (row.phase, row.cluster, row.namespace) == ("ready", "east", "datasets-east")
    assert fact(two.card(version_id), "Cluster") == "east"
    facts = two.do(lambda session: session.exec(select(AuditLine.facts)).all())[-1]
    assert facts == {"name": "chest-xray@v4", "cluster": "east"}


def test_selection_runs_in_the_named_cluster(two: TwoCaching) -> None:
    selection = Selection("v3", ("train/",))
    version_id = select_files(two, NewSelection(selection, "train", cluster="east"))
    two.pass_time(seconds=10)
    assert two.places("jobs") == EAST
    two.pass_time(minutes=2)
    row = two.get(version_id)
    assert (row.cluster, row.namespace) == ("east", "datasets-east")
    facts = two.do(lambda session: session.exec(select(AuditLine.facts)).all())[-1]
    assert facts == {
        "name": "chest-xray@train",
        "selection": "--from v3 --path train/",
        "cluster": "east",
    }


def test_survey_runs_where_the_newest_version_was_recorded(two: TwoCaching) -> None:
    assert two.get(recorded(two)).cluster == "default"
    says(two, DONE | {"digest": OTHER_DIGEST})
    recorded(two, "east", name="v4")
    assert two.get(recorded(two)).cluster == "east"
    assert two.get(recorded(two, "default")).cluster == "default"
    two.policy = settings()
    version_id = recorded(two)
    assert two.get(version_id).cluster == "default"
    assert fact(two.card(version_id), "Cluster") == ""


def test_selections_do_not_move_the_next_surveys(two: TwoCaching) -> None:
    """By paths alone, its pod need not have reached the store."""
    recorded(two)
    says(two, DONE | {"digest": OTHER_DIGEST})
    selection = Selection("v3", ("train/",))
    there = select_files(two, NewSelection(selection, "train", cluster="east"))
    two.pass_time(minutes=2)
    assert (two.get(there).phase, two.get(there).cluster) == (VersionPhase.READY, "east")
    assert two.get(recorded(two)).cluster == "default"
    assert put(two).cluster == "default"


def test_clusters_without_datasets_are_refused(two: TwoCaching) -> None:
    with pytest.raises(UserError) as caught:
        two.version(cluster="lab")
    assert (caught.value.message, caught.value.hint) == (
        "Datasets are in clusters default and east, not in cluster lab.",
        "Name one of these that your team has, or omit `--cluster`.",
    )
    with pytest.raises(UserError) as caught:
        put(two, cluster="lab")
    assert caught.value.hint == "Name one of these that your team has, or omit `--cluster`."
    two.policy = settings()
    with pytest.raises(UserError) as caught:
        two.version(cluster="east")
    assert (caught.value.message, caught.value.hint) == (
        "Datasets are in cluster default, not in cluster east.", "Omit `--cluster`.",
    )  # fmt: skip


def test_unreachable_cluster_holds_up_its_surveys_alone(two: TwoCaching) -> None:
    two.other.faults.unavailable = True
    there = two.version(cluster="east")
    two.pass_time(minutes=2)
    assert two.get(there).phase == VersionPhase.ASKED
    assert "on cluster east: 503 ServiceUnavailable" in two.get(there).trouble
    two.other.faults.unavailable = False
    two.pass_time(minutes=10)
    assert two.get(there).phase == VersionPhase.UNCHANGED


def test_new_content_is_looked_for_in_each_cluster(two: TwoCaching) -> None:
    """Three at a time in each, so that one that does not respond holds up no other."""
    two.policy = policy(refresh="1d")
    for number in range(10):
        name = f"lane-{number}"

        def add(
            session: Any, name: str = name, cluster: str = ("default", "east")[number % 2]
        ) -> None:
            version = add_version(session, add_dataset(session, name))
            version.cluster = cluster
            add_cache(session, version)

        two.do(add)
    two.leap(days=2)
    two.do(lambda session: refresh(two.policy, session, two.clock.now()))
    looks = select(Version.cluster).where(col(Version.is_refresh).is_(True))
    found = Counter(two.do(lambda session: session.exec(looks).all()))
    assert found == {"default": 3, "east": 3}


def removed(two: TwoCaching, version: str) -> str:
    """Alice removes the copy of a version; the id of the row."""
    by, now = two.caller(), two.clock.now()

    def remove(session: Session) -> str:
        found = two.service.find_version(session, "team-a", Reference("chest-xray", version))
        return two.service.copies.remove(session, by, found, now).id

    return two.do(remove)


@pytest.mark.parametrize(("later", "cluster"), [(policy(), "east"), (settings(), "default")])
def test_copies_are_removed_where_datasets_are(
    two: TwoCaching, later: Settings, cluster: str
) -> None:
    says(two, COPIED)
    recorded(two, "east", name="v4", has_copy=True)
    two.policy = later
    sweep_id = removed(two, "v4")
    two.pass_time(seconds=10)
    assert [name for name, _ in two.places("jobs")] == [cluster]
    sweep = two.get(sweep_id)
    assert (sweep.cluster, sweep.namespace) == (
        cluster, "datasets-east" if cluster == "east" else "datasets"
    )  # fmt: skip


def test_copies_are_removed_where_the_newest_version_is(two: TwoCaching) -> None:
    says(two, COPIED)
    recorded(two, "east", name="v4", has_copy=True)
    says(two, DONE | {"digest": "sha256:" + 64 * "c"})
    recorded(two, "default", name="v5")
    sweep = two.get(removed(two, "v4"))
    assert (sweep.cluster, sweep.namespace) == ("default", "datasets")


def put(two: TwoCaching, **more: Any) -> Push:
    """Alice has a push from her computer prepared."""
    pushes = PushService(two.settings, two.clusters, two.words)
    fields = {"claim": "", "folder": "", "target": "", "dataset": "chest-xray"}
    by, asked, now = two.caller(), PushRequest(**(fields | more)), two.clock.now()
    return two.do(lambda session: pushes.put(session, by, asked, now))


def shown(two: TwoCaching, push: Push) -> str:
    renderer = PushRenderer(two.clock, two.settings)
    card = two.do(lambda session: renderer.card(session, push.id, TEAM_A))
    return as_text(Reply(card=card))


def test_uploads_arrive_in_the_named_cluster(two: TwoCaching) -> None:
    says(two, PUSHED | {"digest": OTHER_DIGEST})
    push = put(two, cluster="east", version="v4")
    two.pass_time(seconds=10)
    (job,) = two.other.list("jobs", "datasets-east")
    pod = job["spec"]["template"]["spec"]
    assert (pod["containers"][0]["args"][0], pod["serviceAccountName"]) == ("receive", "fills")
    assert fact(shown(two, push), "Cluster") == "east"
    two.pass_time(minutes=4)
    version = two.get(two.do(lambda session: session.get_one(Push, push.id)).version_id or "")
    assert (version.reference, version.phase, version.cluster) == (
        "chest-xray@v4", VersionPhase.READY, "east",
    )  # fmt: skip
    assert put(two).cluster == "east"
    new = put(two, dataset="faces", target="s3://lake/faces/")
    assert (new.cluster, new.namespace) == ("default", "datasets")


@pytest.mark.parametrize(("later", "cluster"), [(policy(), "east"), (settings(), "default")])
def test_pushes_are_recorded_in_their_cluster(
    two: TwoCaching, later: Settings, cluster: str
) -> None:
    nfs = storage_class("nfs", seconds=0) | {"provisioner": "nfs.csi.k8s.io"}
    two.other.create("storageclasses", nfs)
    body = claim("results")
    body["spec"] |= {"accessModes": ["ReadWriteMany"], "storageClassName": "nfs"}
    two.other.create("persistentvolumeclaims", body, "team-a")
    two.look()
    says(two, PUSHED | {"digest": OTHER_DIGEST})
    pushes = PushService(two.settings, two.clusters, two.words)
    asked = PushRequest("results", "/run-7", "s3://lake/run-7/", dataset="runs", cluster="east")
    two.hear_claims()
    by, now = two.caller(), two.clock.now()
    push = two.do(lambda session: pushes.begin(session, by, asked, now))
    two.pass_time(seconds=10)
    two.policy = later
    two.pass_time(minutes=5)
    found = two.do(lambda session: session.get_one(Push, push.id))
    assert (found.phase, found.unrecorded) == ("pushed", "")
    assert two.get(found.version_id or "").cluster == cluster
