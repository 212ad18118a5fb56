"""What the doctor says of datasets."""

from bot.config import Settings
from bot.datasets.checking import checks
from bot.findings import Finding
from playground.loopback import free_port
from tests.bot.datasets.caches.keeping import SNAPSHOT_CRD
from tests.bot.datasets.rig import SETTINGS, Rig
from tests.object_stores import Lake


def examined(rig: Rig, settings: Settings) -> list[Finding]:
    datasets = settings.datasets
    assert datasets is not None
    return list(checks(settings, datasets, rig.cluster))


def told(**state: object) -> Settings:
    stores = {"lake": {"secret": "lake-keys", "places": {"team-a": ["s3://lake/"]}}, "state": state}
    return Settings.model_validate(SETTINGS.model_dump() | {"stores": stores})


def reached(lake: Lake, bucket: str) -> Settings:
    credentials = str(lake.credentials)
    settings = told(endpoint=lake.server.endpoint, path_style=True, credentials=credentials)
    datasets = SETTINGS.model_dump()["datasets"] | {"state": f"s3://{bucket}/prod"}
    return Settings.model_validate(settings.model_dump() | {"datasets": datasets})


def test_everything_well_is_said_so(rig: Rig, lake: Lake) -> None:
    bucket = lake.bucket()
    assert examined(rig, reached(lake, bucket)) == [
        Finding("datasets rights", "ok", "all 6 rights are granted"),
        Finding("datasets namespace", "ok", "namespace datasets admits survey Jobs"),
        Finding("datasets pushing", "ok", "all 2 rights are granted"),
        Finding("store lake", "ok", "Secret datasets/lake-keys exists"),
        Finding("store state", "ok", "no Secret is set: pods use their own identity"),
        Finding("datasets state", "ok", f"the bot can read s3://{bucket}/prod/"),
    ]
    assert rig.jobs() == []


def away(lake: Lake) -> Settings:
    return told(endpoint=f"http://127.0.0.1:{free_port()}", credentials=str(lake.credentials))


def test_what_is_missing_has_a_remedy(rig: Rig, lake: Lake) -> None:
    rig.world.delete("secrets", "lake-keys", "datasets")
    found = {each.about: each for each in examined(rig, away(lake)) if each.state != "ok"}
    assert list(found) == ["store lake", "datasets state"]
    assert found["store lake"] == Finding(
        "store lake",
        "failed",
        "Secret datasets/lake-keys does not exist",
        "Create it with access-key-id and secret-access-key, or set stores.lake.secret.",
    )
    gcs = {"lake": {"type": "gcs", "secret": "lake-keys", "shared": ["gs://lake/"]}}
    stores = {"stores": gcs | away(lake).model_dump()["stores"] | gcs}
    settings = Settings.model_validate(away(lake).model_dump() | stores)
    assert examined(rig, settings)[3].remedy == (
        "Create it with the file key.json, or set stores.lake.secret."
    )
    assert found["datasets state"].says == (
        "Reading s3://qm-state/prod/ from store state failed: the store cannot be reached"
        " (NewConnectionError)."
    )


def test_missing_rights_and_namespace_are_told(rig: Rig, lake: Lake) -> None:
    rig.world.forbid("get", "secrets")
    rig.world.forbid("list", "events")
    settings = away(lake).model_dump()
    settings["datasets"]["namespace"] = "nowhere"
    rights, namespace, _, keys = examined(rig, Settings.model_validate(settings))[:4]
    assert (rights.state, rights.says) == ("failed", "missing in nowhere: list events")
    assert (namespace.state, namespace.says) == ("failed", "namespace nowhere does not exist")
    assert keys == Finding(
        "store lake",
        "warning",
        "the bot may not read Secret nowhere/lake-keys",
        "Check it: kubectl get secret -n nowhere lake-keys",
    )


def test_rights_for_sharing_are_looked_at(rig: Rig, lake: Lake) -> None:
    settings = away(lake).model_dump()
    settings["datasets"]["classes"] = {"standard": {}}
    caching = Settings.model_validate(settings)
    rig.world.install("trident")
    well = {each.about: each for each in examined(rig, caching)}["datasets sharing"]
    assert well == Finding("datasets sharing", "ok", "all 9 rights are granted")
    rig.world.forbid("delete", "persistentvolumes")
    rig.world.forbid("get", "tridentvolumereferences")
    ill = {each.about: each for each in examined(rig, caching)}["datasets sharing"]
    assert ill == Finding(
        "datasets sharing",
        "failed",
        (
            "runs cannot read caches from team namespaces: missing delete persistentvolumes, get"
            " tridentvolumereferences in team-a, get tridentvolumereferences in team-b"
        ),
        (
            "Set rights.sharedVolumes (with Trident also rights.trident) in the Helm chart, or"
            " apply deploy/kubernetes/17-datasets.yaml and 20-teams.yaml."
        ),
    )


def test_rights_for_trident_alone_are_warned_of(rig: Rig, lake: Lake) -> None:
    settings = away(lake).model_dump()
    settings["datasets"]["classes"] = {"standard": {}}
    rig.world.install("trident")
    rig.world.forbid("create", "tridentvolumereferences")
    found = examined(rig, Settings.model_validate(settings))
    said = {each.about: each for each in found}["datasets sharing"]
    assert (said.state, said.says) == (
        "warning",
        (
            "runs cannot read caches on Trident volumes: missing create"
            " tridentvolumereferences in team-a, create tridentvolumereferences in team-b"
        ),
    )


def test_rights_for_pushes_are_looked_at(rig: Rig, lake: Lake) -> None:
    rig.world.install("trident")
    well = {each.about: each for each in examined(rig, away(lake))}["datasets pushing"]
    assert well == Finding("datasets pushing", "ok", "all 7 rights are granted")
    rig.world.forbid("patch", "persistentvolumeclaims")
    rig.world.forbid("create", "tridentvolumereferences")
    ill = {each.about: each for each in examined(rig, away(lake))}["datasets pushing"]
    assert ill == Finding(
        "datasets pushing",
        "warning",
        (
            "team PVCs cannot be pushed: missing create tridentvolumereferences in datasets,"
            " patch persistentvolumeclaims in team-a, patch persistentvolumeclaims in team-b"
        ),
        (
            "Set rights.sharedVolumes (with Trident also rights.trident) in the Helm chart, or"
            " apply deploy/kubernetes/17-datasets.yaml and 20-teams.yaml."
        ),
    )


def test_rights_for_pushing_snapshots_are_asked(rig: Rig, lake: Lake) -> None:
    rig.world.install("snapshots")
    well = {each.about: each for each in examined(rig, away(lake))}["pushing snapshots"]
    assert well == Finding("pushing snapshots", "ok", "all 7 rights are granted")
    rig.world.forbid("create", "volumesnapshotcontents")
    rig.world.forbid("delete", "volumesnapshots")
    ill = {each.about: each for each in examined(rig, away(lake))}["pushing snapshots"]
    assert ill == Finding(
        "pushing snapshots",
        "warning",
        (
            "snapshots cannot be pushed: missing create volumesnapshotcontents, delete"
            " volumesnapshots in datasets"
        ),
        (
            "Set rights.snapshotPushes in the Helm chart, or apply"
            " deploy/kubernetes/17-datasets.yaml to the namespace in datasets.namespace."
        ),
    )


def test_the_right_to_see_snapshots_is_asked(rig: Rig, lake: Lake) -> None:
    settings = away(lake).model_dump()
    settings["datasets"]["classes"] = {"standard": {}}
    caching = Settings.model_validate(settings)
    rig.world.create("customresourcedefinitions", SNAPSHOT_CRD)
    rig.pass_time(seconds=2)
    found = {each.about: each.state for each in examined(rig, caching)}
    assert found["dataset snapshots"] == "ok"
    rig.world.forbid("list", "volumesnapshots")
    found = {each.about: each.state for each in examined(rig, caching)}
    assert found["dataset snapshots"] == "failed"
