"""What people do on the page, and what the page says where they cannot."""

from base64 import b64encode
from pathlib import Path
from typing import Any

from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from tests.playground.page.shown import Shown, shown

ALICE, TEAM_A = {"as": "U0ALICE"}, {"channel": "C0TEAMA"}


def button(text: str, **more: Any) -> dict[str, Any]:
    label = {"type": "plain_text", "text": text}
    return {"type": "button", "action_id": "go", "text": label, "value": text, **more}


def test_messages_call_the_bot_only_by_name(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        parent = post(page.world.slack, Message("C0TEAMA", "", BOT_USER, "a card"))
        for text, thread in (("hello", None), ("@quartermaster why", parent.ts)):
            status, _ = await page.act("write", **ALICE, **TEAM_A, text=text, thread=thread)
            assert status == 200
        said = [(m.text, m.thread_ts) for m in page.world.slack.channels["C0TEAMA"].messages[1:]]
        assert said == [("hello", None), ("<@U0QM> why", parent.ts)]
        assert page.world.slack.courier.last is not None
        assert page.world.slack.courier.last[1]["event"]["type"] == "app_mention"

    shown(tmp_path, play)


def test_commands_in_threads_are_refused(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        parent = post(page.world.slack, Message("C0TEAMA", "", BOT_USER, "a card"))
        said = {**ALICE, **TEAM_A, "text": "/train list", "thread": parent.ts}
        assert await page.act("write", **said) == (
            409,
            {"error": "/train is not supported in threads. Sorry!"},
        )

    shown(tmp_path, play)


def test_dropped_files_are_in_the_message(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        files = [{"name": "labels.csv", "content": b64encode(b"a,b\n").decode()}]
        status, _ = await page.act("drop", **ALICE, **TEAM_A, files=files, text="our labels")
        (message,) = page.world.slack.channels["C0TEAMA"].messages
        assert (status, page.world.slack.text_of(message)) == (
            200, "our labels\n[file: labels.csv, 4 bytes]",
        )  # fmt: skip
        assert message.files[0].content == b"a,b\n"
        for given, code, words in (
            ("labels.csv", 400, '"files" must be a list of {"name", "content"}'),
            ([{"name": "a", "content": "?"}], 400, '"content" must be in base64'),
        ):
            answer = await page.act("drop", **ALICE, **TEAM_A, files=given)
            assert answer == (code, {"error": words})
        elsewhere = await page.act("drop", **ALICE, channel="C0TEAMB", files=files)
        assert elsewhere == (409, {"error": "Alice is not in team-b"})

    shown(tmp_path, play)


def test_wrong_requests_say_what_is_right(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        for verb, body, status, words in (
            ("wirte", ALICE, 404, "people cannot wirte; did you mean write?"),
            ("write", {"as": "U0QM"}, 404, "there is no person U0QM"),
            ("write", {}, 400, '"as" is missing; it must be a text'),
            ("write", {**ALICE, **TEAM_A, "text": ""}, 400, '"text" is missing; it must be a text'),
            ("write", {**ALICE, "channel": "C0TEAMB", "text": "hi"}, 409, "Alice is not in team-b"),
            ("write", {**ALICE, "channel": "C0NONE", "text": "hi"}, 409, "channel_not_found"),
            ("submit", {**ALICE, "view": "V1"}, 400,
             '"values" must be an object of fields by their block_id'),
            ("close", {**ALICE, "view": "V1"}, 409, "this form is no longer open"),
        ):  # fmt: skip
            assert await page.act(verb, **body) == (status, {"error": words})

    shown(tmp_path, play)


def test_one_button_of_many_is_clicked(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        rows = [{"type": "actions", "block_id": name, "elements": [button(name)]} for name in "ab"]
        card = post(page.world.slack, Message("C0TEAMA", "", BOT_USER, "", blocks=rows))
        click = {**ALICE, **TEAM_A, "message": card.ts, "action": "go"}
        assert (await page.act("click", **click, block="b"))[0] == 200
        last = page.world.slack.transcript.entries[-2:]
        assert [entry.text for entry in last] == [
            "[b]",
            "We had some trouble connecting. Try again?",
        ]
        assert await page.act("click", **click, block="c") == (
            409,
            {"error": "no control go here; there is: none"},
        )

    shown(tmp_path, play)


def test_buttons_that_ask_need_confirmation(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        words = {key: {"type": "plain_text", "text": key} for key in ("title", "text", "deny")}
        asks = {**words, "confirm": {"type": "plain_text", "text": "Stop it"}}
        row = {"type": "actions", "block_id": "a", "elements": [button("Stop", confirm=asks)]}
        card = post(page.world.slack, Message("C0TEAMA", "", BOT_USER, "", blocks=[row]))
        click = {**ALICE, **TEAM_A, "message": card.ts, "action": "go", "block": "a"}
        assert await page.act("click", **click) == (409, {"error": "asks first: title: text"})
        assert (await page.act("click", **click, confirm=True))[0] == 200

    shown(tmp_path, play)


def test_others_ephemerals_cannot_be_clicked(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        row = {"type": "actions", "block_id": "a", "elements": [button("Go")]}
        only = Message("C0TEAMA", "", BOT_USER, "", blocks=[row], viewer="U0CAROL")
        card = post(page.world.slack, only)
        click = {**ALICE, **TEAM_A, "message": card.ts, "action": "go", "block": "a"}
        assert await page.act("click", **click) == (
            409,
            {"error": "Alice does not see this message"},
        )

    shown(tmp_path, play)


def test_nothing_is_sent_while_slack_is_down(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        said = {**ALICE, **TEAM_A, "text": "hello"}
        assert await page.post("world/slack", **{"is": "down"}) == (200, {"slack": "down"})
        assert await page.act("write", **said) == (
            409,
            {"error": "Slack is down. Bring it back in the panel Outside."},
        )
        await page.post("world/slack", **{"is": "up"})
        assert (await page.act("write", **said))[0] == 200

    shown(tmp_path, play)


def test_clusters_are_cut_and_come_back(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        for state, is_down in (("down", True), ("up", False), ("up", False)):
            assert (await page.post("world/cluster", **{"is": state}))[0] == 200
            (cluster,) = dict(await page.told("U0ALICE", "outside"))["outside"]["clusters"]
            assert cluster["is_down"] is is_down
        assert await page.post("world/cluster", **{"is": "down", "name": "defautl"}) == (
            404,
            {"error": "there is no cluster defautl; did you mean default?"},
        )

    shown(tmp_path, play)


def test_clock_moves_though_no_bot_lives(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        before = page.world.clock.now()
        assert (await page.post("world/clock", forward="3d"))[0] == 200
        assert (page.world.clock.now() - before).days == 3
        told = dict(await page.told("U0ALICE", "outside"))
        assert told["clock"]["offset"] == page.world.clock.offset.total_seconds()

    shown(tmp_path, play)


def test_last_act_is_delivered_again(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        assert await page.post("world/again") == (
            409,
            {"error": "there is no act to deliver again yet"},
        )
        await page.act("write", **ALICE, **TEAM_A, text="/train list")
        last = page.world.slack.courier.last
        assert await page.post("world/again") == (200, {"delivered": "/train"})
        assert page.world.slack.courier.last == last
        assert page.world.slack.transcript.entries[-1].text == (
            "/train was delivered again, and not acknowledged"
        )

    shown(tmp_path, play)
