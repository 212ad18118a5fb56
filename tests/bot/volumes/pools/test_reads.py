"""What cannot be told of volumes yet, or not by this subscription."""

from pathlib import Path

import pytest

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import TRIDENT, ClaimReference, ClaimSpec, CsiSource, VolumeSpec
from bot.cluster.types.claims import PersistentVolume as Pv
from bot.cluster.types.claims import PersistentVolumeClaim as Pvc
from bot.cluster.types.objects import ObjectMeta
from bot.config import Team
from bot.errors import ClusterError, NotFoundError, StorageError
from bot.volumes.anf import NetAppFiles
from bot.volumes.pools.reads import VolumeReads
from tests.arm import Arm
from tests.bot.volumes.settings import settings_for

KUBECONFIG = (
    "{apiVersion: v1, kind: Config, current-context: a,"
    " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}],"
    " users: [{name: a, user: {token: a}}],"
    " contexts: [{name: a, context: {cluster: a, user: a}}]}"
)
ELSEWHERE = (
    "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers"
    "/Microsoft.NetApp/netAppAccounts/a/capacityPools/p/volumes/trident-1"
)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """One whose watches have not begun."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return Cluster("default", Connection.to(str(path)), "0123")


def team_of(arm: Arm) -> Team:
    return settings_for(arm).teams["team-a"]


def see(cluster: Cluster) -> None:
    """A PVC on a volume of another subscription."""
    told = {"internalID": ELSEWHERE, "internalName": "trident-1"}
    spec = VolumeSpec(
        csi=CsiSource(driver=TRIDENT, volume_attributes=told),
        claim_ref=ClaimReference(namespace="team-a", name="data", uid="1"),
    )
    cluster.view.store(VOLUMES).replace([Pv(metadata=ObjectMeta(name="pvc-1"), spec=spec)])
    metadata = ObjectMeta(name="data", namespace="team-a", uid="1")
    claim = Pvc(metadata=metadata, spec=ClaimSpec(volume_name="pvc-1"))
    cluster.view.store(PVCS).replace([claim])


def test_cluster_that_was_not_read_is_not_empty(
    arm: Arm, files: NetAppFiles, cluster: Cluster
) -> None:
    reads = VolumeReads(files, {"default": cluster})
    for act in (
        lambda: reads.volumes(team_of(arm)),
        lambda: reads.find(team_of(arm), "data", None),
    ):
        with pytest.raises(ClusterError) as caught:
            act()
        assert caught.value.message == "The PVCs of cluster default have not been read yet."
    assert arm.asked() == []


def test_team_without_such_volumes_is_told_so(
    arm: Arm, files: NetAppFiles, cluster: Cluster
) -> None:
    cluster.view.store(VOLUMES).replace([])
    cluster.view.store(PVCS).replace([])
    with pytest.raises(NotFoundError) as caught:
        VolumeReads(files, {"default": cluster}).find(team_of(arm), "data", None)
    assert (caught.value.message, caught.value.hint) == (
        "There is no PVC data in namespace team-a.",
        "None of the team's PVCs is on Azure NetApp Files.",
    )


def test_volume_of_another_subscription_is_told_so(
    arm: Arm, files: NetAppFiles, cluster: Cluster
) -> None:
    see(cluster)
    reads = VolumeReads(files, {"default": cluster})
    where, claimed = reads.find(team_of(arm), "data", None)
    with pytest.raises(StorageError) as caught:
        reads.show(where, claimed)
    assert caught.value.message == (
        "The volume of PVC data is in account g/a of subscription"
        " 11111111-1111-1111-1111-111111111111, which the bot does not read."
    )
    assert caught.value.hint == (
        "A platform admin can add it to anf.other_subscriptions in quartermaster.yaml."
    )
    assert arm.asked() == []


def test_same_id_with_another_path_is_no_match(
    arm: Arm, files: NetAppFiles, cluster: Cluster
) -> None:
    see(cluster)
    other = arm.estate.add_volume(arm.standard, "trident-1", 100 * 2**30)
    other.path = "made-by-somebody-else"
    pv = cluster.view.all(VOLUMES)[0]
    assert pv.spec.csi is not None
    told = {**pv.spec.csi.volume_attributes, "internalID": arm.estate.volume_id(other)}
    spec = VolumeSpec(
        csi=CsiSource(driver=TRIDENT, volume_attributes=told), claim_ref=pv.spec.claim_ref
    )
    cluster.view.store(VOLUMES).replace([Pv(metadata=ObjectMeta(name="pvc-1"), spec=spec)])
    reads = VolumeReads(files, {"default": cluster})
    assert reads.volumes(team_of(arm)).rows[0].found is None
    assert reads.show(*reads.find(team_of(arm), "data", None)).row.found is None
