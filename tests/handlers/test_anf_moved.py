"""/anf about volumes that somebody moved: whether Trident knows, and what that means."""

from tests.handlers.anf_client import AnfClient, client, opened_client
from tests.handlers.command_client import ALICE, TEAM_A

__all__ = ["client", "opened_client"]
MEANWHILE = (
    " Until an admin repairs it (`/anf repair PVC`), it cannot be mounted on more nodes,"
    " snapshotted, cloned or grown, and deleting the PVC would leave the volume behind, billed."
    " Pods that use it keep running."
)


def test_volume_that_moved_is_known_again(client: AnfClient) -> None:
    volume = client.arm.estate.volumes[0]
    volume.pool = client.arm.ultra
    told = client.reads(ALICE, TEAM_A, "volumes")
    assert told[1] == (
        f"`lane-data` was moved to pool ultra, and Trident still has the old id.{MEANWHILE}"
    )
    assert "lane-data | ultra | Ultra | 1 TiB | 131.1 MiB/s | 412 GiB (40 %)" in told
    assert "`lane-data` was moved to pool ultra, and" in client.learns(
        ALICE, TEAM_A, "show lane-data"
    )


def test_trident_that_knows_of_a_move_is_told(client: AnfClient) -> None:
    volume = client.arm.estate.volumes[0]
    volume.pool = client.arm.ultra
    name, there = volume.name.removeprefix("trident-"), client.arm.estate.volume_id(volume)
    old = client.world.patch("tridentvolumes", name, {"config": {"internalID": there}}, "trident")
    try:
        assert client.reads(ALICE, TEAM_A, "volumes")[1] == (
            "`lane-data` was moved to pool ultra, and Trident has the new id. Its PV still has"
            " the old id, which is harmless."
        )
    finally:
        was = there.replace("/ultra/", "/premium/")
        assert old["config"]["internalID"] == there
        client.world.patch("tridentvolumes", name, {"config": {"internalID": was}}, "trident")


def test_record_that_may_not_be_read_is_told(client: AnfClient) -> None:
    client.arm.estate.volumes[0].pool = client.arm.ultra
    client.world.forbid("get", "tridentvolumes")
    try:
        told = client.reads(ALICE, TEAM_A, "volumes")[1]
    finally:
        client.world.allow("get", "tridentvolumes")
    assert told.startswith(
        "`lane-data` was moved to pool ultra. Whether Trident has the new id is unknown: Reading"
        " TridentVolume pvc-"
    )
    assert told.endswith(MEANWHILE)
