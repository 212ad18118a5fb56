"""The edge to FSx: what it reads, and how it says what FSx will not do."""

import pytest

from bot.datasets.fsx.answers import FileSystem
from bot.datasets.fsx.client import Fsx
from bot.errors import StorageError
from playground.ledger import Fault
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import START

FILES, OTHER = "fs-0123456789abcdef0", "fs-00000000000000002"


def refusal(fsx: Fsx) -> tuple[str, str, str]:
    """How FSx refuses to list file systems: code, sentence, advice."""
    with pytest.raises(StorageError) as caught:
        fsx.file_systems()
    return caught.value.code, caught.value.message, caught.value.hint


def test_file_systems_are_read_from_all_pages(fsx: Fsx, region: Region) -> None:
    region.estate.page = 1
    region.estate.add(FILES, tags={"team": "a"}, capacity_gib=2400)
    region.estate.add(OTHER)
    assert [each.id for each in fsx.file_systems()] == [FILES, OTHER]
    assert fsx.file_systems()[0] == FileSystem(
        id=FILES,
        arn=f"arn:aws:fsx:eu-central-1:123456789012:file-system/{FILES}",
        lifecycle="AVAILABLE",
        size_bytes=2400 * 2**30,
        storage="PERSISTENT_2 SSD",
        dns_name=f"{FILES}.fsx.eu-central-1.amazonaws.com",
        mount_name="abcdefgh",
        made_at=START,
        tags={"team": "a"},
    )


def test_being_asked_to_slow_down_is_said(fsx: Fsx, region: Region) -> None:
    region.app.refuse("DescribeFileSystems", "ThrottlingException")
    assert refusal(fsx) == (
        "ThrottlingException",
        (
            "Listing file systems in FSx of eu-central-1 failed: FSx rate-limited the bot"
            " (ThrottlingException)."
        ),
        "",
    )
    assert region.asked() == ["DescribeFileSystems"]


def test_wrong_keys_are_told_from_failures(fsx: Fsx, region: Region) -> None:
    region.give_keys("not-this-one")
    code, said, advice = refusal(fsx)
    assert (code, advice) == (
        "SignatureDoesNotMatch",
        (
            "A platform admin must check datasets.fsx and the permissions of the bot's identity"
            " (see docs/datasets.md)."
        ),
    )
    assert said == (
        "Listing file systems in FSx of eu-central-1 failed: FSx denied access to the bot"
        " (SignatureDoesNotMatch)."
        " The request signature we calculated does not match the one you provided."
    )


def test_what_fsx_answers_is_quoted(fsx: Fsx, region: Region) -> None:
    region.app.refuse("DescribeFileSystems", "InternalServerError", 500)
    assert refusal(fsx) == (
        "InternalServerError",
        (
            "Listing file systems in FSx of eu-central-1 failed: FSx returned InternalServerError."
            " Refused with InternalServerError."
        ),
        "",
    )
    assert region.asked() == ["DescribeFileSystems"]


def test_a_lost_answer_is_asked_for_once(fsx: Fsx, region: Region) -> None:
    region.app.ledger.by_name["DescribeFileSystems"] = [Fault.LOSE_ANSWER]
    code, said, _ = refusal(fsx)
    assert code == ""
    assert said.startswith(
        "Listing file systems in FSx of eu-central-1 failed: FSx cannot be reached ("
    )
    assert region.asked() == ["DescribeFileSystems"]


def test_missing_keys_name_their_setting(region: Region) -> None:
    fsx = Fsx(region.service(credentials="/nowhere"))
    with pytest.raises(StorageError) as caught:
        fsx.file_systems()
    assert str(caught.value) == "The keys of FSx cannot be read: No such file or directory."
    assert region.asked() == []
