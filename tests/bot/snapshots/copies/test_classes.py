"""Which storage classes make volumes that many pods can mount, and what the doctor says of them."""

import pytest

from bot.cluster.types.claims import TRIDENT, StorageClass
from bot.cluster.types.objects import ObjectMeta
from bot.findings import Finding
from bot.snapshots.copies.checking import checks
from bot.snapshots.copies.classes import is_shared
from tests.bot.snapshots.copies.copying import MODES, Copying

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
