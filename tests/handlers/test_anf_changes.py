"""/anf level and /anf throughput as people type them: who may, what is asked, what is refused."""

from collections.abc import Iterator, Mapping

import pytest

from bot.slack.forms.form import Form
from bot.slack.text import as_text
from bot.volumes.changes.card import GIVE_BACK
from bot.volumes.changes.replies import GO
from tests.arm import Arm, served
from tests.handlers.anf_client import AnfClient, arrange, settings
from tests.handlers.command_client import ALICE, BOB, CAROL, DAN, ERIN, TEAM_A, TEAM_B, opened
from tests.handlers.filled_forms import foreseen, used
from tests.handlers.filled_forms import opened as form_of
from tests.playground.cluster.served import Runner, Served

ASKING = "Asking Azure about `models`…"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, runner: Runner) -> Iterator[AnfClient]:
    """One whose bot may change volumes."""
    folder = tmp_path_factory.mktemp("anf")
    with (
        Served(runner).serving() as world,
        served(Arm()) as arm,
        pytest.MonkeyPatch.context() as patch,
    ):
        for key, value in arm.identity.items():
            patch.setenv(key, value)
        arrange(world.cluster, arm)
        more = settings(arm).replace("anf: {", "anf: {changes: {longest: 30d}, ")
        with opened(folder, f"sqlite:///{folder}/test.db", world, more) as client:
            yield AnfClient(client, arm, world.cluster)


def button(client: AnfClient, words: str) -> str:
    """What the question's button carries."""
    incoming = client.client.incoming(ERIN, TEAM_A, command="anf", words=words)
    reply = client.client.application.dispatcher.answer(incoming)
    assert reply is not None
    assert reply.later is not None, as_text(reply)
    asked = reply.later()
    assert asked.card is not None, as_text(asked)
    (found,) = asked.card.buttons
    return found.value


@pytest.mark.parametrize("words", ["level models ultra", "throughput models 100"])
def test_members_and_strangers_are_refused_at_once(client: AnfClient, words: str) -> None:
    asked = len(client.arm.asked())
    assert client.says(ALICE, TEAM_A, f"/anf {words}") == (
        "This requires the right anf.change, which you do not have here.\nRoles with this right:"
        " admin, lead."
    )
    for person, channel in ((DAN, TEAM_A), (ERIN, TEAM_B)):
        assert "Asking Azure" not in client.says(person, channel, f"/anf {words}")
    assert "There is no PVC models in namespace team-b." in client.says(
        BOB, TEAM_B, f"/anf {words}"
    )
    assert len(client.arm.asked()) == asked


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("level models premum", "one of `standard`, `premium`, `ultra`, `flexible`, not `premum`."),
        ("level models premium --for 1m", "from 10m"),
        ("level models premium --for 90d", "At most 30 days: `--for 30d`."),
        ("level models premium --pool a/b", "the name of a capacity pool"),
        ("level modles premium", "Did you mean models?"),
        ("throughput models fast", "a whole number"),
        ("throughput models 0", "a whole number from 1"),
    ],
)
def test_wrong_words_are_told_what_is_right(client: AnfClient, words: str, told: str) -> None:
    assert told in client.says(ERIN, TEAM_A, f"/anf {words}")


def test_what_does_not_fit_follows_alone(client: AnfClient) -> None:
    assert client.says(ERIN, TEAM_A, "/anf throughput models 500") == ASKING
    assert client.learns(ERIN, TEAM_A, "throughput models 500") == (
        "Pool tuned has 131.1 MiB/s for this volume, of 131.1 MiB/s: its other volumes have the"
        " rest.\nAsk for less, or lower another volume's throughput first."
    )
    assert client.learns(ERIN, TEAM_A, "level models flexible").startswith(
        "Account ml has no other pool of level Flexible."
    )


def test_click_begins_it_once(client: AnfClient) -> None:
    value = button(client, "throughput models 100 --for 12h --reason fill")
    assert "anf.change" in client.client.clicks(ALICE, TEAM_A, GO, value)
    told = client.client.clicks(ERIN, TEAM_A, GO, value)
    assert told.endswith("Its card in this channel shows the progress.")
    number = told.split("`")[1]
    for again in (
        client.client.clicks(ERIN, TEAM_A, GO, value),
        client.says(CAROL, TEAM_A, "/anf level models ultra"),
    ):
        assert again == (
            "<@U0ERIN> requested another change of this volume: models to 100 MiB/s. It has not"
            " ended.\nWithdraw or revert it first, on its card in <#C0TEAMA>."
        ).replace("<@U0ERIN>", "@U0ERIN").replace("<#C0TEAMA>", "#C0TEAMA")
    assert len(number) == 6


def test_buttons_of_another_time_are_refused(client: AnfClient) -> None:
    assert client.client.clicks(ERIN, TEAM_A, GO, "{}") == (
        "This button is out of date.\nRequest it again."
    )
    assert client.client.clicks(ERIN, TEAM_A, GIVE_BACK, "0") == ("This change no longer exists.")


def test_a_form_refuses_what_needs_no_azure(client: AnfClient) -> None:
    asked = len(client.arm.asked())
    form = form_of(client.client, "/anf level", ERIN)
    assert [each.name for each in form.fields] == [
        "claim", "level", "pool", "length", "reason", "is_shrinking", "more-options",
    ]  # fmt: skip
    (first,) = said(client, form, {"claim": "faces", "level": "ultra"})
    assert first == (
        "Once you send it, Azure is asked what the change does and costs. Nothing changes before"
        " you confirm that."
    )
    too_long = {"claim": "faces", "level": "ultra", "length": "90d"}
    assert said(client, form, too_long) == [
        "The duration is longer than anf.changes.longest allows.",
        "At most 30 days: `--for 30d`.",
    ]
    assert said(client, form, {"claim": "model", "level": "ultra"})[0] == (
        "There is no PVC model in namespace team-a."
    )
    assert len(client.arm.asked()) == asked


def test_forms_offer_volumes_of_the_team(client: AnfClient) -> None:
    form = form_of(client.client, "/anf throughput", ERIN)
    offered = used(client.client, form, "options", ERIN, field_name="claim").options
    assert [each.value for each in offered] == ["faces", "lane-data", "models"]


def said(client: AnfClient, form: Form, fields: Mapping[str, str]) -> list[str]:
    changed = used(client.client, form, "form-change", ERIN, fields=fields).form
    assert changed is not None
    return foreseen(changed)
