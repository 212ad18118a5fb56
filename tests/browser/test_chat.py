"""The chat in a browser: messages, people, threads, commands, keys."""

import re
from functools import partial
from typing import Any

from playground.slack.people import BOT_USER, Message
from playground.slack.posting import Change, edit, post
from tests.browser.conftest import TEAM_A, Played

LAST = "[...document.querySelectorAll('.item')].at(-1)?.innerText"


def posts(page: Played, text: str = "", **more: Any) -> Message:
    message = Message(more.pop("channel", TEAM_A), "", BOT_USER, text, **more)
    return page.slack.call(lambda: post(page.world.slack, message))


def test_what_people_write_is_text(opened: Played) -> None:
    tab = opened.tab
    tab.click(".composer textarea")
    tab.type("<img src=x onerror=alert(1)> & <script>1</script> *bold*")
    tab.press("Enter")
    shown = tab.until(f"{LAST}?.includes('onerror') && {LAST}")
    assert "<img src=x onerror=alert(1)> & <script>1</script> bold" in shown
    assert tab.ask("document.querySelectorAll('.messages img, .messages script').length") == 0
    assert tab.ask("document.querySelector('.message b + time') && 1") == 1


def test_text_of_slack_reads_as_there(opened: Played) -> None:
    tab = opened.tab
    text = (
        "*bold* _it_ ~gone~ `code <@U0BOB>` <@U0ALICE> <#C0TEAMB> <!here> <https://a.example|link>\n"
        "&gt; quoted\n```x &lt;b&gt; *y*```\n<javascript:alert(1)|bad> :white_check_mark: :nope:"
        " <!date^1700000000^{date_num} {time}|then>"
    )
    posts(opened, text)
    html = tab.until("document.querySelector('.message .text')?.innerHTML")
    plain = re.sub(r"<(\w+)(?: [^>]*)?>", r"<\1>", html)
    assert plain == (
        "<b>bold</b> <i>it</i> <s>gone</s> <code>code <span>@Bob</span></code> <span>@Alice</span>"
        " <span>#C0TEAMB</span> <span>@here</span> <a>link</a>"
        "<blockquote>quoted</blockquote><pre>x &lt;b&gt; *y*</pre>"
        "&lt;javascript:alert(1)|bad&gt; <span>✔</span> :nope: <time>2023-11-14 11:13 PM</time>"
    )
    assert 'href="https://a.example"' in html


def test_times_are_in_the_readers_zone(opened: Played) -> None:
    tab = opened.tab
    posts(opened, "at <!date^1700000000^{date_num} {time}|then>", channel="C0APPROVE")
    tab.click(".place", "gpu-approvals")
    assert "2023-11-14 11:13 PM" in tab.until(f"{LAST}?.includes('at 2023') && {LAST}")
    tab.click(".person", "Bob")
    assert "2023-11-14 5:13 PM" in tab.until(f"{LAST}?.includes('5:13') && {LAST}")


def test_switching_people_shows_only_theirs(opened: Played) -> None:
    tab = opened.tab
    posts(opened, "for Alice", viewer="U0ALICE")
    posts(opened, "for all, <@U0CAROL>")
    tab.until(f"{LAST}?.includes('for all')")
    assert "Only visible to you" in tab.text(".message.private")
    assert tab.text(".person:nth-child(3) .count") == "1"
    tab.click(".person", "Carol")
    tab.until("document.querySelectorAll('.item').length === 1")
    assert "for all" in tab.ask(LAST)
    names = "[...document.querySelectorAll('.place .name')].map((each) => each.innerText).join()"
    assert tab.ask(names) == "team-a,team-b,gpu-approvals,gpu-daily,Quartermaster"
    tab.until("!document.querySelector('.person:nth-child(3) .count')")


def test_clicks_outlast_what_comes_meanwhile(opened: Played) -> None:
    tab = opened.tab

    def comes() -> None:
        posts(opened, "breaking news")
        tab.streamed("breaking news")

    tab.click(".person", "Carol", meanwhile=comes)
    tab.until("document.querySelector('.person[aria-pressed=true] .name').innerText === 'Carol'")
    assert "breaking news" in tab.until(LAST)


def test_unread_channels_are_marked_until_seen(opened: Played) -> None:
    tab = opened.tab
    posts(opened, "news", channel="C0DAILY")
    posts(opened, "look, <@U0ALICE>", channel="C0APPROVE")
    tab.until("document.querySelectorAll('.place.unread').length === 2")
    assert tab.text(".place .count") == "1"
    tab.click(".place", "gpu-approvals")
    tab.until("document.querySelectorAll('.place.unread').length === 1")
    assert not tab.ask("document.querySelector('.place .count')")


def test_threads_open_beside_the_channel(opened: Played) -> None:
    tab = opened.tab
    card = posts(opened, "a card")
    posts(opened, "first reply", thread_ts=card.ts)
    tab.click(".replies", "1 reply")
    tab.until("document.querySelectorAll('.thread .item').length === 2")
    assert tab.until("document.activeElement.getAttribute('aria-label') === 'Reply in the thread'")
    tab.type("second reply")
    tab.press("Enter")
    tab.until("document.querySelector('.replies b')?.innerText === '2 replies'")
    assert tab.ask("document.querySelectorAll('#conversation .item').length") == 1
    tab.type("/train list")
    tab.press("Escape")
    assert not tab.ask("document.querySelector('#thread').hidden")
    tab.press("Enter")
    assert "/train is not supported in threads. Sorry!" in tab.text(".toast")
    tab.ask("document.activeElement.value = ''")
    tab.press("Escape")
    tab.until("document.querySelector('#thread').hidden")


def test_order_stays_when_old_messages_go(opened: Played) -> None:
    tab, slack = opened.tab, opened.world.slack
    shown = "[...document.querySelectorAll('.item')].map((each) => each.dataset.ts)"
    sent = [posts(opened, f"message {number}") for number in range(130)]
    for gone in (sent[0], sent[40], sent[89], sent[129]):
        opened.slack.call(partial(slack.delete, gone))
    sent.append(posts(opened, "the last"))
    opened.slack.call(lambda: edit(slack, sent[60], Change("changed")))
    left = [each.ts for number, each in enumerate(sent) if number not in {0, 40, 89, 129}]
    tab.until(f"{LAST}?.includes('the last') && {shown}.length === {len(left)}")
    assert tab.ask(shown) == left
    tab.open(opened.url)
    tab.until(f"{shown}.length === {len(left)}")
    assert tab.ask(shown) == left
    opened.slack.call(lambda: slack.delete(sent[20]))
    left.remove(sent[20].ts)
    tab.until(f"{shown}.length === {len(left)}")
    assert tab.ask(shown) == left
    read = f"document.querySelector('[data-ts=\"{sent[60].ts}\"] .text').textContent"
    assert tab.ask(read) == "changed"
    empty = "[...document.querySelectorAll('.chunk')].filter((each) => !each.firstChild).length"
    assert tab.ask(empty) == 0


def test_tools_stand_out_above_each_message(opened: Played) -> None:
    tab = opened.tab
    for number in range(30):
        posts(opened, f"message {number}")
    tab.until(f"{LAST}?.includes('message 29')")
    for number in (25, 26):  # the first of a chunk, and another one
        tools = f"[...document.querySelectorAll('.item')][{number}].querySelector('.tools')"
        reached = f"""(() => {{
          {tools}.scrollIntoView({{ block: "center" }});
          const box = {tools}.getBoundingClientRect();
          const found = document.elementFromPoint(box.x + box.width / 2, box.y + 2);
          return found.closest(".tools") === {tools};
        }})()"""
        assert tab.ask(reached) is True


def test_slash_lists_commands_by_keys(opened: Played) -> None:
    tab = opened.tab
    tab.click(".composer textarea")
    tab.type("/")
    commands = [c["command"] for c in opened.world.slack.manifest["features"]["slash_commands"]]
    named = "[...document.querySelectorAll('.suggestions b')].map((each) => each.innerText)"
    assert tab.until(f"{named}.length > 1 && {named}") == commands
    chosen = "document.querySelector('.suggestions [aria-selected=true] b').innerText"
    tab.press("ArrowDown")
    assert tab.ask(chosen) == commands[1]
    tab.press("ArrowUp")
    tab.press("ArrowUp")
    assert tab.ask(chosen) == commands[-1]
    tab.press("ArrowDown")
    tab.press("ArrowDown")
    tab.press("Enter")
    assert tab.ask("document.activeElement.value") == f"{commands[1]} "
    assert "submit | list" in tab.text(".note")
    assert tab.ask("document.querySelector('.suggestions').hidden") is True


def test_focus_stays_when_a_card_changes(opened: Played) -> None:
    tab = opened.tab
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Stop"}}
    rows = [{"type": "actions", "block_id": "a", "elements": [button]}]
    card = posts(opened, "before", blocks=rows)
    tab.until("document.querySelector('.message .button')")
    tab.ask("document.querySelector('.message .button').focus()")
    section = {"type": "section", "block_id": "s", "text": {"type": "mrkdwn", "text": "after"}}
    opened.slack.call(lambda: edit(opened.world.slack, card, Change("after", [section, *rows])))
    tab.until(f"{LAST}?.includes('after')")
    assert tab.ask("document.activeElement.innerText") == "Stop"
