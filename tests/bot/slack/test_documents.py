"""Long texts in fixed width, as blocks."""

from bot.slack.blocks import card_blocks
from bot.slack.card import Card
from bot.slack.markup import plain


def test_a_document_is_shown_whole_in_blocks() -> None:
    text = "\n".join(f'"line {number}": "<{number}> & `more`",' for number in range(150))
    blocks = card_blocks(Card("", document=text), key="k")
    shown = [block["text"]["text"].removeprefix("```\n").removesuffix("\n```") for block in blocks]
    assert len(blocks) == 2
    assert "\n".join(shown) == plain(text.replace("`", "\u02cb"))


def test_of_long_logs_the_end_is_kept() -> None:
    log = "\n".join(f"step {number} & on" for number in range(1_000))
    (block,) = card_blocks(Card("", code=log), key="k")
    first, *_, last, fence = block["text"]["text"].removeprefix("```\n").splitlines()
    assert (last, fence) == ("step 999 &amp; on", "```")
    shown = block["text"]["text"].count("step ")
    assert first == f"… {1_000 - shown} earlier lines"
    assert shown > 100
