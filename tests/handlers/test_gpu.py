"""/gpu as people use it: the network between nodes is measured by a run."""

import pytest

from tests.handlers.command_client import ALICE, BOB, DAN, ELSEWHERE, TEAM_A, CommandClient


def test_a_test_is_received_with_its_way_back(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/gpu nccl --nodes 2").splitlines() == [
        (
            "Submitted run `nccl` with 2 nodes, each with 8 GPUs, 64 cores and 576Gi memory"
            " (including 64Gi of /dev/shm), for team-a."
        ),
        "Its card in this channel follows it. `/train stop nccl` stops it.",
    ]


def test_the_cost_of_all_pairs_is_said_before(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/gpu nccl --nodes 4 --gpus 1 --all-pairs").splitlines() == [
        (
            "Submitted run `nccl` with 4 nodes, each with 1 GPU, 8 cores and 72Gi memory"
            " (including 8Gi of /dev/shm), for team-a."
        ),
        "Its card in this channel follows it. `/train stop nccl` stops it.",
        (
            "After the test of all 4 nodes it measures their 6 pairs in 3 rounds: about 2 minutes,"
            " at most 14 minutes more."
        ),
    ]


def test_two_nodes_have_no_pairs(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/gpu nccl --all-pairs").splitlines() == [
        "Pairs are measured among 3 to 64 nodes, not 2.",
        "Use for example `--nodes 4`. Two nodes are one pair, which the usual test measures.",
    ]


def test_two_tests_at_once_have_two_names(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, "/gpu nccl --gpus 2")
    again = client.says(ALICE, TEAM_A, "/gpu nccl --gpus 2 --name other")
    assert again.startswith("Submitted run `other` with 2 nodes, each with 2 GPUs")
    assert client.says(ALICE, TEAM_A, "/gpu nccl --gpus 3").splitlines()[0] == (
        "nccl has not ended, and live runs of a team must have different names."
    )


def test_the_tests_so_far_are_shown(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/gpu network") == (
        "Network tests in the clusters of team-a\n"
        "There are none yet. `/gpu nccl --nodes 2` runs one.\n  [Share]"
    )


@pytest.mark.parametrize(
    ("person", "channel", "answer"),
    [
        (BOB, TEAM_A, "You are not a member of team-a."),
        (ALICE, ELSEWHERE, "This channel belongs to no team, so this cannot be used here."),
        (DAN, TEAM_A, "Guests and people from other workspaces cannot use Quartermaster."),
    ],
)
def test_others_cannot_test_the_network(
    client: CommandClient, person: str, channel: str, answer: str
) -> None:
    assert client.says(person, channel, "/gpu nccl").splitlines()[0] == answer


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            "nccl --nodes 3",
            "A test on 3 nodes needs as many nodes with GPUs, but the cluster has 2.",
        ),
        ("nccl --nodes none", "`--nodes` takes"),
        ("nccl --nodes 1:2", "Runs of `--kind nccl` keep the nodes they start with"),
        ("ncc", "`/gpu ncc` is not a command."),
    ],
)
def test_a_wrong_test_is_explained(client: CommandClient, words: str, answer: str) -> None:
    assert client.says(ALICE, TEAM_A, f"/gpu {words}").startswith(answer)
