"""/train as people use it: submitted, listed, explained, stopped, started again."""

import re
from threading import Event

import pytest
from sqlmodel import col, select

from bot.cluster.view import Change
from bot.reconcile.loop import Loop
from bot.slack.text import as_text
from bot.training.tables import Run
from playground.cluster.story import training_job
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS
from tests.handlers.command_client import ALICE, BOB, CAROL, ERIN, TEAM_A, TEAM_B, CommandClient
from tests.playground.cluster.served import Served

DIRECT = "D0ALICE"
SUBMIT = (
    "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33"
    " -- python train.py --epochs 3"
)
RECEIPT = [
    (
        "Submitted run `lane` with 2 GPUs, 16 cores and 144Gi memory (including 16Gi of /dev/shm),"
        " for team-a."
    ),
    "Its card in this channel follows it. `/train stop lane` stops it.",
]
AGAIN = ["Submitted run `lane#2`" + RECEIPT[0].removeprefix("Submitted run `lane`"), RECEIPT[1]]
NOT_THEIRS = (
    "You are not a member of team-a.\n"
    "Ask a platform admin to add you to the team, or use your own team's channel."
)


def newest(client: CommandClient) -> Run:
    newest_first = select(Run).order_by(col(Run.id).desc())
    found = client.application.database.read(lambda s: s.exec(newest_first).first())
    assert found is not None
    return found


def work(client: CommandClient) -> None:
    """Lets every row that is due take its steps."""
    app = client.application
    loop = Loop(app.database, app.clock, app.controllers(lambda *_: None))
    while loop.run_due():
        pass


def plainly(answer: str) -> list[str]:
    """The lines of an answer, without what is another each time."""
    answer = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", answer)
    return re.sub(r"-[0-9a-f]{10}", "-ID", answer).splitlines()


def later(client: CommandClient, person: str, **asked: str) -> str:
    """What a read that looks outside answers after its acknowledgement."""
    reply = client.application.dispatcher.answer(client.incoming(person, TEAM_A, **asked))
    assert reply is not None
    assert reply.later is not None
    return as_text(reply.later())


def test_a_submission_is_received_with_its_way_back(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, SUBMIT).splitlines() == RECEIPT


def test_more_gpus_than_a_node_are_warned_of(client: CommandClient) -> None:
    answer = client.says(ALICE, TEAM_A, SUBMIT.replace("--gpus 2", "--gpus 12"))
    assert answer.splitlines()[2:] == [
        (
            "No node has 12 GPUs: the largest has 8, and a run is one pod. It waits until there is"
            " such a node."
        )
    ]


def test_a_run_is_shown_explained_and_listed(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert plainly(client.says(ALICE, TEAM_A, "/train show lane")) == [
        "⏳ lane · Pending",
        "Waiting since TIME.",
        "  Image      `ghcr.io/acme/lane:3.1`",
        "  GPUs       2",
        "  By         Alice",
        "  Where      `team-a/lane-ID`",
        "  Submitted  TIME",
        "  Command    `python train.py --epochs 3`",
        "  Arguments  `epochs=3`",
        "  Variables  `BATCH_SIZE=33`",
        "  Queue      `team-a`",
        "  [Stop]",
    ]
    assert plainly(client.says(ALICE, TEAM_A, "/train why lane")) == [
        "⏳ lane · Pending",
        "Waiting since TIME.",
        "It is being submitted to the cluster.",
        "  [Share]",
    ]
    assert re.sub(r"\d+s", "0s", client.says(ALICE, TEAM_A, "/train list")).splitlines() == [
        "Runs of team-a",
        "  Run   State    GPUs  By     Age",
        "  lane  Pending  2     Alice  0s",
    ]


def test_an_empty_list_says_so(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/train list") == "Runs of team-a\nThere are no runs."


def test_a_run_is_stopped_and_started_again(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert client.says(ALICE, TEAM_A, "/train resubmit lane").splitlines() == [
        "lane has not ended, and live runs of a team must have different names.",
        "Wait until it ends, stop it with `/train stop lane`, or choose another name.",
    ]
    assert client.says(ALICE, TEAM_A, "/train stop lane") == (
        "Stopping `lane`. Its last lines are kept. `/train resubmit lane` starts it again."
    )
    work(client)
    assert plainly(client.says(ALICE, TEAM_A, "/train why lane")) == [
        "⏹️ lane · Stopped",
        "Stopped by Alice, TIME.",
        "  [Share]",
    ]
    assert client.clicks(ALICE, TEAM_A, "train.resubmit", newest(client).id).splitlines() == AGAIN


def test_logs_are_answered_after_the_acknowledgement(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    asked = later(client, ALICE, command="train", words="logs lane --tail 5")
    assert asked == "Log of lane\nThere is no pod yet."
    clicked = later(client, ALICE, kind="button", command="train.logs", value=newest(client).id)
    assert clicked == asked
    assert client.says(ALICE, TEAM_A, "/train logs nothing").splitlines() == [
        "team-a has no run nothing.",
        "It has: lane.",
    ]


def test_a_log_is_followed_in_direct_messages(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    said = client.says(ALICE, TEAM_A, "/train logs lane --follow")
    assert plainly(said)[0].startswith(
        "Following the log of `lane` in your direct messages, where only you see it, until "
    )
    assert client.says(ALICE, TEAM_A, "/train logs lane --follow --previous").splitlines() == [
        "`--follow` cannot be combined with `--previous`: that log no longer grows.",
        "Use only one: `/train logs lane --follow`.",
    ]
    whole = client.says(ALICE, TEAM_A, "/train logs lane --follow --file")
    assert (
        whole.splitlines()[0]
        == "`--follow` cannot be combined with `--file`: that is the whole log at once."
    )


def test_cards_are_for_their_team_only(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_id = newest(client).id
    for action in ("train.logs", "train.stop", "train.resubmit"):
        assert client.clicks(BOB, TEAM_B, action, run_id) == NOT_THEIRS
    assert newest(client).wanted == "run"


def test_a_card_in_direct_messages_works(client: CommandClient) -> None:
    client.says(ALICE, DIRECT, SUBMIT)
    run_id = newest(client).id
    assert client.clicks(ALICE, DIRECT, "train.stop", run_id).startswith("Stopping `lane`")


def test_an_admin_may_stop_from_direct_messages(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_id = newest(client).id
    answer = client.clicks(CAROL, "D0CAROL", "train.stop", run_id)
    assert answer.startswith("Stopping `lane`")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "/train submit lane",
            (
                "`--image IMAGE` is missing, and no preset sets it.\n"
                "Add it, for example `--image ghcr.io/acme/lane:3.1`."
            ),
        ),
        (
            "/train stop lnae",
            (
                "team-a has no run lnae.\nStart one: `/train submit lane --image"
                " ghcr.io/acme/lane:3.1 -- python train.py`."
            ),
        ),
        (
            "/train submit lane --image a/b:1 --env WANDB_API_KEY=abcdef",
            (
                "`--env WANDB_API_KEY=...` looks like a secret. It was not stored.\n"
                "Put it into a Secret in the team's namespace and refer to it:"
                " `--secret WANDB_API_KEY=my-secret/wandb-api-key`."
            ),
        ),
        (
            "/train list --team team-b",
            (
                "You are not a member of team-b.\n"
                "Ask a platform admin to add you to the team, or use your own team's channel."
            ),
        ),
    ],
)
def test_refusals_say_what_is_right(client: CommandClient, text: str, answer: str) -> None:
    assert client.says(ALICE, TEAM_A, text) == answer


def test_work_started_elsewhere_is_listed_and_stopped(
    client: CommandClient, served: Served
) -> None:
    admitted = Event()

    def look(_: Change) -> None:
        if any(
            each.is_admitted
            for each in client.application.services.training.runs.external_workloads("team-a")
        ):
            admitted.set()

    client.application.clusters["default"].on_change(look)
    served.cluster.create("jobs", training_job("notebook", 1, "team-a"), "team-a")
    assert admitted.wait(PATIENCE_SECONDS)
    listed = client.says(ALICE, TEAM_A, "/train list").splitlines()[2].split()
    assert listed[0] == "notebook"
    assert " ".join(listed[3:5]) == "unknown, external"
    assert plainly(client.says(ALICE, TEAM_A, "/train why notebook"))[1:4] == [
        "It was not started by Quartermaster.",
        "  Kind   Job",
        "  GPUs   1 GPU",
    ]
    assert client.says(ALICE, TEAM_A, "/train stop notebook").splitlines() == [
        "notebook was not started by Quartermaster.",
        "A lead of the team or an admin can stop it.",
    ]
    assert client.says(ERIN, TEAM_A, "/train stop notebook") == (
        "Stopping `notebook`. Its labels name no owner."
    )


def test_long_lists_count_what_they_leave_out(client: CommandClient) -> None:
    for number in range(42):
        client.says(ALICE, TEAM_A, f"/train submit run{number} --image ghcr.io/acme/lane:3.1")
    listed = client.says(ALICE, TEAM_A, "/train list").splitlines()
    assert listed[:2] == ["2 older live runs are not shown.", "Runs of team-a"]
    assert [row.split()[0] for row in listed[3:]] == [f"run{n}" for n in range(2, 42)]


def test_a_pasted_command_of_several_lines(client: CommandClient) -> None:
    pasted = (
        "/train submit lane \\\n  --image ghcr.io/acme/lane:3.1 \\ \n  --gpus 2 \\\n"
        "  -- python train.py \\\n    --epochs 3 \\\n    --lr 1"
    )
    assert plainly(client.says(ALICE, TEAM_A, pasted))[0] == RECEIPT[0]
    command = ["python", "train.py", "--epochs", "3", "--lr", "1"]
    assert newest(client).spec["command"] == command
