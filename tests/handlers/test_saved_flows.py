"""/train flow as people use it."""

import re

from sqlmodel import Session, col, select

from bot.audit import AuditLine
from bot.training.saved_flows.tables import Flow
from bot.training.tables import Run
from tests.handlers.command_client import ALICE, BOB, MIA, TEAM_A, TEAM_B, CommandClient
from tests.handlers.test_train import plainly, work

IMAGE = "--image ghcr.io/acme/lane:3.1"
SAVE = "/train flow save nightly train"
SAVED = [
    "Saved flow `nightly` of 3 runs for team-a.",
    "`prep` starts at once.",
    "`train` starts after prep.",
    "`eval` starts after train:any.",
    (
        '`/train flow run nightly` starts it, `/train flow schedule nightly --cron "0 2 * * *"`'
        " every night."
    ),
]


def submits_flow(client: CommandClient) -> None:
    """Alice submits three runs, each of which waits for the one before, and stops them."""
    for name, more, command in (
        ("prep", "", "prepare.py"),
        ("train", "--gpus 2 --after prep", "train.py"),
        ("eval", "--after train:any", "eval.py"),
    ):
        text = f"/train submit {name} {IMAGE} {more} -- python {command}"
        assert client.says(ALICE, TEAM_A, text).startswith("Submitted run")


def ends(client: CommandClient) -> None:
    """All runs end."""

    def end(session: Session) -> None:
        for run in session.scalars(select(Run)):
            run.phase, run.ended_at = "succeeded", run.asked_at

    client.application.database.transaction(end)


def runs(client: CommandClient) -> dict[str, list[str]]:
    """What each run waits for."""
    found = client.application.database.read(
        lambda s: s.scalars(select(Run).order_by(col(Run.id))).all()
    )
    return {
        run.reference: [
            f"{each['run']}:any" if each["is_any"] else each["run"] for each in run.spec["after"]
        ]
        for run in found
    }


def test_connected_runs_are_saved_and_started(client: CommandClient) -> None:
    submits_flow(client)
    assert client.says(ALICE, TEAM_A, SAVE).splitlines() == SAVED
    ends(client)
    assert client.says(MIA, TEAM_A, "/train flow run nightly").splitlines() == [
        "Started flow `nightly` for team-a: prep#2, train#2 and eval#2.",
        "`train#2` starts once prep#2 has succeeded.",
        "`eval#2` starts once train#2 has ended.",
        (
            "Their cards in this channel follow them. `/train stop prep` stops prep, and what"
            " waits for its success."
        ),
    ]
    made = runs(client)
    assert {name: made[name] for name in ("prep#2", "train#2", "eval#2")} == {
        "prep#2": [],
        "train#2": ["prep#2"],
        "eval#2": ["train#2:any"],
    }


def test_a_suffix_gives_runs_names_of_their_own(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    said = client.says(ALICE, TEAM_A, "/train flow run nightly --suffix lr2")
    assert said.splitlines()[0] == (
        "Started flow `nightly` for team-a: prep-lr2, train-lr2 and eval-lr2."
    )
    assert runs(client)["eval-lr2"] == ["train-lr2:any"]


def test_a_refused_run_refuses_the_whole_flow(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    before = runs(client)
    client.says(ALICE, TEAM_A, "/train stop eval")
    assert client.says(ALICE, TEAM_A, "/train flow run nightly").splitlines() == [
        (
            "Run prep of the flow was refused: prep has not ended, and live runs of a team must"
            " have different names."
        ),
        (
            "Wait until it ends, stop it with `/train stop prep`, or start the flow under other"
            " names: `/train flow run nightly --suffix v2`. No run was submitted."
        ),
    ]
    client.says(ALICE, TEAM_A, f"/train submit prep-v2 {IMAGE} -- python prep.py")
    taken = client.says(ALICE, TEAM_A, "/train flow run nightly --suffix v2")
    assert "`/train flow run nightly --suffix v3`" in taken.splitlines()[1]
    client.says(ALICE, TEAM_A, f"/train submit prep-v3 {IMAGE} -- python prep.py")
    taken = client.says(ALICE, TEAM_A, "/train flow run nightly --suffix v3")
    assert "`/train flow run nightly --suffix v4`" in taken.splitlines()[1]
    ends(client)
    client.says(ALICE, TEAM_A, f"/train submit eval {IMAGE} -- python eval.py")
    said = client.says(ALICE, TEAM_A, "/train flow run nightly").splitlines()
    assert said[0].startswith("Run eval of the flow was refused: eval#2 has not ended")
    assert list(runs(client)) == [*before, "prep-v2", "prep-v3", "eval#2"]


def test_a_flow_is_shown_and_listed(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/train flow").splitlines()[1:] == [
        (
            "team-a has no saved flows. To save the run train with all that it waits for, and all"
            " that waits for it: `/train flow save nightly train`"
        ),
    ]
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    assert plainly(client.says(MIA, TEAM_A, "/train flow show nightly")) == [
        "Flow nightly · Saved",
        "  Saved  Alice, TIME",
        "  Run    After      Image                  GPUs",
        "  prep              ghcr.io/acme/lane:3.1",
        "  train  prep       ghcr.io/acme/lane:3.1  2 GPUs",
        "  eval   train:any  ghcr.io/acme/lane:3.1",
        "`/train flow run nightly` starts it now.",
    ]
    client.says(ALICE, TEAM_A, '/train flow schedule nightly --cron "0 2 * * *"')
    (row,) = client.application.database.read(lambda s: s.scalars(select(Flow)).all())
    listed = client.says(ALICE, TEAM_A, "/train flow list").splitlines()
    assert listed[0] == "Flows of team-a"
    assert re.split("  +", listed[2])[1:] == [
        "nightly", "prep, train, eval", "0 2 * * *", "UTC", f"{row.next_at:%Y-%m-%d %H:%M}",
    ]  # fmt: skip


def test_a_schedule_is_set_and_stopped(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    said = plainly(
        client.says(
            ALICE, TEAM_A, '/train flow schedule nightly --cron "0 2 * * *" --zone Europe/Berlin'
        )
    )
    assert said == [
        "Flow `nightly` starts at `0 2 * * *` in Europe/Berlin: next TIME, then TIME.",
        "Its runs are yours. A start is skipped while runs of the last one have not ended.",
        (f"Its card in #{TEAM_A} shows it. `/train flow unschedule nightly` stops the schedule."),
    ]
    assert client.says(MIA, TEAM_A, "/train flow unschedule nightly") == (
        "Flow `nightly` has no schedule any more. Its runs go on. `/train flow schedule nightly"
        ' --cron "0 2 * * *" --zone Europe/Berlin` starts the schedule again.'
    )
    assert client.says(MIA, TEAM_A, "/train flow unschedule nightly").splitlines() == [
        "Flow nightly has no schedule.",
        'To start it every night: `/train flow schedule nightly --cron "0 2 * * *"`.',
    ]


def test_bad_schedules_are_refused_with_examples(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)

    def refused(cron: str) -> list[str]:
        return client.says(ALICE, TEAM_A, f"/train flow schedule nightly {cron}").splitlines()

    assert refused("") == [
        "`schedule` needs `--cron`: when the flow starts.",
        'Every night at 2: `/train flow schedule nightly --cron "0 2 * * *"`.',
    ]
    assert refused('--cron "0 2 31 2 *"')[0] == "'0 2 31 2 *' never occurs."
    assert refused('--cron "* * * * *"')[0] == (
        "'* * * * *' is due every 1m at times. The shortest interval is 10m."
    )
    assert refused('--cron "0 2 * *"')[1].startswith("Use five fields: minute, hour, day,")


def test_a_deleted_flow_starts_no_more(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    assert client.says(MIA, TEAM_A, SAVE).splitlines() == [
        "team-a has a flow nightly already, of prep, train, eval.",
        "Choose another name, or delete it first: `/train flow delete nightly`.",
    ]
    assert client.says(MIA, TEAM_A, "/train flow delete nightly") == (
        "Deleted flow `nightly`. Its runs go on."
    )
    assert client.says(ALICE, TEAM_A, "/train flow run nightly").splitlines() == [
        "team-a has no flow nightly.",
        "Save one from a run: `/train flow save nightly train`.",
    ]
    assert client.says(ALICE, TEAM_A, SAVE).splitlines() == SAVED


def test_misplaced_words_are_explained(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/train flow run nightly --cron 1").splitlines() == [
        "`--cron` only works with `schedule`, not with `run`.",
        "`/train help flow` shows how each is written.",
    ]
    assert client.says(ALICE, TEAM_A, "/train flow show").splitlines() == [
        "`show` needs the name of a flow.",
        "For example `/train flow show nightly`. `/train flow list` lists the team's flows.",
    ]
    assert client.says(ALICE, TEAM_A, "/train flow save").splitlines() == [
        "`save` needs the name of a flow.",
        "For example `/train flow save nightly train`. `/train flow list` lists the team's flows.",
    ]
    assert client.says(ALICE, TEAM_A, "/train flow save nightly").splitlines() == [
        (
            "`save` needs a run: the flow is that run with all that it waits for, and all that"
            " waits for it."
        ),
        "For example: `/train flow save nightly train`.",
    ]


def test_flows_are_those_of_the_own_team(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    said = client.says(BOB, TEAM_B, "/train flow run nightly").splitlines()
    assert said[0] == "team-b has no flow nightly."
    said = client.says(BOB, TEAM_A, "/train flow run nightly").splitlines()
    assert said[0] == "You are not a member of team-a."


def test_the_audit_names_what_was_started(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    ends(client)
    client.says(MIA, TEAM_A, "/train flow run nightly")
    lines = client.application.database.read(
        lambda s: [
            (each.verb, each.person, each.facts)
            for each in s.scalars(select(AuditLine))
            if each.verb.startswith("flow.")
        ]
    )
    assert lines == [
        ("flow.save", ALICE, {"name": "nightly", "runs": "prep, train, eval"}),
        ("flow.start", MIA, {"name": "nightly", "runs": "prep#2 train#2 eval#2"}),
    ]
    work(client)


def test_a_flow_is_written_for_argo(client: CommandClient) -> None:
    submits_flow(client)
    client.says(ALICE, TEAM_A, SAVE)
    said = client.says(MIA, TEAM_A, "/train flow show nightly --argo").splitlines()
    assert said[:3] == [
        "Argo Workflow of nightly",
        (
            "Argo creates the objects of the runs, which wait in their queue as usual. Cards,"
            " limits of the team, and holds on caches are not part of it."
        ),
        "# Flow nightly of team-a, written by Quartermaster for Argo Workflows 3.6 or newer.",
    ]
