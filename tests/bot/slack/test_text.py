from datetime import UTC, datetime, timedelta, timezone

import pytest

from bot.slack.card import Button, Card, Progress, Reply, Table, Tone
from bot.slack.markup import Markup, bold, channel, code, join, person, plain, when
from bot.slack.text import as_text, progress_text, readable

EIGHT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def test_a_terminal_shows_a_card_as_text() -> None:
    card = Card(
        title="lane",
        state="Running",
        tone=Tone.WORKING,
        lines=(join(person("U0ALICE"), " in ", channel("C0TEAMA")),),
        facts=(("Owner", plain("A & B")), ("GPUs", bold("2"))),
        progress=Progress(5, 10, "epochs"),
        table=Table(("queue", "GPUs"), (("team-a", "4"), ("b",))),
        code="epoch 1\nepoch 2\n",
        buttons=(Button("train.stop", "Stop", "7"), Button("train.logs", "Logs", "7")),
        footer=(when(EIGHT),),
    )
    names = {"U0ALICE": "alice", "C0TEAMA": "team-a"}
    assert as_text(Reply((plain("Done."),), card), names.__getitem__) == (
        "Done.\n"
        "▶️ lane · Running\n"
        "▰▰▰▰▰▰▱▱▱▱▱▱ 50 % · 5 of 10 epochs\n"
        "@alice in #team-a\n"
        "  Owner  A & B\n"
        "  GPUs   2\n"
        "  queue   GPUs\n"
        "  team-a  4\n"
        "  b\n"
        "  | epoch 1\n"
        "  | epoch 2\n"
        "  [Stop] [Logs]\n"
        "2026-11-21 08:00 UTC"
    )


def test_times_are_written_as_the_terminal_likes() -> None:
    berlin = timezone(timedelta(hours=1))
    shown = readable(when(EIGHT), moment_as=lambda at: at.astimezone(berlin).strftime("%H:%M"))
    assert shown == "09:00"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (plain("a < b & c > d"), "a < b & c > d"),
        (plain("&lt;"), "&lt;"),
        (plain("2*3*4 <@U1>"), "2*3*4 <@U1>"),
        (code("/train list"), "`/train list`"),
        (Markup("<https://a.b|the page> <https://a.b>"), "the page https://a.b"),
        (Markup("<!here> <!subteam^S1|@team>"), "@here @team"),
    ],
)
def test_markup_becomes_what_a_reader_would_see(markup: Markup, text: str) -> None:
    assert readable(markup) == text


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(0, 10, "steps"), "▱▱▱▱▱▱▱▱▱▱▱▱ 0 % · 0 of 10 steps"),
        (Progress(999, 1_000, "steps"), "▰▰▰▰▰▰▰▰▰▰▰▱ 99 % · 999 of 1,000 steps"),
        (Progress(1.5, 3, "TiB"), "▰▰▰▰▰▰▱▱▱▱▱▱ 50 % · 1.5 of 3 TiB"),
        (Progress(12, 10, ""), "▰▰▰▰▰▰▰▰▰▰▰▰ 100 % · 12 of 10"),
        (Progress(1_200, None, "steps"), "1,200 steps"),
        (Progress(5, 0, "steps"), "5 steps"),
    ],
)
def test_progress_without_total_has_no_bar(progress: Progress, text: str) -> None:
    assert progress_text(progress) == text
