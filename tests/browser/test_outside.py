"""The panel of the world outside, and the page around the chat: themes, phones, another world."""

from datetime import timedelta

from tests.browser.conftest import Played

GROUND = "getComputedStyle(document.querySelector('#conversation')).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(27, 26, 29)"


def test_panel_shows_nodes_queues_and_calls(opened: Played) -> None:
    tab = opened.tab
    nodes = "[...document.querySelectorAll('.node')].map((each) => each.innerText.split('\\n'))"
    product = "NVIDIA-H100-80GB-HBM3"
    assert tab.until(f"{nodes}.length && {nodes}") == [
        ["gpu-1", "0 of 8 GPUs", product, "Lose gpu-1"],
        ["gpu-2", "0 of 8 GPUs", product, "Lose gpu-2"],
    ]
    assert tab.ask("[...document.querySelectorAll('.queue')].map((each) => each.innerText)") == [
        "team-a h100\n0 of 4",
        "team-b h100\n0 of 8",
    ]
    tab.click(".node button", "Lose gpu-1")
    assert tab.text(".node .bad").strip() == "not ready"
    assert opened.world.cluster.inside.kubelet.lost_nodes == {"gpu-1"}


def test_cut_slack_says_so_and_returns(opened: Played) -> None:
    tab = opened.tab
    tab.click(".switches button", "Cut Slack")
    assert tab.text(".banner:not([hidden])") == (
        "Slack is down: nothing is sent and nothing comes, until you bring it back."
    )
    tab.click(".composer textarea")
    tab.type("hello")
    tab.press("Enter")
    assert "Slack is down. Bring it back in the panel Outside." in tab.text(".toast")
    assert tab.ask("document.querySelector('.composer textarea').value") == "hello"
    tab.click(".switches button", "Bring Slack back")
    tab.until("document.querySelector('.banner').hidden")


def test_refusals_of_slack_are_shown(opened: Played) -> None:
    slack = opened.world.slack
    opened.slack.call(lambda: slack.refusals.append(("chat.update", "invalid_blocks")))
    opened.slack.call(slack.changed)
    assert opened.tab.text("#outside .alert.error").split("\n") == [
        "Slack refused the bot",
        "chat.update: invalid_blocks",
    ]


def test_clock_moves_by_a_click(opened: Played) -> None:
    before = opened.world.clock.offset
    opened.tab.click(".switches button", "+1d")
    opened.tab.until("document.querySelector('#clock').title.includes('86,4')")
    assert round((opened.world.clock.offset - before) / timedelta(days=1), 3) == 1


def test_light_and_dark_follow_the_system(opened: Played) -> None:
    tab = opened.tab
    tab.prefers("light")
    assert tab.until(GROUND) == LIGHT
    tab.prefers("dark")
    assert tab.until(f"{GROUND} !== '{LIGHT}' && {GROUND}") == DARK
    tab.click("#theme")
    assert tab.until(f"{GROUND} !== '{DARK}' && {GROUND}") == LIGHT
    tab.open(opened.url)
    tab.until("document.querySelector('.composer textarea:enabled')")
    assert tab.ask(GROUND) == LIGHT
    tab.ask("localStorage.clear()")


def test_phones_show_one_column(page: Played) -> None:
    tab = page.tab
    tab.resize(390, 844, is_phone=True)
    tab.open(page.url)
    tab.until("document.querySelector('.composer textarea:enabled')")
    assert tab.ask("document.documentElement.scrollWidth") == 390
    assert tab.ask("document.querySelector('#sidebar').getClientRects().length") == 0
    tab.click("#open-sidebar")
    tab.click(".place", "gpu-daily")
    tab.until("document.querySelector('.title h2').innerText === '# gpu-daily'")
    assert tab.ask("document.querySelector('#sidebar').getClientRects().length") == 0
    tab.click("#open-outside")
    tab.until("document.querySelector('#outside').getClientRects().length")
    assert tab.ask("document.documentElement.scrollWidth") == 390


def test_everything_has_a_name(opened: Played) -> None:
    nameless = """[...document.querySelectorAll('button, input, select, textarea, [role=img]')]
      .filter((each) => !(each.innerText || each.getAttribute('aria-label')
        || document.querySelector(`label[for="${each.id}"]`)))
      .map((each) => each.outerHTML)"""
    opened.tab.until("document.querySelector('.node')")
    assert opened.tab.ask(nameless) == []


def test_address_says_where_one_is(opened: Played) -> None:
    tab = opened.tab
    tab.click(".person", "Carol")
    tab.until("document.querySelectorAll('.place').length === 5")
    tab.click(".place", "team-b")
    assert tab.ask("location.hash") == "#U0CAROL/C0TEAMB"
    tab.open("about:blank")
    tab.open(f"{opened.url}#U0CAROL/C0TEAMB")
    tab.until("document.querySelector('.title h2')?.innerText === '# team-b'")
    assert tab.text(".person[aria-pressed=true] .name") == "Carol"
