"""Whether a folder shows the bucket that the configuration says, and why not."""

from collections.abc import Callable

import pytest

from bot.config import FsxFolder
from bot.datasets.fsx.client import Fsx
from bot.datasets.fsx.linking import link_of
from bot.errors import StorageError
from playground.fsx.estate import Lustre
from tests.bot.datasets.fsx.region import Region

SYSTEM = "fs-0123456789abcdef0"
FOLDER = FsxFolder(file_system=SYSTEM, repository="s3://lake", path="/lake/")


def unlink(system: Lustre, _link: str) -> str:
    system.associations.clear()
    return f"/lake of {SYSTEM} is not linked to a bucket."


def link_elsewhere(system: Lustre, _link: str) -> str:
    system.associations[0]["DataRepositoryPath"] = "s3://other/"
    return f"/lake of {SYSTEM} is linked to s3://other/, not to s3://lake/."


def misconfigure(system: Lustre, link: str) -> str:
    system.associations[0]["Lifecycle"] = "MISCONFIGURED"
    return f"Association {link} of {SYSTEM} is MISCONFIGURED."


def fail(system: Lustre, _link: str) -> str:
    system.lifecycle = "FAILED"
    return f"File system {SYSTEM} is FAILED."


def follow(system: Lustre, link: str) -> str:
    system.associations[0]["S3"] = {"AutoImportPolicy": {"Events": ["NEW", "CHANGED"]}}
    return (
        f"Association {link} imports changes of the bucket automatically (NEW, CHANGED), so the"
        " files of a version would change under its name."
    )


def linked(region: Region) -> tuple[Lustre, str]:
    """A file system that is linked as it should be, and its association."""
    system = region.estate.add(SYSTEM)
    region.estate.link(system, "/other", "s3://other/")
    link = region.estate.link(system, "/lake", "s3://lake")
    system.associations.reverse()
    return system, link["AssociationId"]


def refusal(fsx: Fsx) -> tuple[str, str]:
    """Why the folder cannot be used, and FSx's or our code for it."""
    with pytest.raises(StorageError) as caught:
        link_of(fsx, FOLDER)
    assert caught.value.hint
    return caught.value.message, caught.value.code


def test_a_link_is_found_by_its_folder(fsx: Fsx, region: Region) -> None:
    _, link = linked(region)
    found = link_of(fsx, FOLDER)
    assert found is not None
    assert (found.system.mount_name, found.association.id) == ("abcdefgh", link)


def test_every_wrong_link_is_told_apart(fsx: Fsx, region: Region) -> None:
    spoilers: tuple[Callable[[Lustre, str], str], ...]
    spoilers = (unlink, link_elsewhere, misconfigure, fail, follow)
    for spoil in spoilers:
        said = spoil(*linked(region))
        assert refusal(fsx) == (said, "Unlinked")
    region.estate.systems.clear()
    assert refusal(fsx) == (f"There is no file system {SYSTEM} in FSx.", "Unlinked")


def test_what_is_being_made_is_awaited(fsx: Fsx, region: Region) -> None:
    system, _ = linked(region)
    system.associations[0]["Lifecycle"] = "CREATING"
    assert link_of(fsx, FOLDER) is None
    system.associations[0]["Lifecycle"], system.lifecycle = "AVAILABLE", "CREATING"
    assert link_of(fsx, FOLDER) is None
