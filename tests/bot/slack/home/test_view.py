"""A Home tab as a view: nothing is hidden, whatever it has to say."""

from datetime import UTC, datetime
from typing import Any

from bot.slack.card import Button
from bot.slack.home.page import FormButton, HomeItem, HomePage, HomeSection
from bot.slack.home.view import home_channel, home_view
from bot.slack.markup import plain
from playground.slack.limits import checked_view

AT, UNTIL = datetime(2026, 11, 21, 12, tzinfo=UTC), datetime(2026, 11, 21, 13, tzinfo=UTC)
FORM = FormButton("Submit training", "train", "submit --team team-a", is_primary=True)


def made(form: FormButton) -> Button:
    return Button("open-form", form.label, form.words, "primary")


def view(*of: HomeSection) -> dict[str, Any]:
    return home_view(HomePage(of), "D0ALICE", (AT, UNTIL), made)


def texts(shown: dict[str, Any]) -> list[str]:
    """The text of each block, or the labels of its buttons."""
    return [_text(block) for block in shown["blocks"]]


def _text(block: dict[str, Any]) -> str:
    if block["type"] == "actions":
        return " ".join(f"[{each['text']['text']}]" for each in block["elements"])
    if block["type"] == "context":
        return "\n".join(each["text"] for each in block["elements"])
    return str(block["text"]["text"])


def test_more_sections_than_blocks_fit_too() -> None:
    shown = view(*(HomeSection(f"Team {number}", (plain("Idle."),)) for number in range(150)))
    assert len(checked_view(shown)["blocks"]) <= 100
    assert texts(shown)[-1].startswith("_… 105 more sections_\nPublished ")


def test_a_section_shows_its_things_and_buttons() -> None:
    stop = Button("train.stop", "Stop", "lane", "danger")
    lane = HomeItem((plain("lane is running."),), (stop,))
    shown = view(HomeSection("Your runs", (plain("One."),), (lane,), buttons=(FORM,)))
    assert texts(shown) == [
        "Your runs", "One.", "[Submit training]", "lane is running.", "[Stop]",
        ("Published <!date^1795262400^{date_short_pretty} {time}|2026-11-21 12:00 UTC>. Kept up to"
         " date until <!date^1795266000^{date_short_pretty} {time}|2026-11-21 13:00 UTC>; open this"
         " tab again for longer."),
    ]  # fmt: skip


def test_what_does_not_fit_says_so() -> None:
    runs = tuple(HomeItem((plain(f"run-{number}"),)) for number in range(200))
    first = HomeSection("Your runs", items=runs, rest=plain("`/train list` lists them."))
    shown = texts(view(first, HomeSection("Platform", (plain("It works."),))))
    assert len(shown) == 100
    assert shown[0:2] == ["Your runs", "run-0"]
    assert shown[-4:-1] == [
        "*Your runs (105 more)* `/train list` lists them.", "Platform", "It works.",
    ]  # fmt: skip


def test_long_texts_leave_room_for_later_sections() -> None:
    long = tuple(HomeItem((plain("\U0001f600" * 2_900),)) for _ in range(20))
    shown = texts(view(HomeSection("Long", items=long), HomeSection("Platform", (plain("Up."),))))
    assert [len(text) for text in shown[1:7]] == [2_900] * 6
    assert shown[7:10] == ["*Long (14 more)* ", "Platform", "Up."]


def test_ids_of_blocks_change_with_their_content() -> None:
    one, other = (view(HomeSection("Runs", (plain(text),)))["blocks"] for text in ("a", "b"))
    assert one[0]["block_id"] == other[0]["block_id"]
    assert one[1]["block_id"] != other[1]["block_id"]


def test_a_view_of_ours_names_its_direct_messages() -> None:
    shown = view()
    assert home_channel(shown) == "D0ALICE"
    assert home_channel(shown | {"private_metadata": "C0TEAMA"}) == ""
    assert home_channel(shown | {"type": "modal"}) == ""
    assert home_channel(shown | {"callback_id": "form"}) == ""
    assert home_channel({}) == ""
