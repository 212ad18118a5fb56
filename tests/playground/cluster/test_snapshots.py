"""Snapshots of volumes, with what was on them, as the sidecars of CSI drivers make them."""

from pathlib import Path
from typing import Any

import pytest

from playground.cluster.story import snapshot_class, storage_class
from tests.playground.cluster.served import Object, Served
from tests.playground.cluster.test_storage import CLAIMS, claim, found, offers, told

GROUP = "/apis/snapshot.storage.k8s.io/v1"
SNAPSHOTS = f"{GROUP}/namespaces/team-a/volumesnapshots"
CONTENTS = f"{GROUP}/volumesnapshotcontents"
PREFIX = "snapshot.storage.kubernetes.io/"


@pytest.fixture
def kept(served: Served, tmp_path: Path) -> Served:
    """A cluster with a claim `data` on which is a file, and snapshots of it."""
    served.cluster.programs.folder = tmp_path
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    offers(served, seconds=0)
    served.cluster.create("persistentvolumeclaims", claim(), "team-a")
    write(served, "monday")
    return served


def write(served: Served, text: str) -> None:
    folder = served.cluster.programs.volume("team-a", "data")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labels.csv").write_text(text, encoding="utf-8")


def read(served: Served, name: str) -> str:
    folder = served.cluster.programs.volume("team-a", name)
    return (folder / "labels.csv").read_text(encoding="utf-8")


def snapshot(name: str = "monday", source: str = "data", kind: str | None = None) -> Object:
    spec: Object = {"source": {"persistentVolumeClaimName": source}}
    spec |= {} if kind is None else {"volumeSnapshotClassName": kind}
    return {"metadata": {"name": name}, "spec": spec}


def restored(name: str, size: str = "100Gi", wants: str = "fast", kind: str = "") -> Object:
    body = claim(name, wants)
    body["spec"]["resources"]["requests"]["storage"] = size
    group = {"apiGroup": "snapshot.storage.k8s.io"} if not kind else {}
    source = {**group, "kind": kind or "VolumeSnapshot", "name": "data" if kind else "monday"}
    body["spec"]["dataSourceRef"] = source
    return body


def seen(served: Served, name: str = "monday") -> Any:
    return served.get(f"{SNAPSHOTS}/{name}")


def test_snapshot_shows_its_own_moment(kept: Served) -> None:
    kept.post(SNAPSHOTS, snapshot())
    assert "status" not in seen(kept)
    kept.pass_time(2)
    taken = seen(kept)
    assert (taken["status"]["readyToUse"], taken["status"]["restoreSize"]) == (False, "100Gi")
    assert taken["spec"]["volumeSnapshotClassName"] == "csi-snapclass"
    assert f"{PREFIX}pvc-as-source-protection" in found(kept)["metadata"]["finalizers"]
    write(kept, "tuesday")
    kept.pass_time(5)
    assert seen(kept)["status"]["readyToUse"] is True
    assert f"{PREFIX}pvc-as-source-protection" not in found(kept)["metadata"]["finalizers"]
    kept.cluster.create("persistentvolumeclaims", restored("again"), "team-a")
    kept.cluster.create(
        "persistentvolumeclaims", restored("now", kind="PersistentVolumeClaim"), "team-a"
    )
    assert (read(kept, "again"), read(kept, "data"), read(kept, "now")) == (
        "monday", "tuesday", "tuesday",
    )  # fmt: skip


def test_error_stays_until_it_is_mended(kept: Served) -> None:
    kept.post(SNAPSHOTS, snapshot(kind="gold"))
    kept.pass_time(30)
    assert seen(kept)["status"]["error"]["message"] == (
        "Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io"
        ' "gold" not found'
    )
    kept.cluster.create("volumesnapshotclasses", snapshot_class("gold", seconds=0))
    kept.pass_time(10)
    assert seen(kept)["status"]["readyToUse"] is True
    assert "error" not in seen(kept)["status"]


def test_two_defaults_are_one_too_many(kept: Served) -> None:
    kept.cluster.create("volumesnapshotclasses", snapshot_class("gold"))
    kept.post(SNAPSHOTS, snapshot())
    kept.pass_time(10)
    assert seen(kept)["status"]["error"]["message"] == (
        "Failed to set default snapshot class with error 2 default snapshot classes were found"
    )


def test_failing_driver_is_asked_again(kept: Served) -> None:
    kept.cluster.nature.break_snapshots("csi-snapclass", "rpc error: code = Internal")
    kept.post(SNAPSHOTS, snapshot())
    kept.pass_time(30)
    assert seen(kept)["status"]["error"]["message"].endswith('"rpc error: code = Internal"')
    kept.cluster.delete("persistentvolumeclaims", "data", "team-a")
    assert found(kept)["metadata"]["deletionTimestamp"]
    kept.cluster.nature.mend_snapshots("csi-snapclass")
    kept.pass_time(10)
    assert seen(kept)["status"]["readyToUse"] is True
    assert "data" not in kept.names(CLAIMS)


def test_deletion_follows_the_policy(kept: Served) -> None:
    kept.cluster.create("volumesnapshotclasses", snapshot_class("keeps", policy="Retain"))
    kept.post(SNAPSHOTS, snapshot(kind="csi-snapclass"))
    kept.post(SNAPSHOTS, snapshot("tuesday", kind="keeps"))
    kept.pass_time(10)
    assert len(kept.names(CONTENTS)) == 2
    for name in ("monday", "tuesday"):
        kept.cluster.delete("volumesnapshots", name, "team-a")
        assert seen(kept, name)["metadata"]["deletionTimestamp"]
    kept.pass_time(5)
    assert kept.names(SNAPSHOTS) == []
    (left,) = kept.get(CONTENTS)["items"]
    assert left["spec"]["volumeSnapshotRef"]["name"] == "tuesday"


def test_claim_that_cannot_be_made_says_why(kept: Served) -> None:
    kept.cluster.create("persistentvolumeclaims", restored("early"), "team-a")
    why = (
        'failed to provision volume with StorageClass "fast": error getting handle for DataSource'
        " Type VolumeSnapshot by Name monday: "
    )
    missing = 'error getting snapshot monday from api server: "monday" not found'
    assert ("ProvisioningFailed", why + missing) in told(kept, "early")
    kept.post(SNAPSHOTS, snapshot())
    kept.pass_time(10)
    kept.cluster.create("persistentvolumeclaims", restored("small", "1Gi"), "team-a")
    small = (
        "requested volume size 1073741824 is less than the size 107374182400 for the source"
        " snapshot monday"
    )
    assert ("ProvisioningFailed", why + small) in told(kept, "small")
    other = storage_class("other", seconds=0) | {"provisioner": "csi.other"}
    kept.cluster.create("storageclasses", other)
    kept.cluster.create("persistentvolumeclaims", restored("strange", wants="other"), "team-a")
    words = "requested volume driver csi.other does not match the snapshot's driver csi.playground"
    assert any(message.endswith(words) for _, message in told(kept, "strange"))


def by_hand(namespace: str, handle: str) -> tuple[Object, Object]:
    """A content for what the driver has already, and its snapshot."""
    spec = {
        "deletionPolicy": "Retain",
        "driver": "csi.playground",
        "source": {"snapshotHandle": handle},
        "volumeSnapshotRef": {"namespace": namespace, "name": "monday"},
    }
    source = {"volumeSnapshotContentName": "mine"}
    return (
        {"metadata": {"name": "mine"}, "spec": spec},
        {"metadata": {"name": "monday"}, "spec": {"source": source}},
    )


def test_content_by_hand_shows_it_elsewhere(kept: Served) -> None:
    kept.post(SNAPSHOTS, snapshot())
    kept.pass_time(10)
    bound = seen(kept)["status"]["boundVolumeSnapshotContentName"]
    handle = kept.get(f"{CONTENTS}/{bound}")["status"]["snapshotHandle"]
    content, mine = by_hand("team-b", handle)
    kept.cluster.create("volumesnapshotcontents", content)
    kept.cluster.create("volumesnapshots", mine, "team-b")
    kept.cluster.create("persistentvolumeclaims", restored("copy"), "team-b")
    folder = kept.cluster.programs.volume("team-b", "copy")
    assert (folder / "labels.csv").read_text(encoding="utf-8") == "monday"
    kept.cluster.delete("volumesnapshots", "monday", "team-b")
    kept.pass_time(5)
    assert sorted(kept.names(CONTENTS)) == ["mine", bound]
    kept.cluster.delete("volumesnapshotcontents", "mine")
    assert kept.names(CONTENTS) == [bound]


@pytest.mark.parametrize(
    ("namespace", "handle", "said"),
    [
        ("team-b", "snapshot-1", "failed to list snapshot snapshot-1"),
        ("team-c", "snapshot-1", "VolumeSnapshotContent [mine] is bound to a different snapshot"),
    ],
)
def test_content_of_nothing_is_told(kept: Served, namespace: str, handle: str, said: str) -> None:
    content, mine = by_hand(namespace, handle)
    kept.cluster.create("volumesnapshotcontents", content)
    kept.cluster.create("volumesnapshots", mine, "team-b")
    kept.pass_time(5)
    found = kept.get(f"{GROUP}/namespaces/team-b/volumesnapshots/monday")
    assert found["status"]["error"]["message"].endswith(said)
