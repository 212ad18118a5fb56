"""Home tabs with several processes: one publishes, another may follow it at any moment."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from typing_extensions import override

from bot.slack import metrics
from bot.slack.blocks import Rendered
from bot.slack.client import SlackClient
from playground.ledger import Fault
from tests.bot.slack.home.publishers import HomeRig


class _KilledError(Exception):
    """The process ends here."""


class _DyingClient(SlackClient):
    """The client of a process that is killed once Slack has its call."""

    @override
    def publish_home(self, person: str, view: Rendered, view_hash: str = "") -> str:
        super().publish_home(person, view, view_hash)
        raise _KilledError


def loses_its_lease(home: HomeRig) -> None:
    home.lease[0] = 0.0


def test_who_loses_the_lease_meanwhile_publishes_nothing(home: HomeRig) -> None:
    """Looking at many tabs may take longer than a lease lasts."""
    home.opens()
    home.pages.meanwhile = lambda: loses_its_lease(home)
    assert home.publishes() == 0
    home.lease[0] = 30.0
    assert home.publishes() == 1


def test_only_who_publishes_counts_open_tabs(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    assert metrics.HOME_TABS._value.get() == 1
    loses_its_lease(home)
    home.publishes()
    assert metrics.HOME_TABS._value.get() == 0


def test_a_lost_change_once_undone_is_corrected(home: HomeRig) -> None:
    """Slack shows what the bot never heard of, and what it should show is what it showed before."""
    home.opens()
    home.publishes()
    home.pass_time(6)
    home.pages.said["U0ALICE"] = "1 request waits."
    home.slack.workspace.ledger.by_name["views.publish"] = [Fault.LOSE_ANSWER]
    home.publishes()
    assert home.shows() == "1 request waits."
    home.pages.said["U0ALICE"] = "No runs."
    home.pass_time(60)
    home.publishes()
    assert home.shows() == "No runs."


def test_what_a_killed_process_published_is_corrected(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    home.pass_time(6)
    home.pages.said["U0ALICE"] = "1 request waits."
    token = home.slack.workspace.credentials.bot_token
    dying = home.another(_DyingClient(token, home.slack.api, "T0QM"))
    with pytest.raises(_KilledError):
        dying.publish_due()
    assert home.shows() == "1 request waits."
    home.pages.said["U0ALICE"] = "No runs."
    home.pass_time(60)
    home.another().publish_due()
    assert home.shows() == "No runs."


def test_a_click_during_a_failing_call_is_answered(home: HomeRig) -> None:
    """The click came to another process; the failure must not put off what it asks for."""
    home.slack.workspace.ledger.by_name["views.publish"] = [Fault.REFUSE]
    home.opens()
    home.pages.meanwhile = home.opens
    home.publishes()
    assert home.shows() == "No runs."


def test_who_opens_while_recalled_is_followed(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    home.pass_time(7_200)
    home.pages.rights["U0ALICE"] = "lead"
    home.pages.meanwhile = home.opens
    home.publishes()
    home.pass_time(1_800)
    home.pages.said["U0ALICE"] = "lane is running."
    home.publishes()
    assert home.shows() == "lane is running."


def test_a_person_who_left_slack_is_given_up(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    home.pass_time(7_200)
    home.pages.rights["U0ALICE"], home.pages.said["U0ALICE"] = "none", "You belong to no team."
    home.slack.workspace.users.pop("U0ALICE")
    refused = list[int]()
    for _ in range(120):
        home.publishes()
        home.pass_time(61)
        refused.append(len(home.slack.workspace.refusals))
    assert 1 <= refused[10] < 10
    assert refused[-1] == refused[10]


def test_rights_that_change_nothing_recall_once(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    home.pass_time(7_200)
    home.pages.rights["U0ALICE"] = "lead"
    for _ in range(60):
        home.publishes()
        home.pass_time(61)
    assert home.row().wants == 2


def test_no_click_is_lost_to_other_processes(home: HomeRig) -> None:
    """People click wherever their requests arrive, while tabs are published."""
    people = [f"U0P{number:02}" for number in range(6)]
    known = home.slack.workspace.users
    known |= {person: replace(known["U0ALICE"], id=person) for person in people}

    def clicks(turn: int) -> None:
        for number in range(20):
            home.opens(people[(turn + number) % len(people)], is_blank=number % 2 == 0)

    with ThreadPoolExecutor(3) as processes:
        clicking = [processes.submit(clicks, turn) for turn in range(3)]
        while not all(each.done() for each in clicking):
            home.publishes()
            home.pass_time(3)
    assert [each.result() for each in clicking] == [None, None, None]
    home.publishes()
    home.pass_time(3)
    home.publishes()
    rows = [home.row(person) for person in people]
    assert sum(row.wants for row in rows) == 3 * 20
    assert [row.shown for row in rows] == [row.wants for row in rows]
    assert {home.shows(person) for person in people} == {"No runs."}
