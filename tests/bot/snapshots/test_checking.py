"""What `quartermaster doctor` says of snapshots."""

from bot.findings import Finding
from bot.snapshots.checking import checks
from playground.cluster.story import snapshot_class
from tests.bot.snapshots.rig import SNAPSCHEDULER_CRD, Rig


def said(rig: Rig) -> list[tuple[str, str, str]]:
    found = checks(rig.settings(), rig.cluster)
    return [(each.about, each.state, each.says) for each in found]


def test_rights_and_classes_are_looked_at(rig: Rig) -> None:
    assert said(rig) == [
        ("cluster default snapshots", "ok", "all 8 required rights are granted"),
        (
            "cluster default snapshots of csi.playground",
            "ok",
            "use class csi-snapclass",
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


def test_snapscheduler_is_to_be_watched(rig: Rig) -> None:
    rig.world.create("customresourcedefinitions", SNAPSCHEDULER_CRD)
    rig.pass_time(seconds=10)
    assert said(rig)[0][2] == "all 9 required rights are granted"
    rig.world.forbid("watch", "snapshotschedules")
    assert said(rig)[0][2] == "missing: watch snapshotschedules"


def test_restores_for_other_teams_need_more_rights(rig: Rig) -> None:
    rig.world.install("trident")
    about = "cluster default restores for other teams"
    assert (about, "ok", "all 6 required rights are granted") in said(rig)
    rig.world.forbid("create", "tridentvolumereferences")
    found = [each for each in checks(rig.settings(), rig.cluster) if each.about == about]
    assert found == [
        Finding(
            about,
            "warning",
            "/snapshot restore --to TEAM needs: create tridentvolumereferences in team-a,"
            " create tridentvolumereferences in team-b",
            (
                "Set rights.trident in the Helm chart, or apply deploy/kubernetes/17-datasets.yaml,"
                " and 20-teams.yaml for each team's namespace."
            ),
        )
    ]
    alone = rig.settings().model_copy(update={"teams": {"team-a": rig.settings().teams["team-a"]}})
    assert not any("other teams" in each.about for each in checks(alone, rig.cluster))
