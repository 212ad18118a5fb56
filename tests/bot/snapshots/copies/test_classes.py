"""Which storage classes make volumes that many pods can mount, and what the doctor says of them."""

import pytest

from bot.cluster.types.claims import TRIDENT, StorageClass
from bot.cluster.types.objects import ObjectMeta
from bot.findings import Finding
from bot.snapshots.copies.checking import checks
from bot.snapshots.copies.classes import is_shared
from playground.cluster.story import storage_class
from tests.bot.snapshots.copies.copying import MODES, PRICES, Copying

ABOUT = "cluster default copies of PVCs"


def kind(driver: str, **parameters: str) -> StorageClass:
    return StorageClass(metadata=ObjectMeta(name="any"), provisioner=driver, parameters=parameters)


@pytest.mark.parametrize(
    ("found", "shared"),
    [
        (kind("nfs.csi.k8s.io"), True),
        (kind("rook-ceph.cephfs.csi.ceph.com"), True),
        (kind(TRIDENT, backendType="azure-netapp-files"), True),
        (kind(TRIDENT, backendType="ontap-nas"), True),
        (kind(TRIDENT, backendType="ontap-san"), False),
        (kind(TRIDENT), None),
        (kind("disk.csi.azure.com"), False),
        (kind("rook-ceph.rbd.csi.ceph.com"), False),
        (kind("csi.example.com"), None),
    ],
)
def test_known_drivers_tell_what_classes_can(found: StorageClass, shared: object) -> None:
    assert is_shared(found, {}) is shared


def test_settings_win_over_the_driver() -> None:
    assert is_shared(kind("disk.csi.azure.com"), {"any": "ReadWriteMany"}) is True
    assert is_shared(kind("nfs.csi.k8s.io"), {"any": "ReadWriteOnce"}) is False


def test_copies_cost_what_their_cluster_charges(copying: Copying) -> None:
    home = {"classes": {"nfs-rwx": {"price_per_gib_month": 9.0}, "other": {}}, "cluster": "home"}
    here = {"classes": PRICES["classes"], "default_class": "nfs-rwx"}
    clusters = {"default": {"access_modes": MODES | {"other": "ReadWriteMany"}}, "home": {}}
    copying.set(10, clusters=clusters, datasets=PRICES | home | {"clusters": {"default": here}})
    copying.world.create("storageclasses", storage_class("other", seconds=0))
    row = copying.row(copying.copy(storage_class=None))
    assert (row.storage_class, row.cost) == ("nfs-rwx", 20.0)


def test_doctor_names_what_classes_can(copying: Copying) -> None:
    both = (
        "Many pods can mount volumes of: nfs-rwx. Pods of one node at a time can mount those of:"
        " disks, standard"
    )
    assert list(checks(copying.settings(), copying.cluster)) == [Finding(ABOUT, "ok", both)]


def test_doctor_warns_of_unknown_classes(copying: Copying) -> None:
    known = {name: mode for name, mode in MODES.items() if name != "disks"}
    copying.set(clusters={"default": {"access_modes": known}})
    (found,) = checks(copying.settings(), copying.cluster)
    assert (found.state, found.says) == (
        "warning",
        (
            "Many pods can mount volumes of: nfs-rwx. Pods of one node at a time can mount those"
            " of: standard. It is not known for: disks"
        ),
    )
    assert found.remedy == (
        "Set clusters.NAME.access_modes for the classes that are not known: ReadWriteMany for file"
        " storage such as NFS, ReadWriteOnce for disks."
    )


def test_doctor_is_silent_without_an_image(copying: Copying) -> None:
    copying.set(datasets=None)
    assert list(checks(copying.settings(), copying.cluster)) == []
