"""What is copied of a volume for another namespace, and which volumes cannot be shared."""

from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decoder
from bot.cluster.types.claims import PersistentVolume
from bot.datasets.caches.shares.forms import (
    Form,
    Unshareable,
    form_of,
    shared_volume,
    with_namespace,
    without_namespace,
)
from bot.datasets.caches.tables import CacheShare
from tests.bot.ground import START

CSI = {
    "driver": "file.csi.azure.com",
    "volumeHandle": "rg#account#share",
    "fsType": "nfs",
    "volumeAttributes": {
        "protocol": "nfs",
        "storage.kubernetes.io/csiProvisionerIdentity": "1700000000000-8081-file.csi.azure.com",
    },
    "nodeStageSecretRef": {"name": "keys", "namespace": "kube-system"},
}
NFS = {"server": "10.0.0.5", "path": "/export/pvc-1"}


def volume(**spec: Any) -> PersistentVolume:
    whole = {"capacity": {"storage": "300Gi"}, "accessModes": ["ReadWriteMany"], **spec}
    body = {"metadata": {"name": "pvc-1"}, "spec": whole}
    found: PersistentVolume = decoder(PersistentVolume).decode(msgspec.json.encode(body))
    return found


def copied(found: PersistentVolume) -> dict[str, Any]:
    share = CacheShare(
        id="share-1",
        workspace_id="T0QM",
        cache_id="cache-1",
        cluster="default",
        namespace="team-b",
        claim_name="chest-xray-v3-1",
        asked_at=START,
        since=START,
    )
    spec: dict[str, Any] = shared_volume(share, "chest-xray@v3", found, "installation")["spec"]
    return spec


def test_what_the_driver_needs_is_copied() -> None:
    rows = [{"key": "zone", "operator": "In", "values": ["eu-1a"]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": rows}]}}
    found = volume(csi=CSI, mountOptions=["nconnect=4"], nodeAffinity=affinity)
    assert copied(found) == {
        "capacity": {"storage": "300Gi"},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "team-b",
            "name": "chest-xray-v3-1",
        },
        "csi": CSI | {"volumeAttributes": {"protocol": "nfs"}},
        "mountOptions": ["nconnect=4"],
        "nodeAffinity": affinity,
    }


def test_mounts_of_single_pods_are_for_reading() -> None:
    csi = {"driver": "nfs.csi.k8s.io", "volumeHandle": "10.0.0.5#export#pvc-1"}
    assert copied(volume(csi=csi, mountOptions=["hard"]))["mountOptions"] == ["hard", "ro"]


def test_an_export_is_copied_for_reading() -> None:
    assert copied(volume(nfs=NFS))["nfs"] == NFS | {"readOnly": True}


@pytest.mark.parametrize(
    ("spec", "form"),
    [
        ({"csi": {"driver": "csi.trident.netapp.io"}}, Form.TRIDENT),
        ({"csi": CSI}, Form.STATIC),
        ({"nfs": NFS}, Form.STATIC),
    ],
)
def test_volumes_are_shared_by_their_kind(spec: dict[str, Any], form: Form) -> None:
    assert form_of(volume(**spec), ["file.csi.azure.com"]) == form


def test_a_folder_of_a_node_is_not_shared() -> None:
    found = form_of(volume(hostPath={"path": "/mnt"}), [])
    assert found == Unshareable(
        "PersistentVolume pvc-1 is neither from a CSI driver nor an NFS export, so only"
        " one namespace"
        " can mount it.",
        "Cache it on a storage class of Trident, or of a driver in datasets.static_drivers.",
    )


def test_namespaces_come_and_go_beside_others() -> None:
    assert with_namespace("", "team-b") == "team-b"
    assert with_namespace("team-a", "team-b") == "team-a,team-b"
    assert with_namespace("*", "team-b") == "*"
    assert without_namespace("team-a,team-b,team-c", "team-b") == "team-a,team-c"
    assert without_namespace("team-b", "team-b") is None
