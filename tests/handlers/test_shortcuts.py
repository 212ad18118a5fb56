"""Shortcuts in Slack's menus open forms, and know the run of the card that they are used on."""

from dataclasses import replace

import msgspec
import pytest
from sqlmodel import col, select

from bot.slack.card import Reply
from bot.slack.forms.form import Form
from bot.slack.text import as_text
from bot.training.spec import RunSpec, asked_spec
from bot.training.tables import Run
from handlers.shortcuts import SHORTCUTS
from tests.handlers.command_client import ALICE, BOB, CAROL, FAR, MIA, TEAM_A, CommandClient
from tests.handlers.test_thread_commands import posted

WHOLE = (
    "--image ghcr.io/acme/train:7 --gpus 2 --gpu-type h100 --cpu 3 --kind sync --nodes 2"
    " --processes 2 --env LR=0.1 --env 'NOTE=two words' --secret KEY=wandb/key"
    " --time 2h --code acme/lane@3f2a9c1"
    " -- python train.py --note 'two words'"
)


def used(
    client: CommandClient, shortcut: str, person: str = ALICE, channel: str = TEAM_A, ts: str = ""
) -> Reply:
    """The answer to a shortcut of the message with this ts, or of the other menu."""
    incoming = client.incoming(person, channel, command=shortcut, message_ts=ts)
    reply = client.application.dispatcher.answer(replace(incoming, kind="shortcut"))
    assert reply is not None
    return reply


def form_of(reply: Reply) -> Form:
    assert reply.form is not None, as_text(reply)
    return reply.form


def held(form: Form) -> dict[str, str]:
    return {each.name: each.initial for each in form.fields if each.initial}


@pytest.fixture
def card(client: CommandClient) -> str:
    """The ts of the card of Alice's run `lane`."""
    said = client.says(ALICE, TEAM_A, f"/train submit lane {WHOLE}")
    assert said.startswith("Submitted run `lane`"), said
    posted(client, "10.1")
    return "10.1"


def specs(client: CommandClient) -> list[RunSpec]:
    """What was asked for in each run, oldest first."""
    return client.application.database.read(
        lambda session: [asked_spec(run) for run in session.exec(select(Run).order_by(col(Run.id)))]
    )


def test_a_changed_run_keeps_all_else(client: CommandClient, card: str) -> None:
    form = form_of(used(client, "resubmit-run", ts=card))
    fields = {each.name: each.initial for each in form.fields} | {"name": "faster", "gpus": "1"}
    incoming = client.incoming(ALICE, TEAM_A, command="train", words="submit")
    said = client.answer(replace(incoming, kind="form", fields=fields))
    assert said.startswith("Submitted run `faster` with 2 nodes, each with 1 GPU of h100, 3 cores")
    lane, faster = specs(client)
    for each in ("gpus", "gpu_requests", "memory", "shm"):
        assert getattr(lane, each) != getattr(faster, each)
    same = {each: getattr(lane, each) for each in ("gpus", "gpu_requests", "memory", "shm")}
    assert msgspec.structs.replace(faster, **same) == lane


def test_a_form_knows_the_run_of_its_card(client: CommandClient, card: str) -> None:
    assert held(form_of(used(client, "stop-run", ts=card))) == {"run": "lane"}
    held_by_it = held(form_of(used(client, "compare-run", ts=card)))
    assert held_by_it == {"runs": "lane", "by": "run"}


def test_the_log_is_shown_at_once(client: CommandClient, card: str) -> None:
    later = used(client, "show-log", ts=card).later
    assert later is not None
    assert as_text(later()) == "Log of lane\nThere is no pod yet."


def test_a_message_about_no_run_says_so(client: CommandClient, card: str) -> None:
    assert card
    assert as_text(used(client, "stop-run", ts="99.9")) == (
        "This message is not about a run.\n"
        "Use the shortcut on the card of a run, or on a message in its thread."
    )


@pytest.mark.parametrize("shortcut", [each.callback_id for each in SHORTCUTS if each.on_card])
@pytest.mark.parametrize("person", [BOB, FAR])
def test_who_may_not_learns_no_names(
    client: CommandClient, card: str, shortcut: str, person: str
) -> None:
    reply = used(client, shortcut, person, ts=card)
    assert reply.form is None
    assert "lane" not in as_text(reply)


def saving(client: CommandClient, person: str, thread_ts: str | None = None) -> Reply:
    """The answer to the shortcut on a message with files."""
    incoming = client.incoming(person, TEAM_A, command="save-files", message_ts="1764230400.000100")
    used_on = replace(incoming, kind="shortcut", has_files=True, thread_ts=thread_ts)
    reply = client.application.dispatcher.answer(used_on)
    assert reply is not None
    return reply


def test_files_of_a_message_are_in_its_form(client: CommandClient) -> None:
    form = form_of(saving(client, ALICE))
    link = f"https://slack.com/archives/{TEAM_A}/p1764230400000100"
    assert (form.title, held(form)) == ("/dataset put", {"message": link})
    under = held(form_of(saving(client, ALICE, "1764230000.000200")))
    assert under == {"message": f"{link}?thread_ts=1764230000.000200&cid={TEAM_A}"}


def test_a_message_without_files_says_so(client: CommandClient) -> None:
    assert as_text(used(client, "save-files", ts="10.1")) == (
        "This message has no files.\n"
        "Drop files into the channel, then use the shortcut on that message."
    )


@pytest.mark.parametrize("person", [BOB, FAR])
def test_strangers_save_no_files_of_others(client: CommandClient, person: str) -> None:
    assert saving(client, person).form is None


def test_every_other_shortcut_opens_its_form(client: CommandClient) -> None:
    titles = [
        form_of(used(client, each.callback_id, MIA, "D0MIA")).title
        for each in SHORTCUTS
        if not each.of_message
    ]
    assert titles == ["/train submit", "/quota request", "/dataset cache", "/snapshot create"]


def test_a_form_outside_channels_is_for_members(client: CommandClient) -> None:
    reply = used(client, "submit-training", FAR, "D0FAR")
    assert reply.form is None


def test_an_unknown_shortcut_is_explained(client: CommandClient) -> None:
    assert as_text(used(client, "fly", CAROL)) == (
        "This shortcut is from another version and does not work here.\n"
        "`/qm help` lists the commands you can use."
    )
