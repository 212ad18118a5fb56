"""A command that lacks something opens a form, which sends the whole command when it is filled."""

from dataclasses import replace

import msgspec
import pytest

from bot.slack.forms.form import MORE, Form
from bot.slack.grammar.filling import FormFacts, fields_of
from bot.slack.text import as_text
from tests.handlers.command_client import ALICE, BOB, CAROL, TEAM_A, CommandClient
from tests.handlers.filled_forms import answer, foreseen, opened, sent, used

RUN = {"name": "lane", "image": "ghcr.io/acme/train:7", "gpus": "2"}


def test_a_command_without_a_name_opens_its_form(client: CommandClient) -> None:
    form = opened(client, "/train submit --gpus 2 --env A=1 -- python train.py --lr '0 1'")
    assert (form.title, form.submit) == ("/train submit", "Submit")
    filled = {each.name: each.initial for each in form.fields if each.initial}
    assert filled == {
        "gpus": "2",
        "command": "python train.py --lr '0 1'",
        "more-options": "--env A=1",
    }


def test_a_run_without_an_image_asks_for_it(client: CommandClient) -> None:
    form = opened(client, "/train submit lane --env A=1 -- python train.py")
    assert {each.name: each.initial for each in form.fields if each.initial} == {
        "name": "lane",
        "command": "python train.py",
        "more-options": "--env A=1",
    }
    assert foreseen(form)[0] == "`--image IMAGE` is missing, and no preset sets it."
    reply = sent(client, form, {"gpus": "1"})
    assert (reply.is_refusal, reply.form) == (True, None)
    assert reply.errors == {
        "image": "--image IMAGE is missing, and no preset sets it."
        " Add it, for example --image ghcr.io/acme/lane:3.1."
    }


def test_a_filled_form_sends_the_command(client: CommandClient) -> None:
    form = opened(client, "/train submit -- python train.py")
    said = as_text(sent(client, form, RUN | {"more-options": "--env LR=0.1\n--env B=2"}))
    assert said.startswith("Submitted run `lane` with 2 GPUs")
    record = client.says(ALICE, TEAM_A, "/train show lane")
    assert "`python train.py`" in record
    assert "`LR=0.1 B=2`" in record


def test_a_flag_is_shown_without_a_value(client: CommandClient) -> None:
    (more,) = (each for each in opened(client, "/quota request").fields if each.name == MORE)
    assert (more.hint, more.example) == ("As in a command: --break-glass", "--break-glass")


def test_labels_are_words_of_people(client: CommandClient) -> None:
    registry = client.application.registry
    labels = {
        each.label
        for command in registry.commands.values()
        for verb in command.verbs.values()
        for each in fields_of(verb, FormFacts(applying=verb.form.dependent))
    }
    assert [each for each in sorted(labels) if each.startswith("Is ") or "bytes" in each] == []
    assert {"Boost", "In place", "Read only", "Without confirmation", "Size"} <= labels


def test_fields_that_do_not_fit_say_so(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    reply = sent(client, form, {"name": "Lane!", "image": "ghcr.io/acme/train:7", "gpus": "many"})
    assert reply.is_refusal
    assert set(reply.errors) == {"name", "gpus"}
    assert reply.errors["name"].startswith("This cannot be Lane!. Write a name of lower-case")


def test_what_the_command_refuses_keeps_the_form(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    reply = sent(client, form, RUN | {"more-options": "--colour red"})
    assert reply.is_refusal
    assert "has no option `--colour`" in as_text(reply)


def test_rights_are_checked_before_and_after(client: CommandClient) -> None:
    words = client.incoming(BOB, TEAM_A, command="train", words="submit")
    refused = answer(client, words)
    assert refused.form is None
    assert as_text(refused).splitlines()[0] == "You are not a member of team-a."
    form = opened(client, "/train submit")
    forged = replace(form, place=msgspec.structs.replace(form.place, channel="C0TEAMB"))
    assert as_text(sent(client, forged, RUN)).splitlines()[0] == "You are not a member of team-b."


def test_a_mention_offers_the_form_by_a_button(client: CommandClient) -> None:
    mention = client.incoming(ALICE, TEAM_A, words="train submit --gpus 2", message_ts="1.1")
    reply = answer(client, replace(mention, kind="mention", trigger_id=None))
    (button,) = reply.buttons
    assert button.label == "Open form"
    assert as_text(reply).startswith("`NAME` is missing.")
    click = client.incoming(ALICE, TEAM_A, kind="button", command=button.action, value=button.value)
    form = answer(client, click).form
    assert form is not None
    assert {each.name: each.initial for each in form.fields}["gpus"] == "2"


@pytest.mark.parametrize(
    "typed",
    [
        "/train submit -- python t.py --password 7Q2x9ZfBv4LmRtKs1WpD8aHc6Ny3",
        "/train submit --env HF_TOKEN=7Q2x9ZfBv4LmRtKs1WpD8aHc6Ny3 -- python t.py",
        "/train submit lane --gpus 1 -- curl -u me:7Q2x9ZfBv4LmRtKs1WpD8aHc6Ny3 https://host",
    ],
)
def test_no_form_opens_with_a_secret(client: CommandClient, typed: str) -> None:
    _, _, words = typed.partition(" ")
    reply = answer(client, client.incoming(ALICE, TEAM_A, command="train", words=words))
    assert reply.form is None
    assert "looks like a secret" in as_text(reply).splitlines()[0]


@pytest.mark.parametrize(
    ("typed", "label"),
    [
        ("-- python t.py " + "x" * 3_000, "Command"),
        (f"--pvc imagenet:/mnt/{'x' * 150} -- python t.py", "PVC"),
    ],
)
def test_no_form_opens_with_less_than_typed(client: CommandClient, typed: str, label: str) -> None:
    incoming = client.incoming(ALICE, TEAM_A, command="train", words=f"submit {typed}")
    reply = answer(client, incoming)
    assert reply.form is None
    first, *_, last = as_text(reply).splitlines()
    assert (first, last) == (
        "`NAME` is missing.",
        f"What {label} holds is too long for a form.",
    )


def test_no_changed_form_shows_a_secret(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    secret = RUN | {"command": "python t.py --password 7Q2x9ZfBv4LmRtKs1WpD8aHc6Ny3"}
    assert used(client, form, "form-change", fields=secret).form is None
    named = RUN | {"more-options": "--secret WANDB_API_KEY=wandb/api-key --env A=1"}
    assert used(client, form, "form-change", fields=named).form is not None
    more = RUN | {"more-options": "--env HF_TOKEN=7Q2x9ZfBv4LmRtKs1WpD8aHc6Ny3"}
    assert used(client, form, "form-change", fields=more).form is None


def test_secrets_of_the_namespace_are_named_in_forms(client: CommandClient) -> None:
    form = opened(client, "/train submit --secret WANDB_API_KEY=wandb/api-key --env A=1")
    assert {each.name: each.initial for each in form.fields if each.initial} == {
        "more-options": "--env A=1 --secret WANDB_API_KEY=wandb/api-key"
    }


def test_a_secret_in_a_form_is_refused(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    reply = sent(client, form, RUN | {"more-options": "--env KEY=ghp_" + "a1B2" * 9})
    assert reply.is_refusal
    assert "looks like a secret" in as_text(reply)


def offers(client: CommandClient, form: Form, field: str, typed: str = "") -> list[str]:
    """What people see to choose from in a field."""
    reply = used(client, form, "options", field_name=field, value=typed)
    return [each.shown for each in reply.options]


def test_a_field_offers_what_the_team_has(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, "/train submit lane --image ghcr.io/acme/train:7 --gpus 2")
    client.says(BOB, "C0TEAMB", "/train submit secret --image ghcr.io/acme/train:7")
    form = opened(client, "/train stop")
    assert offers(client, form, "run") == ["lane · Pending · Alice · 2 GPUs"]
    assert offers(client, form, "run", "ALICE lan") == ["lane · Pending · Alice · 2 GPUs"]
    assert offers(client, form, "run", "lan") == ["lane · Pending · Alice · 2 GPUs", "lan"]
    assert offers(client, form, "run", "nothing like it") == []


def test_what_can_be_a_value_is_offered(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    assert offers(client, form, "pvc", "fast:100Gi:/scratch") == ["fast:100Gi:/scratch"]
    assert offers(client, form, "pvc", "fast:lots:/scratch") == []
    assert offers(client, form, "pvc", "ghp_" + "a1B2" * 9) == []


def test_options_are_for_members_alone(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, "/train submit lane --image ghcr.io/acme/train:7 --gpus 2")
    form = opened(client, "/train stop")
    reply = used(client, form, "options", BOB, field_name="run")
    assert reply.options == ()
    assert as_text(reply).splitlines()[0] == "You are not a member of team-a."
    assert used(client, form, "form-change", BOB, fields={"run": "lane"}).form is None


def test_fields_come_and_go_with_the_kind(client: CommandClient) -> None:
    form = opened(client, "/train submit --kind mpi --nodes 2")
    assert {"nodes", "processes", "launcher"} <= {each.name for each in form.fields}
    changed = used(client, form, "form-change", fields=RUN | {"kind": "job", "nodes": "2"}).form
    assert changed is not None
    assert {"nodes", "processes"}.isdisjoint(each.name for each in changed.fields)
    assert foreseen(changed)[0].startswith("It would use 2 GPUs, ")


def test_fields_that_went_are_not_sent(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    said = as_text(sent(client, form, RUN | {"kind": "job", "nodes": "3"}))
    assert said.startswith("Submitted run `lane` with 2 GPUs")


def test_a_form_says_what_would_be_refused(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    changed = used(client, form, "form-change", fields=RUN | {"gpus": "900"}).form
    assert changed is not None
    assert foreseen(changed)[0].startswith("900 GPUs exceed the limit of team-a for one run: ")


def test_a_quota_form_says_what_it_would_be(client: CommandClient) -> None:
    form = opened(client, '/quota request --reason "CVPR deadline"')
    assert foreseen(form) == ["Fill in what is required to see what would happen."]
    fields = {"amount": "+8", "length": "3d", "reason": "CVPR deadline"}
    changed = used(client, form, "form-change", fields=fields).form
    assert changed is not None
    assert foreseen(changed) == [
        "team-a has a nominal quota of 4 GPUs of h100. It would be 12, for 3d."
    ]
    assert "No overrides have been requested yet." in client.says(ALICE, TEAM_A, "/quota history")


def test_a_form_says_what_the_base_becomes(client: CommandClient) -> None:
    form = opened(client, "/quota set --team team-a", CAROL)
    fields = {"amount": "+4", "team": "team-a"}
    changed = used(client, form, "form-change", CAROL, fields=fields).form
    assert changed is not None
    assert foreseen(changed) == [
        "team-a has a nominal quota of 4 GPUs of h100. It would be 8, permanently."
    ]


def test_looking_at_a_form_starts_nothing(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    used(client, form, "form-change", fields=RUN)
    assert "lane" not in client.says(ALICE, TEAM_A, "/train list")


@pytest.mark.parametrize(
    "text", ["/quota request", "/dataset add", "/snapshot schedule", "/snapshot clone"]
)
def test_every_verb_that_needs_something_has_one(client: CommandClient, text: str) -> None:
    assert opened(client, text).fields
