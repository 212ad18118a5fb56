"""How fast the page is: its first paint, and scrolling through 2,000 messages.

`make test-browser PYTEST_ARGS="-k speed -s"` prints the figures.
"""

from collections.abc import Sequence
from typing import Any

from playground.slack.people import BOT_USER, Message
from tests.browser.conftest import TEAM_A, Played

FEW, FRAMES = 100, 120
PIXELS = 300  # a frame: 18,000 a second, faster than anyone reads
# Scrolls up from the end, and returns how long each frame took.
SCROLL = f"""new Promise((resolve) => {{
  const list = document.querySelector('.messages'), times = [];
  let last = performance.now(), left = {FRAMES};
  const step = (now) => {{
    times.push(now - last); last = now;
    list.scrollBy(0, -{PIXELS});
    if ((left -= 1) > 0) requestAnimationFrame(step);
    else resolve(times.slice(1).sort((one, other) => one - other));
  }};
  requestAnimationFrame(step);
}})"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def card(number: int) -> Message:
    """One as the bot posts it: a heading, fields and buttons."""
    fields = [
        {"type": "mrkdwn", "text": f"*{name}*\n`{number}` of {number + 1}"}
        for name in ("GPUs", "Step", "Loss", "Owner")
    ]
    stop = {"type": "plain_text", "text": "Stop"}
    blocks: list[dict[str, Any]] = [
        {
            "type": "header",
            "block_id": "h",
            "text": {"type": "plain_text", "text": f"run {number}"},
        },
        {"type": "section", "block_id": "s", "fields": fields},
        {
            "type": "actions",
            "block_id": "a",
            "elements": [{"type": "button", "action_id": "stop", "text": stop, "value": "x"}],
        },
    ]
    return Message(TEAM_A, f"17000{number:05}.000000", BOT_USER, "", blocks=blocks)


MANY = [card(number) for number in range(2_000)]


def fill(page: Played, messages: Sequence[Message]) -> None:
    """The channel has these, and the page shows all of them."""
    shown = f"document.querySelectorAll('.item').length === {len(messages)}"
    page.slack.call(lambda: page.world.slack.channels[TEAM_A].messages.extend(messages))
    page.tab.open(page.url)
    page.tab.until(shown)


def middle(times: Sequence[float]) -> float:
    return times[len(times) // 2]


def test_the_newest_are_painted_before_the_rest(page: Played) -> None:
    page.slack.call(lambda: page.world.slack.channels[TEAM_A].messages.extend(MANY))
    page.tab.open(page.url)
    page.tab.until("document.querySelector('.item')")
    paint_ms, newest_ms = page.tab.until(PAINT), page.tab.ask("performance.now()")
    page.tab.until(f"document.querySelectorAll('.item').length === {len(MANY)}")
    all_ms = page.tab.ask("performance.now()")
    print(  # noqa: T201  # asked for
        f"{len(MANY)} messages: first paint {paint_ms:.0f} ms, the newest after {newest_ms:.0f} ms,"
        f" all after {all_ms:.0f} ms"
    )
    assert paint_ms < newest_ms < all_ms


def test_many_messages_scroll_as_smoothly_as_few(page: Played) -> None:
    fill(page, MANY[:FEW])
    few = page.tab.ask(SCROLL)
    page.slack.call(page.world.slack.channels[TEAM_A].messages.clear)
    fill(page, MANY)
    many = page.tab.ask(SCROLL)
    late = many[int(len(many) * 0.95)]
    print(  # noqa: T201  # asked for
        f"a frame of scrolling takes {middle(many):.1f} ms (median), {late:.1f} ms (95th"
        f" percentile) with {len(MANY)} messages, {middle(few):.1f} ms with {FEW}"
    )
    # Processors that others use too make it three times as slow.
    assert middle(many) <= 8 * middle(few)
