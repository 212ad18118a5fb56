"""The stream tells each person what they see, and nothing else."""

import json
from pathlib import Path

from playground.slack.files import File
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import Change, edit, post
from tests.playground.page.shown import Shown, shown

LOOKS = {
    "blocks": [],
    "broadcast": False,
    "deleted": False,
    "edited": False,
    "files": [],
    "notified": [],
    "only": False,
    "reactions": {},
    "thread": None,
    "user": BOT_USER,
}


def test_stream_begins_with_everything_one_sees(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        first = post(page.world.slack, Message("C0TEAMA", "", BOT_USER, "for all"))
        told = await page.told("U0ALICE", "outside")
        assert [name for name, _ in told] == [
            "begin", "story", "clock", "workspace", "messages", "views", "notified", "outside",
        ]  # fmt: skip
        events = dict(told)
        assert events["begin"] == {"turn": "1"}
        assert events["messages"] == {
            "channel": "C0TEAMA",
            "gone": [],
            "messages": [{**LOOKS, "ts": first.ts, "text": "for all"}],
        }
        assert events["views"] == {"forms": [], "home": None}
        workspace = events["workspace"]
        named = [each["name"] for each in workspace["channels"]]
        assert named == ["team-a", "gpu-approvals", "gpu-daily", "alice"]
        commands = page.world.slack.manifest["features"]["slash_commands"]
        assert workspace["commands"] == [
            {"name": c["command"], "description": c["description"], "hint": c["usage_hint"]}
            for c in commands
        ]
        assert len(commands) > 5

    shown(tmp_path, play)


def test_ephemerals_and_direct_messages_stay_private(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        slack = page.world.slack
        post(slack, Message("C0TEAMA", "", BOT_USER, "only Carol", viewer="U0CAROL"))
        post(slack, Message(slack.im("U0CAROL").id, "", BOT_USER, "a letter to Carol"))
        post(slack, Message("C0TEAMB", "", BOT_USER, "of another team"))
        for user, wanted in (
            ("U0CAROL", ["only Carol", "of another team", "a letter to Carol"]),
            ("U0ALICE", []),
            ("U0BOB", ["of another team"]),
        ):
            told = await page.told(user, "outside")
            texts = [m["text"] for name, e in told if name == "messages" for m in e["messages"]]
            assert texts == wanted
        assert [name for name, _ in await page.told("U0QM", "outside")] == [
            "begin", "story", "clock", "outside",
        ]  # fmt: skip

    shown(tmp_path, play)


def test_changes_are_sent_once_each(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        slack = page.world.slack
        kept = post(slack, Message("C0TEAMA", "", BOT_USER, "kept"))
        changed = post(slack, Message("C0TEAMA", "", BOT_USER, "before"))
        gone = post(slack, Message("C0TEAMA", "", BOT_USER, "gone"))
        lines: list[str] = []
        async with page.client.stream("GET", "events", params={"as": "U0ALICE"}) as answer:
            async for line in answer.aiter_lines():
                lines.append(line)
                if line == "event: outside" and lines.count("event: messages") == 1:
                    edit(slack, changed, Change("after"))
                    slack.delete(gone)
                elif lines[-2:-1] == ["event: messages"] and lines.count("event: messages") == 2:
                    break
        looks = {**LOOKS, "edited": True, "text": "after", "ts": changed.ts}
        told = json.loads(lines[-1].removeprefix("data: "))
        assert told == {"channel": "C0TEAMA", "messages": [looks], "gone": [gone.ts]}
        assert kept.ts not in lines[-1]

    shown(tmp_path, play)


def test_files_are_for_those_who_see_them(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        slack = page.world.slack
        log = slack.files["F1"] = File("F1", "lane.log", 5, b"hello", is_complete=True)
        picture = File("F2", "a.png", 9, b"\x89PNG\r\n\x1a\n!", is_complete=True)
        slack.files["F2"] = picture
        post(slack, Message(slack.im("U0ALICE").id, "", BOT_USER, "", files=[log]))
        shows = [{"type": "image", "alt_text": "GPUs", "slack_file": {"id": "F2"}}]
        post(slack, Message("C0TEAMA", "", BOT_USER, "", blocks=shows))

        async def asked(file: str, user: str) -> tuple[int, str, bytes]:
            answer = await page.client.get(f"files/{file}", params={"as": user})
            return answer.status_code, answer.headers["content-type"], answer.content

        nothing = (404, "text/plain; charset=utf-8", b"There is nothing here.\n")
        assert await asked("F1", "U0ALICE") == (200, "application/octet-stream", b"hello")
        assert await asked("F2", "U0ALICE") == (200, "image/png", picture.content)
        assert await asked("F1", "U0CAROL") == nothing
        assert await asked("F2", "U0BOB") == nothing
        assert await asked("F1", "U0QM") == nothing

    shown(tmp_path, play)


def test_what_failed_is_told_once(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        await page.act("write", **{"as": "U0ALICE", "channel": "C0TEAMA", "text": "/train list"})
        told = dict(await page.told("U0ALICE", "outside"))
        assert "failed" not in told
        (message,) = told["messages"]["messages"]
        assert message["text"] == '/train failed with the error "dispatch_failed"'
        assert message["only"] is True

    shown(tmp_path, play)
