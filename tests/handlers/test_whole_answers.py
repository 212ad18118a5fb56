"""What people ask to have whole comes whole, to them alone; of what they may not see nothing."""

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from sqlmodel import Session, select

from bot.slack.files import MessageDocument
from bot.slack.filing import Filing
from bot.slack.messages import Message
from bot.slack.text import as_text
from bot.training.tables import KeptLog, Run
from tests.handlers.command_client import ALICE, BOB, CAROL, DAN, TEAM_A, TEAM_B, CommandClient
from tests.handlers.gpu_past import HELD, held, sampled, submitted

COMES = "which I send you in a direct message."


def says(client: CommandClient, person: str, channel: str, text: str) -> list[str]:
    """What a person reads in Slack, where a message has an end; what is looked up last."""
    app = client.application
    name, _, words = text.removeprefix("/").partition(" ")
    incoming = client.incoming(person, channel, command=name, words=words)
    reply = Filing(app.dispatcher, app.database, app.clock, "T0QM").answer(incoming)
    assert reply is not None
    return as_text(reply.later() if reply.later else reply).splitlines()


def files(client: CommandClient) -> list[tuple[str, str, str]]:
    """To whom which file goes, and what is in it."""

    def work(session: Session) -> Sequence[tuple[str, str, str]]:
        found = session.exec(
            select(Message, MessageDocument).where(Message.id == MessageDocument.message_id)
        )
        return [(m.channel, d.name, d.content.decode()) for m, d in found]

    return list(client.application.database.read(work))


def many(client: CommandClient, count: int) -> None:
    """So many things of team-a that hold GPUs."""
    names = [held(client, f"pod-{number:03}-of-a-long-name") for number in range(count)]
    sampled(client, 29, dict.fromkeys(names, HELD))


def test_every_line_of_a_report_comes(client: CommandClient) -> None:
    many(client, 150)
    today = datetime.now(UTC).date()
    asked = f"/gpu report --from {today - timedelta(days=1)} --to {today} --by run"
    shown = says(client, ALICE, TEAM_A, asked)
    assert shown[3] == (f"The total includes 110 more lines; `{asked} --csv` lists all of them.")
    *_, last = says(client, ALICE, TEAM_A, f"{asked} --csv")
    name = f"gpu-report-team-a-by-run-{today - timedelta(days=1)}-to-{today}.csv"
    [(person, file, content)] = files(client)
    size = f"152 lines, {round(len(content) / 1000)} kB"
    assert last == (
        f"It is too long for a message. All of it ({size}) is in the file {name}, {COMES}"
    )
    assert (person, file) == (ALICE, name)
    rows = list(csv.reader(StringIO(content)))
    assert (len(rows), rows[0][0], rows[-1][:2]) == (152, "run", ["total", "300.000"])
    assert rows[1][:2] == ["team-a/pod-000-of-a-long-name", "2.000"]


@pytest.mark.parametrize(
    ("person", "channel", "text"),
    [
        (BOB, TEAM_B, "/gpu report --by run --csv --team team-a"),
        (DAN, TEAM_A, "/gpu report --by run --csv"),
        (ALICE, TEAM_A, "/gpu report --by run --csv --all"),
    ],
)
def test_who_may_not_ask_gets_no_file(
    client: CommandClient, person: str, channel: str, text: str
) -> None:
    many(client, 150)
    assert not any(COMES in line for line in says(client, person, channel, text))
    assert files(client) == []


def test_hint_of_the_top_asks_for_the_same(client: CommandClient) -> None:
    many(client, 25)
    asked = "/gpu top --for 2d --all"
    first = datetime.now(UTC).date() - timedelta(days=2)
    whole = f"/gpu report --by run --from {first} --all --csv"
    said = says(client, CAROL, TEAM_A, asked)[2]
    assert said == f"And 5 more; `{whole}` lists all of them."
    assert "There are no samples" not in says(client, CAROL, TEAM_A, whole)[0]


def test_all_of_a_record_comes(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    nodes = [f"gpu-node-{number:04}.eu-west.example" for number in range(400)]

    def ran(session: Session) -> None:
        session.get_one(Run, run_id).ran_on = nodes

    client.application.database.transaction(ran)
    title, told = says(client, ALICE, TEAM_A, "/train export lane")
    assert (title, told.endswith(f"is in the file lane.json, {COMES}")) == ("Record of lane", True)
    [(person, name, content)] = files(client)
    assert (person, name) == (ALICE, "lane.json")
    assert json.loads(content)["where"]["nodes"] == nodes


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("--tail 10000", "lane.log"),
        ("--file", "lane.log"),
        ("--pod 0 --file", "lane-0.log"),
        ("--pod lane-x --tail 200", "lane-lane-x.log"),
    ],
)
def test_all_lines_of_a_log_come(client: CommandClient, options: str, name: str) -> None:
    run_id = submitted(client, "lane")
    lines = [f"step {number} of a run that says a lot of what it does" for number in range(200)]

    def said(session: Session) -> None:
        log = KeptLog(
            run_id=run_id,
            pod_uid="u",
            pod="lane-x",
            part="0",
            lines=lines,
            kept_at=datetime.now(UTC),
        )
        session.add(log)

    client.application.database.transaction(said)
    shown = says(client, ALICE, TEAM_A, f"/train logs lane {options}")
    kept = "Only the last 200 lines are kept of a pod that is gone."
    assert shown[0] == "Log of lane · lane-x"
    # What was asked for is there, unless all was asked for, of which more may have been.
    cut = [] if options.endswith("200") else [kept]
    comes = f"All of it (200 lines, 10 kB) is in the file {name}, {COMES}"
    assert shown[2 : 3 + len(cut)] == [*cut, f"It is too long for a message. {comes}"]
    assert files(client) == [(ALICE, name, "\n".join(lines) + "\n")]
    assert COMES not in "".join(says(client, ALICE, TEAM_A, "/train logs lane --tail 20"))
