"""Where versions are on a file system that is linked to a bucket."""

import pytest

from bot.config import FsxFolder
from bot.datasets.caches.fsx.planning import is_mountable, overlap, place_of


def folder_of(source: str, repository: str = "s3://lake", path: str = "/lake/") -> str | None:
    """The folder of a source, None where the file system does not show it."""
    place = place_of(
        source, FsxFolder(file_system="fs-0123456789abcdef0", repository=repository, path=path)
    )
    return place.folder if place is not None else None


@pytest.mark.parametrize(
    ("source", "repository", "folder"),
    [
        ("s3://lake/chest-xray/", "s3://lake", "lake/chest-xray"),
        ("s3://lake/a/b/", "s3://lake/a/", "lake/b"),
        ("s3://lake/", "s3://lake", "lake"),
        ("s3://lake2/chest-xray/", "s3://lake", None),
        ("s3://lake/ab/", "s3://lake/a", None),
    ],
)
def test_a_source_is_a_folder_or_none(source: str, repository: str, folder: str | None) -> None:
    assert folder_of(source, repository) == folder


def test_folders_overlap_by_their_parts() -> None:
    assert overlap("lake/chest", "lake/chest")
    assert overlap("lake", "lake/chest")
    assert overlap("lake/chest/val", "lake/chest")
    assert not overlap("lake/chest", "lake/chest-xray")


@pytest.mark.parametrize("folder", ["lake/a b", "lake/a:b", "lake/../b", "lake//b", "lake/ü", ""])
def test_folders_that_cannot_be_mounted(folder: str) -> None:
    assert not is_mountable(folder)
    assert is_mountable("lake/chest-xray_1.0")
