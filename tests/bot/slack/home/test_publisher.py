"""Home tabs follow what changes: soon, within Slack's limits, and only while people look."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.database.topics import touch
from bot.errors import ChatError
from bot.slack.home import tabs
from bot.slack.messages import TOPIC as MESSAGES
from bot.slack.sending.budgets import HOME, Call
from playground.ledger import Fault
from playground.slack.faults import Down
from tests.bot.slack.home.publishers import HomeRig
from tests.bot.slack.receiving.dispatchers import client_of, wait_until


def test_an_opened_tab_is_published_at_once(home: HomeRig) -> None:
    home.opens(is_blank=True)
    assert not home.publisher.is_quiet()
    assert home.publishes() == 1
    assert home.shows() == "No runs."
    assert home.publisher.is_quiet()


def test_a_tab_that_has_not_changed_is_left(home: HomeRig) -> None:
    home.opens(is_blank=True)
    home.publishes()
    for _ in range(3):
        home.pass_time(30)
        home.opens()
        assert home.publishes() == 0
    home.opens(is_blank=True)
    assert home.publishes() == 1


def test_a_change_is_published_to_who_sees_it(home: HomeRig) -> None:
    for person in ("U0ALICE", "U0BOB"):
        home.opens(person)
    home.publishes()
    home.pass_time(10)
    home.pages.said["U0ALICE"] = "lane is running."
    assert home.publishes() == 1
    assert (home.shows("U0ALICE"), home.shows("U0BOB")) == ("lane is running.", "No runs.")


def test_changes_within_seconds_are_published_together(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    for step in range(8):
        home.pages.said["U0ALICE"] = f"step {step}"
        home.publishes()
        home.pass_time(1)
    assert home.calls() == 2
    home.publishes()
    assert home.shows() in {"step 5", "step 6", "step 7"}
    home.pass_time(5)
    home.publishes()
    assert home.shows() == "step 7"


def test_who_opens_the_tab_goes_before_changes(home: HomeRig) -> None:
    people = [f"U0P{number:02}" for number in range(40)]
    known = home.slack.workspace.users
    for person in people:
        known[person] = replace(known["U0ALICE"], id=person)
        home.opens(person)
    while home.publishes():
        home.pass_time(1)
    for person in people:
        home.pages.said[person] = "changed"
    home.pass_time(6)
    home.publishes()
    home.opens("U0BOB")
    home.publishes()
    assert home.shows("U0BOB") == "No runs."
    assert any(home.shows(person) == "No runs." for person in people)


def test_a_crowd_fits_the_limit_of_a_minute(home: HomeRig) -> None:
    people = [f"U0P{number:03}" for number in range(150)]
    known = home.slack.workspace.users
    for person in people:
        known[person] = replace(known["U0ALICE"], id=person)
        home.opens(person)
    for _ in range(60):
        home.publishes()
        home.pass_time(1)
    assert 90 <= home.calls() <= 100
    assert home.slack.workspace.refusals == []
    for _ in range(60):
        home.publishes()
        home.pass_time(1)
    assert {home.shows(person) for person in people} == {"No runs."}


def test_a_tab_is_followed_for_an_hour(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    home.pass_time(3_601)
    home.pages.said["U0ALICE"] = "lane is running."
    looked = len(home.pages.looked)
    assert home.publishes() == 0
    assert len(home.pages.looked) == looked
    home.opens()
    assert home.publishes() == 1
    assert home.shows() == "lane is running."


def test_lost_rights_are_followed_for_longer(home: HomeRig) -> None:
    """What Slack keeps of a tab that no one looks at must not outlive a membership."""
    home.opens()
    home.publishes()
    home.pass_time(7_200)
    home.pages.rights["U0ALICE"], home.pages.said["U0ALICE"] = "none", "You belong to no team."
    home.publishes()
    assert home.publishes() == 1
    assert home.shows() == "You belong to no team."
    home.pass_time(400)
    home.pages.said["U0ALICE"] = "Something else."
    assert home.publishes() == 0


def test_a_lost_answer_is_made_up_for(home: HomeRig) -> None:
    home.opens()
    home.publishes()
    home.pass_time(6)
    home.pages.said["U0ALICE"] = "lane is running."
    home.slack.workspace.ledger.by_name["views.publish"] = [Fault.LOSE_ANSWER]
    home.publishes()
    home.pages.said["U0ALICE"] = "lane has ended."
    home.pass_time(30)
    home.publishes()
    assert home.shows() == "lane has ended."
    assert home.slack.workspace.refusals == [("views.publish", "hash_conflict")]
    assert home.row().attempts == 0


def test_a_late_call_undoes_nothing_newer(home: HomeRig) -> None:
    """A call that reaches Slack late has the hash of what stood there when it was made."""
    home.opens()
    home.publishes()
    late = home.row().view_hash
    home.pass_time(6)
    home.pages.said["U0ALICE"] = "lane is running."
    home.publishes()
    view = {"type": "home", "blocks": [{"type": "divider"}]}
    with pytest.raises(ChatError, match="hash_conflict"):
        client_of(home.slack).publish_home("U0ALICE", view, late)
    assert home.shows() == "lane is running."


@pytest.mark.parametrize("down", [Down.REFUSED, Down.UNAVAILABLE])
def test_an_outage_is_waited_for(home: HomeRig, down: Down) -> None:
    home.slack.workspace.faults.down = down
    home.opens()
    home.publishes()
    assert home.row().attempts == 1
    assert home.publisher.is_quiet()
    home.slack.workspace.faults.down = None
    home.publishes()
    assert home.shows() == ""
    home.pass_time(60)
    home.publishes()
    assert home.shows() == "No runs."
    assert home.row().attempts == 0


def test_who_opens_a_failed_tab_waits_no_longer(home: HomeRig) -> None:
    home.slack.workspace.ledger.by_name["views.publish"] = [Fault.REFUSE]
    home.opens()
    home.publishes()
    assert home.shows() == ""
    home.opens()
    home.publishes()
    assert home.shows() == "No runs."


def test_slack_may_ask_to_wait(home: HomeRig) -> None:
    home.slack.workspace.faults.limited = {"views.publish": 40}
    home.opens()
    assert home.publishes() == 1
    assert home.publishes() == 0
    assert home.publisher.is_quiet()
    home.slack.workspace.faults.limited = {}
    home.pass_time(41)
    home.publishes()
    assert home.shows() == "No runs."


def test_a_tab_that_is_off_is_tried_rarely(home: HomeRig) -> None:
    home.slack.workspace.app = replace(home.slack.workspace.app, has_home=False)
    home.opens()
    for _ in range(5):
        home.publishes()
        home.pass_time(60)
    assert home.slack.workspace.refusals == [("views.publish", "not_enabled")]
    home.slack.workspace.app = replace(home.slack.workspace.app, has_home=True)
    home.pass_time(400)
    home.publishes()
    assert home.shows() == "No runs."


def test_a_person_unknown_to_slack_stops_no_other(home: HomeRig) -> None:
    home.opens("U0GONE")
    home.opens("U0ALICE")
    home.publishes()
    assert home.shows("U0ALICE") == "No runs."
    assert home.slack.workspace.refusals == [("views.publish", "user_not_found")]


def test_a_restart_publishes_only_what_changed(home: HomeRig) -> None:
    for person in ("U0ALICE", "U0BOB"):
        home.opens(person)
    home.publishes()
    home.pages.said["U0BOB"] = "lane is running."
    home.pass_time(6)
    next_one = home.another()
    next_one.publish_due()
    assert home.calls() == 3
    assert home.shows("U0BOB") == "lane is running."


def test_only_who_holds_the_lease_publishes(home: HomeRig) -> None:
    home.lease[0] = 10.0
    home.opens()
    assert home.publishes() == 0
    assert home.publisher.is_quiet()
    home.lease[0] = 30.0
    assert home.publishes() == 1


def test_budgets_are_those_of_all_that_is_sent(home: HomeRig) -> None:
    home.budgets.pause(30)
    home.opens()
    assert home.publishes() == 0
    assert home.budgets.is_held(Call(HOME, ""))
    home.pass_time(31)
    assert home.publishes() == 1


def test_a_running_publisher_follows_by_itself(home: HomeRig) -> None:
    home.time.run()
    home.publisher.start()
    home.opens()
    wait_until(lambda: home.shows() == "No runs.")
    home.pages.said["U0ALICE"] = "lane is running."
    home.database.transaction(lambda session: touch(session, MESSAGES))
    assert not home.publisher.is_quiet()
    wait_until(lambda: home.shows() == "lane is running.")
    wait_until(home.publisher.is_quiet)


def test_tabs_are_forgotten_after_a_month(home: HomeRig) -> None:
    home.opens()
    now = home.time.now()
    home.database.transaction(lambda s: tabs.forget(s, now + timedelta(days=29)))
    assert home.row().person == "U0ALICE"
    home.database.transaction(lambda s: tabs.forget(s, now + timedelta(days=31)))
    assert home.database.read(lambda s: tabs.open_tabs(s, "T0QM", now)) == []
