"""What the doctor says of the storage classes for caches."""

from bot.datasets.checking import checks
from bot.findings import Finding
from playground.cluster.story import storage_class
from tests.bot.datasets.caches.filling import Filling, settings


def test_each_class_for_caches_is_tried(filling: Filling) -> None:
    disk = storage_class("disk") | {"provisioner": "ebs.csi.aws.com"}
    filling.world.create("storageclasses", disk)
    told = settings(classes={"standard": {}, "disk": {}, "missing": {}})
    assert told.datasets is not None
    found = checks(told, told.datasets, filling.cluster)
    assert [each for each in found if each.about.startswith("cache class")] == [
        Finding("cache class standard", "ok", "many nodes can mount its volumes"),
        Finding(
            "cache class disk",
            "failed",
            "only one node at a time can mount its volumes",
            "Use a class with file storage such as NFS, not disks.",
        ),
        Finding(
            "cache class missing",
            "failed",
            "the cluster has no storage class of that name",
            "Create storage class missing, or remove it from datasets.classes.",
        ),
    ]
