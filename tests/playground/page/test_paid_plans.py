"""Suggested prompts and steps of workflows, as the page is told of them and acts on them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from bot.app import commands
from bot.slack.grammar.manifest import manifest
from playground.page.usual import usual_setup
from playground.settings import Setup
from playground.slack.people import PARTNER, User
from tests.playground.page.shown import Shown, shown

ALICE = {"as": "U0ALICE"}
STEP = "request_gpu_quota"
INPUTS = {
    "person": "U0ALICE", "channel": "C0TEAMA", "gpus": "8", "length": "3d", "reason": "CVPR",
}  # fmt: skip
MALLORY = "U0MALLORY"  # of another company
HELP = {"title": "What can I do here?", "message": "help"}


def paid(tmp_path: Path, play: Callable[[Shown], Awaitable[None]]) -> None:
    """Plays something on the page of a world whose app has all that the manifest can add."""

    async def plays(page: Shown) -> None:
        page.world.slack.install(manifest(commands(), agent_view=True, workflow_steps=True))
        await play(page)

    shown(tmp_path, plays)


def test_prompts_are_told_and_chosen(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        slack = page.world.slack
        told = dict(await page.told("U0ALICE", "outside"))
        assert told["prompts"] == {"offered": [HELP]}
        status, sent = await page.act("choose", **ALICE, title=HELP["title"])
        message = slack.channels[slack.im("U0ALICE").id].messages[-1]
        assert (status, sent) == (200, {"channel": message.channel, "ts": message.ts})
        assert (message.user, message.text) == ("U0ALICE", "help")
        assert await page.act("choose", **ALICE, title="Logs") == (
            409,
            {"error": "no prompt Logs is suggested; there is: What can I do here?"},
        )

    paid(tmp_path, play)


def test_the_tab_that_is_opened_is_told(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        for body, tab in (({}, "home"), ({"tab": "messages"}, "messages")):
            assert await page.act("home", **ALICE, **body) == (200, {})
            assert page.world.slack.courier.last is not None
            assert page.world.slack.courier.last[1]["event"]["tab"] == tab

    paid(tmp_path, play)


def test_steps_are_run_and_end_in_the_panel(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        (step,) = dict(await page.told("U0ALICE", "outside"))["workspace"]["steps"]
        assert (step["name"], step["title"]) == (STEP, "Request GPU quota")
        assert step["inputs"][2] == {
            "name": "gpus",
            "title": "GPUs",
            "hint": "How many to add, for example 8",
            "type": "string",
            "is_required": True,
        }
        status, run = await page.act("workflow", **ALICE, step=STEP, inputs=INPUTS)
        assert status == 200
        execution = page.world.slack.executions[run["id"]]
        (told,) = dict(await page.told("U0ALICE", "outside"))["outside"]["steps"]
        assert (told["id"], told["state"], told["outputs"]) == (run["id"], "runs", [])
        assert {"title": "Team channel", "value": "C0TEAMA"} in told["inputs"]
        execution.is_running, execution.outputs = False, {"decision": "approved"}
        (told,) = dict(await page.told("U0ALICE", "outside"))["outside"]["steps"]
        assert (told["state"], told["outputs"]) == (
            "completed",
            [{"title": "Decision", "value": "approved"}],
        )

    paid(tmp_path, play)


def test_wrong_workflows_say_what_is_right(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        page.world.slack.users[MALLORY] = User(MALLORY, "mallory", "Mallory Quist", team_id=PARTNER)
        asked = {"step": STEP, "inputs": INPUTS}
        for body, status, words in (
            ({**ALICE, "step": STEP}, 400,
             '"inputs" must be an object of values by the name of the input'),
            ({**ALICE, **asked, "step": "gpus"}, 409,
             "there is no step gpus; there is: request_gpu_quota"),
            ({**ALICE, "step": STEP, "inputs": {**INPUTS, "person": "Alice"}}, 409,
             "Workflow Builder does not take this: person must be of type slack#/types/user_id"),
            ({"as": MALLORY, **asked}, 409, "Mallory cannot use the app's steps"),
        ):  # fmt: skip
            assert await page.act("workflow", **body) == (status, {"error": words})
        assert page.world.slack.executions == {}

    paid(tmp_path, play)


def test_free_workspaces_are_told_of_neither(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        told = dict(await page.told("U0ALICE", "outside"))
        assert "prompts" not in told
        assert told["workspace"]["steps"] == []
        assert told["workspace"]["app"]["agent"] == ""
        assert (await page.act("choose", **ALICE, title="Logs"))[1] == {
            "error": "this app has no agent view"
        }

    shown(tmp_path, play)


def test_options_go_to_the_manifest() -> None:
    assert usual_setup().manifest == Setup().manifest == ()
    assert usual_setup(("--agent-view",)).manifest == ("--agent-view",)
