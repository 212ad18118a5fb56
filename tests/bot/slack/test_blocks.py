from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bot.slack.blocks import card_blocks, reply_blocks, with_plain_tables
from bot.slack.card import Button, Card, Confirm, Progress, Reply, Table, Tone
from bot.slack.markup import Markup, code, person, plain, when
from bot.slack.text import reply_text, text_of
from tests.bot.slack.judge import made_by_library
from tests.bot.slack.slack_limits import message_faults


def texts(content: object) -> Iterator[str]:
    """Every text and value in blocks, at any depth."""
    if isinstance(content, dict):
        for key, inner in content.items():
            if key in {"text", "value"} and isinstance(inner, str):
                yield inner
            yield from texts(inner)
    elif isinstance(content, list):
        for inner in content:
            yield from texts(inner)


def test_too_much_of_everything_still_fits() -> None:
    much = "<&`\n" * 2_000
    confirm = Confirm(much, much, much, much)
    stops = tuple(Button("train.stop", much, "7" * 36, confirm=confirm) for _ in range(40))
    full = Card(
        title=much,
        state=much,
        tone=Tone.BAD,
        lines=(plain(much),) * 50,
        facts=((much, plain(much)),) * 30,
        progress=Progress(1e300, 1e308, much),
        table=Table((much,) * 30, ((much,) * 30,) * 130),
        code=much,
        document=much,
        buttons=stops,
        footer=(plain(much),) * 20,
    )
    reply = Reply((plain(much),) * 50, full, stops)
    blocks = reply_blocks(reply, key="k")
    assert message_faults(reply_text(reply), blocks) == []
    assert [made_by_library(block) for block in blocks] == blocks
    kinds = [block["type"] for block in blocks]
    assert {"header", "section", "table", "actions", "context"} == set(kinds)
    assert any("```" in text for text in texts(blocks))


LANE = Card(
    title="lane",
    state="Running",
    tone=Tone.WORKING,
    lines=(plain("epoch 1 <loss 0.3>"),),
    facts=(("Owner", person("U0ALICE")), ("GPUs", plain("2"))),
    progress=Progress(400, 1_000, "steps"),
    table=Table(("queue", "GPUs"), (("team-a", "4"),)),
    code="a ```b``` <c>\n",
    buttons=(
        Button("train.stop", "Stop", "7", "danger", Confirm("Stop?", "It ends.", "Stop it")),
        Button("train.stop", "Stop all", "8"),
    ),
    footer=(when(datetime(2026, 11, 21, 8, 0, tzinfo=UTC)),),
)


def without_ids(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in block.items() if k != "block_id"} for block in blocks]


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def words(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": True}


def test_a_card_from_top_to_bottom() -> None:
    confirm = {
        "title": words("Stop?"),
        "text": words("It ends."),
        "confirm": words("Stop it"),
        "deny": words("Cancel"),
    }
    stop = {"type": "button", "text": words("Stop"), "action_id": "train.stop", "value": "7"}
    stop_all = {"type": "button", "text": words("Stop all"), "action_id": "train.stop:2"}
    assert without_ids(card_blocks(LANE, key="run.7")) == [
        {"type": "header", "text": {"type": "plain_text", "text": "▶️ lane · Running"}},
        {"type": "section", "text": mrkdwn("▰▰▰▰▱▱▱▱▱▱▱▱ 40 % · 400 of 1,000 steps")},
        {"type": "section", "text": mrkdwn("epoch 1 &lt;loss 0.3&gt;")},
        {"type": "section", "fields": [mrkdwn("*Owner*\n<@U0ALICE>"), mrkdwn("*GPUs*\n2")]},
        {
            "type": "table",
            "rows": [
                [{"type": "raw_text", "text": "queue"}, {"type": "raw_text", "text": "GPUs"}],
                [{"type": "raw_text", "text": "team-a"}, {"type": "raw_text", "text": "4"}],
            ],
        },
        {
            "type": "section",
            "text": mrkdwn("```\na \u02cb\u02cb\u02cbb\u02cb\u02cb\u02cb &lt;c&gt;\n```"),
        },
        {
            "type": "actions",
            "elements": [
                {**stop, "style": "danger", "confirm": confirm},
                {**stop_all, "value": "8"},
            ],
        },
        {
            "type": "context",
            "elements": [
                mrkdwn("<!date^1795248000^{date_short_pretty} {time}|2026-11-21 08:00 UTC>")
            ],
        },
    ]


def test_block_ids_change_with_content_only() -> None:
    first = [block["block_id"] for block in card_blocks(LANE, key="run.7")]
    again = [block["block_id"] for block in card_blocks(LANE, key="run.7")]
    later = card_blocks(Card("lane", "Running", Tone.WORKING), key="run.7")
    assert first == again
    assert later[0]["block_id"] == first[0]
    assert first[0].startswith("run.7.0.")


def test_half_a_surrogate_pair_is_shown_too() -> None:
    assert card_blocks(Card("\ud83d"), key="k")[0]["text"]["text"] == "\ud83d"


def test_long_tables_say_how_many_rows_are_left() -> None:
    rows = tuple((f"run-{number}", "1") for number in range(110))
    blocks = card_blocks(Card("Runs", table=Table(("run", "GPUs"), rows)), key="k")
    assert (blocks[1]["type"], len(blocks[1]["rows"])) == ("data_table", 100)
    assert blocks[2]["elements"] == [mrkdwn("_… 11 more rows_")]


def test_long_tables_have_pages_and_sort() -> None:
    rows = tuple((f"run-{number}", f"{number / 2:.1f}", "-") for number in range(11))
    made = card_blocks(Card("Runs", table=Table(("run", "GPUs", "note"), rows)), key="k")
    (block,) = without_ids(made[1:])
    assert (block["type"], block["caption"], block["page_size"]) == ("data_table", "Runs", 10)
    assert block["rows"][:3] == [
        [raw("run"), raw("GPUs"), raw("note")],
        [raw("run-0"), {"type": "raw_number", "value": 0.0, "text": "0.0"}, raw("-")],
        [raw("run-1"), {"type": "raw_number", "value": 0.5, "text": "0.5"}, raw("-")],
    ]
    (plain_one,) = without_ids(with_plain_tables(made)[1:])
    assert plain_one["type"] == "table"
    assert plain_one["rows"][2] == [raw("run-1"), raw("0.5"), raw("-")]


def raw(text: str) -> dict[str, Any]:
    return {"type": "raw_text", "text": text}


def test_long_lists_say_how_many_lines_are_left() -> None:
    lines = tuple(plain(f"{number:03} " + "x" * 96) for number in range(200))
    blocks = card_blocks(Card("Runs", lines=lines), key="k")
    shown = "\n".join(block["text"]["text"] for block in blocks[1:]).splitlines()
    assert shown[-1] == f"_… {200 - len(shown) + 1} more lines_"
    assert len(shown) > 100


def test_too_many_buttons_are_counted() -> None:
    buttons = tuple(Button("train.stop", "Stop", str(number)) for number in range(30))
    blocks = card_blocks(Card("Runs", buttons=buttons), key="k")
    assert len(blocks[1]["elements"]) == 25
    assert blocks[2]["elements"] == [mrkdwn("_… 5 more buttons_")]


def test_cuts_never_break_mentions_or_escapes() -> None:
    line = Markup("x" * 2_990 + str(person("U0ALICE")) + "&amp;" + str(code("y")))
    (section,) = card_blocks(Card("", lines=(line,)), key="k")
    assert section["text"]["text"] == "x" * 2_990 + "…"


def test_a_reply_shows_lines_card_and_buttons() -> None:
    reply = Reply((plain("Sure?"),), Card("lane"), (Button("train.stop", "Stop", "7"),))
    assert [block["type"] for block in reply_blocks(reply, key="k")] == [
        "section",
        "header",
        "actions",
    ]
    assert reply_blocks(Reply(), key="k") == []
    assert reply_text(Reply()) == "Done."


def test_the_fallback_reads_like_a_sentence() -> None:
    assert text_of(LANE) == "▶️ lane · Running. Owner: <@U0ALICE>. GPUs: 2."
    assert text_of(Card("lane", lines=(plain("It waits."),))) == "lane. It waits."
    assert text_of(Card("")) == "Quartermaster."
