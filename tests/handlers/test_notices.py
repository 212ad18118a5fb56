"""/notices: what somebody is told of their runs, and how they change that for themselves."""

from tests.handlers.command_client import ALICE, BOB, DAN, ELSEWHERE, TEAM_A, TEAM_B, CommandClient

THREAD = "a mention in the card's thread"
DM = "a direct message with a link to the card"
NONE = "no mention and no message, only an entry in the card's thread"


def shown(time: str, preempted: str, idle: str, others: str) -> list[str]:
    return [
        "How you are notified when something happens to one of your runs:",
        f"• `started` (it starts after waiting for 30m or longer): {others}",
        f"• `time` (80 % of its time limit has passed, or your session ends soon): {time}",
        f"• `preempted` (it is preempted): {preempted}",
        f"• `idle` (its GPUs are idle): {idle}",
        f"• `failed` (it fails): {others}",
        f"• `ended` (it ends for another reason): {others}",
        (
            "Use `/notices dm --for preempted,idle` to change some of these, or `/notices dm` to"
            " change all. `thread` and `none` work the same way."
        ),
    ]


def test_everybody_sees_how_they_are_told(client: CommandClient) -> None:
    for text in ("/notices", "/qm notices", "/notices show"):
        answer = client.says(ALICE, TEAM_A, text).replace("/qm notices", "/notices")
        assert answer.splitlines() == shown(THREAD, THREAD, THREAD, THREAD)
    assert client.says(DAN, TEAM_A, "/notices none").startswith("Guests and people from other")


def test_kinds_are_chosen_one_by_one(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, "/notices dm")
    client.says(ALICE, "D0ALICE", "/notices none --for preempted")
    answer = client.says(ALICE, TEAM_B, "/qm notices thread --for Idle,time")
    assert answer.splitlines()[:7] == shown(THREAD, NONE, THREAD, DM)[:7]
    answer = client.says(BOB, ELSEWHERE, "/notices")
    assert answer.splitlines() == shown(THREAD, THREAD, THREAD, THREAD)
    answer = client.says(ALICE, TEAM_A, "/notices none --for all")
    assert answer.splitlines() == shown(NONE, NONE, NONE, NONE)


def test_same_choice_twice_is_one(client: CommandClient) -> None:
    first = client.says(ALICE, TEAM_A, "/notices dm", delivery="one")
    assert client.says(ALICE, TEAM_A, "/notices dm") == first
    again = client.says(ALICE, TEAM_A, "/notices dm", delivery="one")
    assert again == "This was already received. Nothing was done twice."


def test_other_words_are_refused(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/notices mail").splitlines() == [
        "`/notices mail` is not a command.",
        "Its verbs are `show`, `thread`, `dm`, `none`. For example `/notices show`.",
    ]
    assert client.says(ALICE, TEAM_A, "/notices dm --for weekends").splitlines() == [
        (
            "`--for` takes one or more of `started,time,preempted,idle,failed,ended`, separated"
            " by commas, or `all`, not `weekends`."
        ),
        "Write it like `--for started,time`. For example `/notices dm`.",
    ]
