"""What the bot reads of Azure NetApp Files, by the real SDK and a real identity."""

import json
import threading
from contextlib import closing

import pytest

from bot.errors import ConflictError, StorageError
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import Deadline
from bot.volumes.resources import AnfVolume, Pool, PoolPlace, VolumePlace
from playground.arm.estate import ACCOUNT, GIB, GROUP, SUBSCRIPTION, TIB
from playground.ledger import Fault
from tests.arm import Arm
from tests.bot.volumes.settings import settings_for

PREMIUM = PoolPlace(SUBSCRIPTION, GROUP, ACCOUNT, "premium")
GONE = VolumePlace(SUBSCRIPTION, GROUP, ACCOUNT, "premium", "gone")


def forever() -> Deadline:
    return Deadline(600)


def refusal(files: NetAppFiles) -> StorageError:
    with pytest.raises(StorageError) as caught:
        files.estate(forever())
    return caught.value


def test_estate_is_all_pools_and_volumes(arm: Arm, files: NetAppFiles) -> None:
    made = arm.estate.add_volume(arm.premium, "pvc-1", 100 * GIB)
    made.used = 40 * GIB
    made.tags["trident"] = json.dumps({"trident": {"backendUUID": "b-1"}}).replace(" ", "")
    found = files.estate(forever())
    assert [each.name for each in found.pools] == ["standard", "premium", "ultra", "tuned"]
    premium = found.pools[1]
    assert premium == Pool(
        id=arm.estate.pool_id(arm.premium),
        place=PREMIUM,
        level="Premium",
        qos="Auto",
        size_bytes=2 * TIB,
        throughput_mibps=131.072,
        used_throughput_mibps=6.4,
        encryption="Single",
        uuid=arm.premium.id,
    )
    assert found.volumes == (
        AnfVolume(
            id=arm.estate.volume_id(made),
            place=VolumePlace(*PREMIUM, "pvc-1"),
            path="pvc-1",
            file_system=made.file_system,
            level="Premium",
            quota_bytes=100 * GIB,
            throughput_mibps=6.4,
            used_bytes=40 * GIB,
            addresses=("10.0.2.4",),
            maker="b-1",
        ),
    )
    assert found.taken_bytes(premium) == 100 * GIB


def test_no_thread_stays_after_a_read(files: NetAppFiles) -> None:
    before = set(threading.enumerate())
    files.estate(forever())
    assert set(threading.enumerate()) <= before


def test_long_lists_are_read_to_their_end(arm: Arm, files: NetAppFiles) -> None:
    arm.app.routes.page_size = 2
    for number in range(5):
        arm.estate.add_volume(arm.standard, f"pvc-{number}", 100 * GIB)
    assert len(files.volumes(PoolPlace(SUBSCRIPTION, GROUP, ACCOUNT, "standard"))) == 5


def test_only_named_accounts_are_read(arm: Arm, identity: None) -> None:  # noqa: ARG001 - has to be there
    other = arm.estate.add_account(name="other")
    arm.estate.add_pool(other, "elsewhere", "Ultra", 1)
    settings = settings_for(arm, accounts=[f"{GROUP}/other"])
    with closing(NetAppFiles(lambda: settings)) as files:
        assert [each.name for each in files.pools(SUBSCRIPTION, forever())] == ["elsewhere"]


def test_volume_that_is_gone_is_none(arm: Arm, files: NetAppFiles) -> None:
    assert files.volume(GONE) is None
    assert arm.asked() == ["GET volumes"]


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
def test_read_whose_answer_was_lost_is_repeated(arm: Arm, files: NetAppFiles, fault: Fault) -> None:
    arm.ledger.by_name["GET volumes"] = [fault]
    assert files.volume(GONE) is None
    assert arm.asked() == ["GET volumes", "GET volumes"]


def test_read_is_given_up_after_two_tries(arm: Arm, files: NetAppFiles) -> None:
    arm.ledger.by_name["GET netAppAccounts"] = [Fault.LOSE_ANSWER, Fault.LOSE_ANSWER]
    error = refusal(files)
    assert error.message == (
        "Listing the NetApp accounts of the subscription: Azure cannot be reached"
        " (ServiceResponseError)."
    )
    assert error.hint == "Try again in a minute. The address is set in anf.endpoint."
    assert arm.asked() == ["GET netAppAccounts", "GET netAppAccounts"]


def test_server_error_is_asked_about_once_more(arm: Arm, files: NetAppFiles) -> None:
    arm.app.unavailable = 1
    assert len(list(files.pools(SUBSCRIPTION, forever()))) == 4
    arm.app.unavailable = 2
    error = refusal(files)
    assert error.message == (
        "Listing the NetApp accounts of the subscription: Azure returned InternalServerError:"
        " The server encountered an internal error. Please retry the request."
    )
    assert (error.status, error.code) == (500, "InternalServerError")


def test_throttling_is_honoured_and_not_repeated(arm: Arm, files: NetAppFiles) -> None:
    arm.app.too_many, arm.app.retry_after_seconds = 1, 42
    error = refusal(files)
    assert error.message == (
        "Listing the NetApp accounts of the subscription: Azure returned TooManyRequests:"
        " The request is being throttled."
    )
    assert error.hint == "Azure rate-limited the bot. Try again in 42 s."
    assert (error.status, error.retry_after_seconds) == (429, 42)
    assert arm.asked() == ["GET netAppAccounts"]


def test_missing_permission_is_told_in_words(arm: Arm, files: NetAppFiles) -> None:
    arm.app.routes.permissions.not_actions = ["Microsoft.NetApp/netAppAccounts/capacityPools/read"]
    error = refusal(files)
    assert error.message.startswith(
        f"Listing the capacity pools of account {ACCOUNT}: Azure returned AuthorizationFailed: The"
    )
    assert "'Microsoft.NetApp/netAppAccounts/capacityPools/read'" in error.message
    assert error.hint == (
        "A platform admin has to give the bot's Azure identity the role in docs/anf.md."
    )
    assert error.status == 403


def test_rotated_tokens_are_told_as_identity(arm: Arm, files: NetAppFiles) -> None:
    files.estate(forever())
    arm.app.revoke_tokens()
    error = refusal(files)
    assert "InvalidAuthenticationToken: The access token is invalid." in error.message
    assert error.hint.startswith("A platform admin has to check the bot's Azure identity: AZURE_")


def test_bot_without_identity_is_told_so(arm: Arm, files: NetAppFiles) -> None:
    arm.app.identity_header = "another"
    error = refusal(files)
    assert error.message == (
        "Listing the NetApp accounts of the subscription: the bot has no working Azure identity."
    )
    assert "docs/anf.md" in error.hint
    assert arm.asked() == []


def test_reading_ends_at_its_deadline(arm: Arm, files: NetAppFiles) -> None:
    seconds = iter((0.0, 1.0, 26.0))
    with pytest.raises(StorageError) as caught:
        files.estate(Deadline(25, lambda: next(seconds)))
    assert caught.value.message == "Azure took longer than 25 s. The request was cancelled."
    assert arm.asked() == ["GET netAppAccounts", "GET capacityPools"]


def test_new_settings_count_at_once(arm: Arm, identity: None) -> None:  # noqa: ARG001 - has to be there
    known = [settings_for(arm)]
    with closing(NetAppFiles(lambda: known[0])) as files:
        assert len(list(files.pools(SUBSCRIPTION, forever()))) == 4
        known[0] = known[0].model_copy(update={"anf": None})
        with pytest.raises(ConflictError) as caught:
            list(files.pools(SUBSCRIPTION, forever()))
    assert caught.value.message == "Azure NetApp Files is not configured."
