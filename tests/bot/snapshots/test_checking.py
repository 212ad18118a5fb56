"""What `quartermaster doctor` says of snapshots."""

from bot.snapshots.checking import checks
from playground.cluster.story import snapshot_class
from tests.bot.snapshots.rig import Rig


def said(rig: Rig) -> list[tuple[str, str, str]]:
    found = checks(rig.settings(), rig.cluster)
    return [(each.about, each.state, each.says) for each in found]


def test_rights_and_classes_are_looked_at(rig: Rig) -> None:
    assert said(rig) == [
        ("cluster default snapshots", "ok", "all 8 rights for them are granted"),
        (
            "cluster default snapshots of csi.playground",
            "ok",
            "are taken by class csi-snapclass",
        ),
    ]
    rig.world.create("volumesnapshotclasses", snapshot_class("silver"))
    assert said(rig)[1] == (
        "cluster default snapshots of csi.playground",
        "failed",
        (
            "The cluster has 2 default VolumeSnapshotClasses for csi.playground: csi-snapclass,"
            " silver"
        ),
    )
    rig.world.forbid("create", "volumesnapshots")
    assert said(rig) == [
        (
            "cluster default snapshots",
            "failed",
            ("missing: create volumesnapshots in team-a, create volumesnapshots in team-b"),
        )
    ]
