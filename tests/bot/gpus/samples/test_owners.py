"""Series of those who hold GPUs are made once, whoever meets them first."""

from dataclasses import replace

from bot.database.database import Database
from bot.gpus.samples.owners import Owner, ids_of
from bot.gpus.samples.pods import NewPod, end_pods, keep_pods, known_pods, live_pods
from bot.gpus.tables import What

LANE = Owner(What.RUN, "default", team="team-a", run_id="r1", name="lane", gpu_type="h100")
OTHER = Owner(What.OTHER, "default", namespace="x", name="by-hand")


def test_an_owner_keeps_the_same_series(database: Database) -> None:
    first = database.transaction(lambda session: ids_of(session, {LANE}))
    again = database.transaction(lambda session: ids_of(session, {LANE, OTHER}))
    moved = database.transaction(lambda session: ids_of(session, {replace(LANE, pool="b")}))
    assert again[LANE] == first[LANE]
    assert len({*again.values(), *moved.values()}) == 3


def test_a_pod_met_twice_is_one(database: Database) -> None:
    ids = database.transaction(lambda session: ids_of(session, {LANE}))
    pod = NewPod("uid", "team-a", "lane-x", 2000, LANE)
    new = [(pod, ids[LANE])]
    database.transaction(lambda session: keep_pods(session, "default", new, 5, 9))
    database.transaction(lambda session: keep_pods(session, "default", new, 10, None))
    assert list(database.read(lambda session: live_pods(session, "default"))) == ["uid"]
    database.transaction(lambda session: end_pods(session, "default", ["uid"], 20))
    assert database.read(lambda session: live_pods(session, "default")) == {}
    assert list(database.read(lambda session: known_pods(session, "default", 20))) == [
        ("team-a", "lane-x")
    ]
    assert database.read(lambda session: known_pods(session, "default", 21)) == {}
